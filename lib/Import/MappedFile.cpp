//===- MappedFile.cpp - external data within the model's folder -----------===//

#include "ModelStorage.h"

#include "llvm/ADT/StringExtras.h"
#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace llvm;
using namespace onnx_aot::importer;

namespace {
/// Closes a file descriptor.
struct Descriptor {
  int fd = -1;
  explicit Descriptor(int fd) : fd(fd) {}
  Descriptor(Descriptor &&other) : fd(std::exchange(other.fd, -1)) {}
  Descriptor &operator=(Descriptor &&other) {
    std::swap(fd, other.fd);
    return *this;
  }
  ~Descriptor() {
    if (fd >= 0)
      close(fd);
  }
};
} // namespace

static Error makeError(const Twine &text) {
  return createStringError(inconvertibleErrorCode(), text);
}

/// The reason the last system call failed.
static Error makeSystemError(StringRef location) {
  int code = errno;
  if (code == ELOOP || code == ENOTDIR)
    return makeError("external data '" + location +
                     "' is reached through a symbolic link or a file");
  return makeError("external data '" + location + "' cannot be opened: " +
                   std::generic_category().message(code));
}

Expected<std::unique_ptr<MappedFile>>
MappedFile::openContained(StringRef root, StringRef location) {
  if (location.empty() || location.contains('\0') || location.starts_with("/"))
    return makeError("external data location '" + location +
                     "' is not a relative path");
  SmallVector<StringRef> parts;
  location.split(parts, '/', -1, /*KeepEmpty=*/false);
  erase(parts, ".");
  if (parts.empty() || is_contained(parts, ".."))
    return makeError("external data location '" + location +
                     "' leaves the model's folder");

  // Descending by descriptor: a link put in place meanwhile cannot be followed.
  Descriptor folder(open(root.empty() ? "." : root.str().c_str(),
                         O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.fd < 0)
    return makeSystemError(location);
  for (StringRef part : ArrayRef(parts).drop_back()) {
    folder =
        Descriptor(openat(folder.fd, part.str().c_str(),
                          O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (folder.fd < 0)
      return makeSystemError(location);
  }
  Descriptor file(openat(folder.fd, parts.back().str().c_str(),
                         O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status;
  if (file.fd < 0 || fstat(file.fd, &status) != 0)
    return makeSystemError(location);
  if (!S_ISREG(status.st_mode))
    return makeError("external data '" + location + "' is not a regular file");
  if (status.st_nlink != 1)
    return makeError("external data '" + location +
                     "' has more than one hard link");
  size_t size = status.st_size;
  if (size == 0)
    return std::unique_ptr<MappedFile>(new MappedFile({}));
  void *address = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.fd, 0);
  if (address == MAP_FAILED)
    return makeSystemError(location);
  return std::unique_ptr<MappedFile>(
      new MappedFile(ArrayRef(static_cast<char *>(address), size)));
}

MappedFile::~MappedFile() {
  if (!data.empty())
    munmap(const_cast<char *>(data.data()), data.size());
}

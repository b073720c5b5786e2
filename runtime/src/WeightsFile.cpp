//===- WeightsFile.cpp - weights outside the module -----------------------===//
#include "WeightsFile.h"

#include "Text.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace onnx_aot::runtime {

namespace {

/// Closes a file descriptor at the end of a scope.
class Descriptor {
public:
  explicit Descriptor(int fd) : fd(fd) {}
  Descriptor(const Descriptor &) = delete;
  ~Descriptor() {
    if (fd >= 0)
      close(fd);
  }
  const int fd;
};

/// Opens `name`, one path component, so that what is opened lies in `folder`.
/// A link may stay inside; one that leaves is an error (EXDEV, or ELOOP where
/// the kernel cannot check it).
int openInside(int folder, const char *name) {
  // Not blocking: a FIFO must not hang the loader.
  constexpr int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  int fd = openat(folder, name, flags | O_NOFOLLOW);
  if (fd >= 0 || errno != ELOOP)
    return fd;
  open_how how = {};
  how.flags = flags;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  fd = static_cast<int>(syscall(SYS_openat2, folder, name, &how, sizeof(how)));
  if (fd < 0 && errno == ENOSYS)
    errno = ELOOP;
  return fd;
}

std::string hex(uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof(text), "%016llx",
                static_cast<unsigned long long>(value));
  return text;
}

} // namespace

Expected<WeightsFile> WeightsFile::open(const OnnxAotModule &module,
                                        const std::string &folder) {
  std::string name = module.weights_file;
  if (name.empty() || name == "." || name == ".." ||
      name.find('/') != std::string::npos)
    return invalidModule("weights file ", quoted(name),
                         " is not a plain file name in the module's folder");
  std::string where = concat("weights file ", quoted(folder + "/" + name));

  Descriptor directory(
      ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.fd < 0)
    return systemError(concat("cannot open folder ", quoted(folder)), errno);
  Descriptor file(openInside(directory.fd, name.c_str()));
  if (file.fd < 0 && (errno == ELOOP || errno == EXDEV))
    return invalidModule(where, " is a link that leaves the module's folder");
  if (file.fd < 0)
    return systemError(concat("cannot open ", where), errno);

  struct stat info;
  if (fstat(file.fd, &info))
    return systemError(concat("cannot read ", where), errno);
  if (!S_ISREG(info.st_mode))
    return invalidModule(where, " is not a regular file");
  if (static_cast<uint64_t>(info.st_size) != module.weight_bytes)
    return invalidModule(where, " has ", info.st_size,
                         " bytes, the module was compiled with ",
                         module.weight_bytes);

  void *address =
      mmap(nullptr, module.weight_bytes, PROT_READ, MAP_PRIVATE, file.fd, 0);
  if (address == MAP_FAILED)
    return systemError(concat("cannot map ", where), errno);
  WeightsFile weights(address, module.weight_bytes);
  uint64_t hash = XXH3_64bits(address, module.weight_bytes);
  if (hash != module.weights_hash)
    return invalidModule(where, " has hash ", hex(hash),
                         ", the module was compiled with ",
                         hex(module.weights_hash));
  return weights;
}

WeightsFile::~WeightsFile() {
  if (address)
    munmap(address, bytes);
}

} // namespace onnx_aot::runtime

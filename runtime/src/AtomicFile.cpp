//===- AtomicFile.cpp - files that appear when they are complete ----------===//
#include "AtomicFile.h"

#include "Memory.h"
#include "Text.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace onnx_aot::runtime {

namespace {

/// The file that a name means in the end: a link stays, its target is replaced.
std::string finalPath(const std::string &path) {
  std::unique_ptr<char, void (*)(void *)> real(realpath(path.c_str(), nullptr),
                                               std::free);
  return real ? real.get() : path;
}

int openAgain(const char *path, int flags, mode_t mode = 0) {
  int fd;
  do
    fd = open(path, flags | O_CLOEXEC, mode);
  while (fd < 0 && errno == EINTR);
  return fd;
}

int syncFile(int fd) {
  int result;
  do
    result = fsync(fd);
  while (result && errno == EINTR);
  return result;
}

/// Writes all of `part`, also when the system takes it in pieces.
int writeAll(int fd, const Bytes &part) {
  // Linux takes at most 2 GiB at once.
  constexpr uint64_t most = uint64_t(1) << 30;
  const char *next = static_cast<const char *>(part.data);
  for (uint64_t left = part.count; left;) {
    ssize_t wrote = write(fd, next, std::min(left, most));
    if (wrote < 0 && errno == EINTR)
      continue;
    if (wrote <= 0) {
      errno = wrote ? errno : EIO;
      return -1;
    }
    next += wrote;
    left -= static_cast<uint64_t>(wrote);
  }
  return 0;
}

/// A file without its final name; removed unless `keep` is called.
class TemporaryFile {
public:
  ~TemporaryFile() {
    if (fd >= 0)
      close(fd);
    if (!path.empty())
      unlink(path.c_str());
  }

  /// Makes a new file beside `target`, with its permissions if it exists.
  int create(const std::string &target) {
    struct stat old;
    bool replaces = stat(target.c_str(), &old) == 0;
    if (replaces && !S_ISREG(old.st_mode)) {
      errno = S_ISDIR(old.st_mode) ? EISDIR : EEXIST;
      return -1;
    }
    for (unsigned attempt = 0; attempt < 1000; ++attempt) {
      std::string name = concat(target, ".", getpid(), ".", attempt, ".tmp");
      fd = openAgain(name.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0666);
      if (fd < 0 && errno == EEXIST)
        continue; // left behind by a process that was killed, or in use
      if (fd < 0)
        return -1;
      path = name;
      if (replaces && fchmod(fd, old.st_mode & 07777)) {
        // Some file systems have no permissions: the default ones are fine.
      }
      return 0;
    }
    errno = EEXIST;
    return -1;
  }

  int write(const std::vector<Bytes> &parts) {
    uint64_t total = 0;
    for (const Bytes &part : parts)
      total += part.count;
    // A full disk is better noticed now than after gigabytes.
    if (total > INT64_MAX) {
      errno = EFBIG;
      return -1;
    }
    if (total && fallocate(fd, 0, 0, static_cast<off_t>(total)) &&
        errno != EOPNOTSUPP && errno != ENOSYS && errno != EINTR)
      return -1;
    for (const Bytes &part : parts)
      if (writeAll(fd, part))
        return -1;
    if (syncFile(fd))
      return -1;
    int closing = fd;
    fd = -1;
    return close(closing) && errno != EINTR ? -1 : 0;
  }

  int moveTo(const std::string &target) {
    if (rename(path.c_str(), target.c_str()))
      return -1;
    path.clear();
    return 0;
  }

private:
  std::string path;
  int fd = -1;
};

} // namespace

Status writeFileAtomically(const std::string &path,
                           const std::vector<Bytes> &parts) {
  std::string target = finalPath(path),
              where = concat("cannot save ", quoted(path));
  size_t slash = target.rfind('/');
  std::string folder = slash == target.npos ? "."
                       : slash              ? target.substr(0, slash)
                                            : "/";
  // Opened first: without it the name could not be made to last.
  int directory = openAgain(folder.c_str(), O_RDONLY | O_DIRECTORY);
  if (directory < 0)
    return systemError(concat(where, ": cannot open its folder"), errno);
  struct Closer {
    int fd;
    ~Closer() { close(fd); }
  } closer{directory};
  TemporaryFile file;
  if (file.create(target) || file.write(parts) || file.moveTo(target))
    return systemError(where, errno);
  if (syncFile(directory) && errno != EINVAL)
    return systemError(
        concat(quoted(path), " is saved, but may be lost in a power failure"),
        errno);
  return Status();
}

Expected<MappedFile> MappedFile::open(const std::string &path,
                                      const std::string &what) {
  // Not blocking: a FIFO must not hang the reader.
  int fd = openAgain(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (fd < 0)
    return systemError(concat("cannot open ", what), errno);
  struct Closer {
    int fd;
    ~Closer() { close(fd); }
  } closer{fd};
  struct stat info;
  if (fstat(fd, &info))
    return systemError(concat("cannot read ", what), errno);
  if (!S_ISREG(info.st_mode))
    return invalidArgument(what, " is not a regular file");
  auto bytes = static_cast<uint64_t>(info.st_size);
  if (!bytes)
    return MappedFile{
        std::shared_ptr<const void>(emptyTensorAddress(), [](auto) {}), 0};
  void *address = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
  if (address == MAP_FAILED)
    return systemError(concat("cannot map ", what), errno);
  return MappedFile{
      std::shared_ptr<const void>(address,
                                  [bytes](const void *mapped) {
                                    munmap(const_cast<void *>(mapped), bytes);
                                  }),
      bytes};
}

} // namespace onnx_aot::runtime

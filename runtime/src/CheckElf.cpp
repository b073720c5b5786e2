//===- CheckElf.cpp - a file before it is loaded --------------------------===//
#include "CheckElf.h"

#include "Text.h"

#include <algorithm>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace onnx_aot::runtime {

namespace {

struct Processor {
  ElfW(Half) machine;
  const char *name;
};
constexpr Processor processors[] = {
    {EM_X86_64, "x86_64"}, {EM_AARCH64, "aarch64"}, {EM_RISCV, "riscv64"}};

#if defined(__x86_64__)
constexpr ElfW(Half) ownMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr ElfW(Half) ownMachine = EM_AARCH64;
#elif defined(__riscv)
constexpr ElfW(Half) ownMachine = EM_RISCV;
#else
#error "name the processor here"
#endif

std::string nameOf(ElfW(Half) machine) {
  for (const Processor &processor : processors)
    if (processor.machine == machine)
      return processor.name;
  return concat("another processor (ELF machine ", machine, ")");
}

/// The end of a table, or more than any file has.
uint64_t endOf(uint64_t offset, uint64_t bytes) {
  uint64_t end = 0;
  return __builtin_add_overflow(offset, bytes, &end) ? UINT64_MAX : end;
}

/// A file that is closed at the end.
struct OpenFile {
  int fd;
  ~OpenFile() {
    if (fd >= 0)
      close(fd);
  }
  bool read(void *to, size_t bytes, uint64_t offset) const {
    return pread(fd, to, bytes, static_cast<off_t>(offset)) ==
           static_cast<ssize_t>(bytes);
  }
};

} // namespace

Status checkElf(const std::string &path) {
  OpenFile file{open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  struct stat info;
  if (file.fd < 0 || fstat(file.fd, &info))
    return Status(); // the loader says why
  if (!S_ISREG(info.st_mode))
    return invalidArgument("cannot load module ", quoted(path),
                           ": it is not a regular file");
  ElfW(Ehdr) header;
  if (!file.read(&header, sizeof(header), 0) ||
      std::memcmp(header.e_ident, ELFMAG, SELFMAG))
    return Status();
  constexpr int ownClass = sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32;
  if (header.e_ident[EI_CLASS] != ownClass ||
      header.e_ident[EI_DATA] != ELFDATA2LSB)
    return Status();
  if (header.e_machine != ownMachine)
    return invalidArgument("cannot load module ", quoted(path), ": it is for ",
                           nameOf(header.e_machine), ", this machine is ",
                           nameOf(ownMachine));
  auto size = static_cast<uint64_t>(info.st_size);
  uint64_t end =
      endOf(header.e_shoff, uint64_t(header.e_shentsize) * header.e_shnum);
  uint64_t tableEnd =
      endOf(header.e_phoff, uint64_t(sizeof(ElfW(Phdr))) * header.e_phnum);
  end = std::max(end, tableEnd);
  if (tableEnd <= size && header.e_phentsize == sizeof(ElfW(Phdr))) {
    std::vector<ElfW(Phdr)> segments(header.e_phnum);
    if (!file.read(segments.data(), segments.size() * sizeof(ElfW(Phdr)),
                   header.e_phoff))
      return Status();
    for (const ElfW(Phdr) &segment : segments)
      if (segment.p_type != PT_NULL)
        end =
            std::max<uint64_t>(end, endOf(segment.p_offset, segment.p_filesz));
  }
  if (end > size)
    return invalidModule("cannot load module ", quoted(path),
                         ": it is damaged: of ", end, " bytes it has ", size);
  return Status();
}

} // namespace onnx_aot::runtime

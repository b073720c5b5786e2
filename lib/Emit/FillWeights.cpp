//===- FillWeights.cpp - put the weights into a linked file ---------------===//
//
// The linker saw a section without contents. Here the bytes are appended to the
// file and the section is pointed at them; in a shared object they become a
// segment of their own. Thus gigabytes are written once and read never.
//
//===----------------------------------------------------------------------===//

#include "Stages.h"

#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Object/ELF.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"

using namespace onnx_aot;
using llvm::StringRef;
using Elf = llvm::object::ELF64LE;
namespace ELF = llvm::ELF;

/// The linker did not lay out the file as this code expects.
static llvm::Error unexpected(const llvm::Twine &what) {
  return llvm::createStringError("cannot add the weights to the linked file: " +
                                 what);
}

/// Index of the placeholder among the section headers.
static llvm::Expected<unsigned>
findSection(const llvm::object::ELFFile<Elf> &file,
            llvm::ArrayRef<Elf::Shdr> sections, const WeightImage &weights) {
  for (auto [index, section] : llvm::enumerate(sections)) {
    auto name = file.getSectionName(section);
    if (!name)
      return name.takeError();
    if (*name == weightsSection && section.sh_type == ELF::SHT_NOBITS &&
        section.sh_size == weights.getSize())
      return index;
  }
  return unexpected("there is no section for them");
}

/// Makes room in the segment table: the placeholder leaves the segment at whose
/// end it lies and gets one of its own, in the place of PT_PHDR, which says
/// nothing that the file's header does not say.
static llvm::Error addSegment(std::vector<Elf::Phdr> &segments,
                              const Elf::Shdr &section, uint64_t fileSize,
                              uint64_t &offset) {
  auto isHome = [&](const Elf::Phdr &segment) {
    return segment.p_type == ELF::PT_LOAD &&
           segment.p_vaddr <= section.sh_addr &&
           segment.p_vaddr + segment.p_memsz ==
               section.sh_addr + section.sh_size;
  };
  auto home = llvm::find_if(segments, isHome);
  auto spare = llvm::find_if(segments, [](const Elf::Phdr &segment) {
    return segment.p_type == ELF::PT_PHDR;
  });
  if (home == segments.end() || spare == segments.end() || home < spare ||
      home->p_vaddr + home->p_filesz > section.sh_addr)
    return unexpected("their section is not at the end of a segment");
  if (section.sh_addr % home->p_align != 0)
    return unexpected("their section does not begin on a page");
  offset = llvm::alignTo(fileSize, uint64_t(home->p_align));

  Elf::Phdr added = *home;
  added.p_offset = offset;
  added.p_vaddr = added.p_paddr = section.sh_addr;
  added.p_filesz = added.p_memsz = section.sh_size;
  home->p_memsz = home->p_filesz;
  // Segments to load stay in the order of their addresses.
  std::move(spare + 1, home + 1, spare);
  *home = added;
  return llvm::Error::success();
}

llvm::Error onnx_aot::fillWeights(StringRef path, const WeightImage &weights) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false,
                                            /*IsVolatile=*/true);
  if (!buffer)
    return llvm::createFileError(path, buffer.getError());
  StringRef bytes = (*buffer)->getBuffer();
  auto file = llvm::object::ELFFile<Elf>::create(bytes);
  if (!file)
    return file.takeError();
  auto sections = file->sections();
  if (!sections)
    return sections.takeError();
  auto segments = file->program_headers();
  if (!segments)
    return segments.takeError();
  auto index = findSection(*file, *sections, weights);
  if (!index)
    return index.takeError();

  const Elf::Ehdr &header = file->getHeader();
  std::vector<Elf::Phdr> newSegments(segments->begin(), segments->end());
  Elf::Shdr section = (*sections)[*index];
  section.sh_type = ELF::SHT_PROGBITS;
  uint64_t offset = llvm::alignTo(bytes.size(), uint64_t(ONNX_AOT_ALIGNMENT));
  if (header.e_type == ELF::ET_DYN) {
    if (llvm::Error error =
            addSegment(newSegments, section, bytes.size(), offset))
      return error;
  } else {
    section.sh_addralign = ONNX_AOT_ALIGNMENT;
  }
  section.sh_offset = offset;

  std::error_code code;
  llvm::raw_fd_ostream os(path, code, llvm::sys::fs::CD_OpenExisting,
                          llvm::sys::fs::FA_Write, llvm::sys::fs::OF_None);
  if (code)
    return llvm::createFileError(path, code);
  auto writeAt = [&](uint64_t position, const void *data, size_t size) {
    os.seek(position);
    os.write(static_cast<const char *>(data), size);
  };
  writeAt(header.e_phoff, newSegments.data(),
          newSegments.size() * sizeof(Elf::Phdr));
  writeAt(header.e_shoff + *index * sizeof(Elf::Shdr), &section,
          sizeof(section));
  os.seek(offset);
  weights.write(os);
  os.close();
  if (!os.has_error())
    return llvm::Error::success();
  code = os.error();
  os.clear_error();
  return llvm::createFileError(path, code);
}

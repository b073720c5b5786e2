//===- WeightObject.cpp - an ELF object that holds the weights ------------===//
//
// Written here rather than by LLVM, since a constant of a gigabyte would be
// copied several times on its way through LLVM IR and MC. The object has one
// section of data and one symbol. For the linker it is a placeholder, a section
// without contents as for .bss; fillWeights puts the bytes where they belong.
//
//===----------------------------------------------------------------------===//

#include "Stages.h"

#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Object/ELF.h"
#include "llvm/Support/MathExtras.h"

using namespace onnx_aot;
using llvm::StringRef;
using Elf = llvm::object::ELF64LE;
namespace ELF = llvm::ELF;

namespace {
/// The sections in the order in which they are written.
enum Section {
  nullSection,
  dataSection,
  symbolSection,
  stringSection,
  stackSection, // empty; its presence keeps the stack not executable
  numSections
};

/// A string table under construction.
class StringTable {
public:
  uint32_t add(StringRef text) {
    uint32_t offset = bytes.size();
    bytes += text;
    bytes += '\0';
    return offset;
  }
  std::string bytes = std::string(1, '\0');
};
} // namespace

/// Beyond this size, data between code and other data could push them out of
/// each other's reach; x86-64 has sections that linkers put far away.
static constexpr uint64_t nearLimit = uint64_t(1) << 30;

template <typename T>
static void writeStruct(llvm::raw_ostream &os, const T &value) {
  os.write(reinterpret_cast<const char *>(&value), sizeof(value));
}

/// Start of the section where a file is loaded by segments: the highest page
/// size of all targets, so that the weights can be a segment of their own.
static constexpr uint64_t pageAlignment = 1 << 16;

llvm::Error onnx_aot::writeWeightObject(const WeightImage &weights,
                                        StringRef symbol, StringRef code,
                                        bool isPlaceholder,
                                        llvm::raw_ostream &os) {
  auto codeFile = llvm::object::ELFFile<Elf>::create(code);
  if (!codeFile)
    return codeFile.takeError();
  const Elf::Ehdr &codeHeader = codeFile->getHeader();
  bool isX86 = codeHeader.e_machine == ELF::EM_X86_64;
  bool isFar = weights.getSize() > nearLimit;
  if (isFar && !isX86)
    return llvm::createStringError(
        "the weights are too large to embed for this target (" +
        std::to_string(weights.getSize()) +
        " bytes, at most 1 GiB); use --weights=external");

  StringTable strings;
  Elf::Shdr sections[numSections] = {};
  uint64_t position =
      llvm::alignTo(sizeof(Elf::Ehdr), uint64_t(ONNX_AOT_ALIGNMENT));

  Elf::Shdr &data = sections[dataSection];
  data.sh_name = strings.add(weightsSection);
  data.sh_type = isPlaceholder ? ELF::SHT_NOBITS : ELF::SHT_PROGBITS;
  data.sh_flags = ELF::SHF_ALLOC | (isFar ? ELF::SHF_X86_64_LARGE : 0);
  data.sh_offset = position;
  data.sh_size = weights.getSize();
  data.sh_addralign = isPlaceholder ? pageAlignment : ONNX_AOT_ALIGNMENT;
  if (!isPlaceholder)
    position += weights.getSize();

  Elf::Sym symbols[2] = {};
  symbols[1].st_name = strings.add(symbol);
  symbols[1].setBindingAndType(ELF::STB_GLOBAL, ELF::STT_OBJECT);
  symbols[1].st_other = ELF::STV_HIDDEN;
  symbols[1].st_shndx = dataSection;
  symbols[1].st_size = weights.getSize();

  Elf::Shdr &symtab = sections[symbolSection];
  symtab.sh_name = strings.add(".symtab");
  symtab.sh_type = ELF::SHT_SYMTAB;
  symtab.sh_offset = position;
  symtab.sh_size = sizeof(symbols);
  symtab.sh_link = stringSection;
  symtab.sh_info = 1; // the first global symbol
  symtab.sh_addralign = 8;
  symtab.sh_entsize = sizeof(Elf::Sym);
  position += sizeof(symbols);

  sections[stackSection].sh_name = strings.add(".note.GNU-stack");
  sections[stackSection].sh_type = ELF::SHT_PROGBITS;
  sections[stackSection].sh_offset = position;
  sections[stackSection].sh_addralign = 1;

  Elf::Shdr &strtab = sections[stringSection];
  strtab.sh_name = strings.add(".strtab");
  strtab.sh_type = ELF::SHT_STRTAB;
  strtab.sh_offset = position;
  strings.bytes.resize(llvm::alignTo(strings.bytes.size(), 8));
  strtab.sh_size = strings.bytes.size();
  strtab.sh_addralign = 1;
  position += strings.bytes.size();

  Elf::Ehdr header = {};
  memcpy(header.e_ident, codeHeader.e_ident, sizeof(header.e_ident));
  header.e_type = ELF::ET_REL;
  header.e_machine = codeHeader.e_machine;
  header.e_version = codeHeader.e_version;
  header.e_flags = codeHeader.e_flags;
  header.e_shoff = position;
  header.e_ehsize = sizeof(Elf::Ehdr);
  header.e_shentsize = sizeof(Elf::Shdr);
  header.e_shnum = numSections;
  header.e_shstrndx = stringSection;

  writeStruct(os, header);
  os.write_zeros(data.sh_offset - sizeof(header));
  if (!isPlaceholder)
    weights.write(os);
  writeStruct(os, symbols);
  os << strings.bytes;
  writeStruct(os, sections);
  return llvm::Error::success();
}

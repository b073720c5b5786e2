//===- Linker.cpp - lld in process ----------------------------------------===//

#include "Stages.h"

#include "lld/Common/Driver.h"
#include "llvm/Object/ArchiveWriter.h"
#include "llvm/Support/FileSystem.h"

LLD_HAS_DRIVER(elf)

using namespace onnx_aot;
using llvm::StringRef;

/// Runs lld; its messages become the error.
static llvm::Error runLld(llvm::ArrayRef<std::string> arguments) {
  llvm::SmallVector<const char *> argv{"ld.lld"};
  for (const std::string &argument : arguments)
    argv.push_back(argument.c_str());
  std::string out, err;
  llvm::raw_string_ostream outStream(out), errStream(err);
  const lld::DriverDef drivers[] = {{lld::Gnu, &lld::elf::link}};
  lld::Result result = lld::lldMain(argv, outStream, errStream, drivers);
  if (result.retCode == 0)
    return llvm::Error::success();
  return llvm::createStringError("linking failed: " +
                                 StringRef(err).rtrim().str());
}

llvm::Error onnx_aot::linkSharedObject(llvm::ArrayRef<std::string> objects,
                                       StringRef output, StringRef soname,
                                       StringRef exported,
                                       StringRef versionScript) {
  // Everything but the descriptor is hidden already: see normalizeDefinitions.
  std::vector<std::string> arguments{"-shared",
                                     "--build-id=sha1",
                                     "--hash-style=gnu",
                                     "-z",
                                     "relro",
                                     "-z",
                                     "now",
                                     "-z",
                                     "noexecstack",
                                     "-z",
                                     "separate-code",
                                     "-soname",
                                     soname.str(),
                                     "-u",
                                     exported.str(),
                                     "-o",
                                     output.str()};
  // What the user links in has names that others may have too.
  if (!versionScript.empty())
    arguments.insert(arguments.end(), {"--version-script", versionScript.str(),
                                       "-rpath", "$ORIGIN"});
  arguments.insert(arguments.end(), objects.begin(), objects.end());
  return runLld(arguments);
}

llvm::Error onnx_aot::linkRelocatable(llvm::ArrayRef<std::string> objects,
                                      StringRef output) {
  std::vector<std::string> arguments{"-r", "-o", output.str()};
  arguments.insert(arguments.end(), objects.begin(), objects.end());
  return runLld(arguments);
}

llvm::Error onnx_aot::writeStaticLibrary(llvm::ArrayRef<std::string> objects,
                                         StringRef stem,
                                         llvm::raw_ostream &os) {
  std::vector<std::string> names;
  for (size_t i = 0; i < objects.size(); ++i)
    names.push_back((stem + "." + llvm::Twine(i) + ".o").str());
  std::vector<llvm::NewArchiveMember> members;
  for (auto [object, name] : llvm::zip_equal(objects, names)) {
    auto member =
        llvm::NewArchiveMember::getFile(object, /*Deterministic=*/true);
    if (!member)
      return member.takeError();
    member->MemberName = name;
    members.push_back(std::move(*member));
  }
  return llvm::writeArchiveToStream(os, members,
                                    llvm::SymtabWritingMode::NormalSymtab,
                                    llvm::object::Archive::K_GNU,
                                    /*Deterministic=*/true, /*Thin=*/false);
}

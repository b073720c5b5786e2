//===- Stages.h - the steps of emission, in their order ---------*- C++ -*-===//
//
// Private to Emit. Artifact.cpp runs these one after the other:
//   translate -> split -> optimize and generate (per part, in parallel)
//   -> weight object -> link or archive -> header
//
//===----------------------------------------------------------------------===//
#ifndef ONNX_AOT_LIB_EMIT_STAGES_H
#define ONNX_AOT_LIB_EMIT_STAGES_H

#include "onnx-aot/Emit/Artifact.h"
#include "onnx-aot/Emit/OutputFiles.h"

#include "llvm/IR/Module.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Target/TargetMachine.h"

namespace onnx_aot {

/// Marks functions in LLVM IR that want the whole optimizer.
constexpr llvm::StringLiteral scalarLoopsFnAttr = "onnx-aot-scalar-loops";

/// Name of the weights' symbol.
std::string getWeightsSymbol(llvm::StringRef prefix);

/// The C header and the initial checkpoint beside an artifact.
std::string getHeaderPath(llvm::StringRef artifactPath);
std::string getCheckpointPath(llvm::StringRef artifactPath);

/// Name of the file that external weights go to, without its folder.
std::string getWeightsFileName(llvm::StringRef artifactPath);

/// Where a module's weights lie in the artifact.
struct WeightPlace {
  std::string symbol;
  uint64_t offset = 0;
};

/// Translates to LLVM IR, checks the contract with Codegen (entry functions, no
/// mutable globals, no constructors), gives every symbol a safe name and hidden
/// visibility, and adds the descriptor.
llvm::Expected<std::unique_ptr<llvm::Module>>
translateToLLVMIR(mlir::ModuleOp module, llvm::LLVMContext &context,
                  const ModuleInfo &info, const WeightImage &weights,
                  const llvm::TargetMachine &machine,
                  const ArtifactOptions &options, const WeightPlace &place);

/// Adds the constant `<prefix>_module` and all it refers to.
void addDescriptor(llvm::Module &module, const ModuleInfo &info,
                   const WeightImage &weights, llvm::Function *run,
                   llvm::Function *plan, llvm::StringRef target,
                   const ArtifactOptions &options, const WeightPlace &place);

/// Adds the constant `<prefix>_training`, which refers to the descriptors of
/// the programs in other modules.
void addTrainingDescriptor(llvm::Module &module, const TrainingInfo &info,
                           llvm::ArrayRef<ArtifactProgram> programs,
                           llvm::StringRef prefix);

/// Cuts a module into parts, as bitcode, that can be compiled independently.
/// The cut depends on the module only. A part is all scalar loops or has none.
std::vector<llvm::SmallVector<char, 0>> splitModule(const llvm::Module &module);

/// Runs the LLVM IR passes of an optimization level.
void optimize(llvm::Module &module, llvm::TargetMachine &machine,
              unsigned optLevel);

/// Runs LLVM's whole optimizer, for any target.
void optimizeFully(llvm::Module &module, llvm::TargetMachine &machine);

/// An object file in memory.
using ObjectBuffer = llvm::SmallVector<char, 0>;

/// Compiles the parts on all cores; the objects come in the parts' order.
llvm::Expected<std::vector<ObjectBuffer>>
generateObjects(llvm::ArrayRef<llvm::SmallVector<char, 0>> parts,
                const TargetOptions &target, unsigned optLevel,
                ArtifactReport &report);

/// Checks that the objects together need nothing but the documented external
/// functions (Emit/ExternalFunctions.def) and those of `allowed`.
llvm::Error checkUndefinedSymbols(llvm::ArrayRef<ObjectBuffer> objects,
                                  llvm::ArrayRef<std::string> allowed);

/// Writes an object file that defines `symbol` as the weights. Machine and
/// flags are those of `code`, an object file of the same target. A placeholder
/// holds no bytes yet: `fillWeights` adds them to what the linker made of it.
llvm::Error writeWeightObject(const WeightImage &weights,
                              llvm::StringRef symbol, llvm::StringRef code,
                              bool isPlaceholder, llvm::raw_ostream &os);

/// Adds the bytes to a linked file, so that they never pass through the linker,
/// which would hold them in memory twice.
llvm::Error fillWeights(llvm::StringRef path, const WeightImage &weights);

/// Name of the section that holds the weights.
constexpr llvm::StringLiteral weightsSection = ".onnx_aot_weights";

/// Links object files into a shared object that exports `exported` only. A
/// shared library among them is found beside the output when that is loaded.
llvm::Error linkSharedObject(llvm::ArrayRef<std::string> objects,
                             llvm::StringRef output, llvm::StringRef soname,
                             llvm::StringRef exported,
                             llvm::StringRef versionScript = {});

/// Links object files into one relocatable object file.
llvm::Error linkRelocatable(llvm::ArrayRef<std::string> objects,
                            llvm::StringRef output);

/// Writes object files as an archive whose members are named after `stem`.
llvm::Error writeStaticLibrary(llvm::ArrayRef<std::string> objects,
                               llvm::StringRef stem, llvm::raw_ostream &os);

/// Compiles the parts and writes the artifact with the weights, which exports
/// `exported`; `writeSiblings` writes the files beside it.
llvm::Expected<ArtifactReport>
writeArtifact(llvm::ArrayRef<llvm::SmallVector<char, 0>> parts,
              const WeightImage &weights, const TargetOptions &target,
              const ArtifactOptions &options, llvm::StringRef exported,
              llvm::function_ref<llvm::Error(OutputFiles &)> writeSiblings);

/// A path beside the artifact.
std::string getSibling(llvm::StringRef artifactPath, llvm::StringRef name);

/// C strings end at a NUL, so a name that holds one cannot be stated.
llvm::Error checkNames(const ModuleInfo &info);
llvm::Error checkName(llvm::StringRef what, llvm::StringRef name);

/// Fails for a parameter that no checkpoint can hold.
llvm::Error checkCheckpoint(const TrainingInfo &info);

/// Writes the initial checkpoint of a training artifact (CheckpointFormat.md).
void writeCheckpoint(const TrainingInfo &info,
                     llvm::ArrayRef<InitialValue> values,
                     llvm::raw_ostream &os);

/// Writes the C header of a training artifact.
void writeTrainingHeader(const TrainingInfo &info,
                         llvm::ArrayRef<ArtifactProgram> programs,
                         const ArtifactOptions &options, llvm::raw_ostream &os);

/// Writes the C header of an artifact.
void writeHeader(const ModuleInfo &info, const WeightImage &weights,
                 const ArtifactOptions &options, llvm::raw_ostream &os);

} // namespace onnx_aot

#endif // ONNX_AOT_LIB_EMIT_STAGES_H

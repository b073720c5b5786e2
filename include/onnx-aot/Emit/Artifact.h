//===- Artifact.h - from the LLVM dialect to a file -------------*- C++ -*-===//
//
// Emit's one entry point. In: a module in the LLVM dialect that holds the two
// entry functions of abi/Abi.h and private kernels, its ModuleInfo and its
// weights. Out: a shared object, or an object or archive with its C header.
//
//===----------------------------------------------------------------------===//
#ifndef ONNX_AOT_EMIT_ARTIFACT_H
#define ONNX_AOT_EMIT_ARTIFACT_H

#include "onnx-aot/Emit/DeviceCode.h"
#include "onnx-aot/Emit/TargetMachine.h"
#include "onnx-aot/Support/TrainingInfo.h"
#include "onnx-aot/Support/WeightImage.h"

#include "mlir/IR/BuiltinOps.h"

#include <functional>

namespace onnx_aot {

/// What is written.
enum class ArtifactKind {
  SharedObject, ///< for the runtime to load
  Object,       ///< to link into a program, with a header beside it
  Archive,      ///< the same as a static library
};

/// The kind that a file name's suffix asks for, or none.
std::optional<ArtifactKind> getArtifactKind(llvm::StringRef path);

/// What was written, for reports.
struct ArtifactReport {
  /// Sizes in bytes.
  uint64_t codeBytes = 0, weightBytes = 0;
  /// Every file that was written, the artifact first.
  std::vector<std::string> files;
  /// Seconds spent in LLVM IR passes, code generation and linking.
  double optimizeSeconds = 0, objectSeconds = 0, linkSeconds = 0;
};

/// How an artifact is written.
struct ArtifactOptions {
  ArtifactKind kind = ArtifactKind::SharedObject;
  /// The file to write; header and weights file lie beside it.
  std::string path;
  /// First part of every symbol the artifact defines. Shared objects always
  /// use "onnx_aot", where the runtime looks for it.
  std::string prefix = "onnx_aot";
  /// Put the weights into `<stem>.weights` beside the module.
  bool externalWeights = false;
  /// 0 to 3, as in -O0 to -O3.
  unsigned optLevel = 2;
  /// Functions of the user's that the code may call.
  std::vector<std::string> externalFunctions;
  /// Files that a shared object is linked with.
  std::vector<std::string> libraries;
  /// Kernels for a device; null in artifacts for the CPU.
  const DeviceCode *device = nullptr;
  /// A file that appears together with the artifact and tells of it; none if
  /// empty.
  std::string reportPath;
  std::function<void(const ArtifactReport &, llvm::raw_ostream &)> writeReport;
};

/// The files of an artifact at `path`: itself, then those beside it.
std::vector<std::string> listArtifactFiles(llvm::StringRef path,
                                           ArtifactKind kind,
                                           bool externalWeights,
                                           bool isTraining);

/// Writes the artifact. Functions that Codegen marks with kScalarLoopsAttr go
/// through LLVM's whole optimizer, all others through a short clean-up. Either
/// every file is written or none is changed. The same input gives the same
/// bytes.
llvm::Expected<ArtifactReport> emitArtifact(mlir::ModuleOp module,
                                            const ModuleInfo &info,
                                            const WeightImage &weights,
                                            const TargetOptions &target,
                                            const ArtifactOptions &options);

/// One program of a training artifact; the module as for `emitArtifact`.
struct ArtifactProgram {
  ProgramInfo program;
  mlir::ModuleOp module;
  ModuleInfo info;
  WeightImage weights;
  /// Its kernels for a device; none in artifacts for the CPU.
  std::optional<DeviceCode> device;
};

/// The bytes of a parameter before training, and what keeps them alive.
struct InitialValue {
  llvm::ArrayRef<char> bytes;
  std::shared_ptr<const void> owner;
};

/// Writes an artifact with several programs, `<prefix>_<program>_module`, the
/// descriptor `<prefix>_training` that says what they are to each other, and
/// `<stem>.safetensors` with the initial values beside it.
llvm::Expected<ArtifactReport> emitTrainingArtifact(
    const TrainingInfo &info, llvm::ArrayRef<ArtifactProgram> programs,
    llvm::ArrayRef<InitialValue> values, const TargetOptions &target,
    const ArtifactOptions &options);

/// Prints the LLVM IR that `emitArtifact` would compile, before its passes.
llvm::Error printLLVMIR(mlir::ModuleOp module, const ModuleInfo &info,
                        const WeightImage &weights, const TargetOptions &target,
                        const ArtifactOptions &options, llvm::raw_ostream &os);

/// Turns any text into a C identifier that is neither empty nor reserved.
std::string makeIdentifier(llvm::StringRef text);

} // namespace onnx_aot

#endif // ONNX_AOT_EMIT_ARTIFACT_H

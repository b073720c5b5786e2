//===- CompilerInvocation.h - everything a user can ask for -----*- C++ -*-===//
#ifndef ONNX_AOT_DRIVER_COMPILERINVOCATION_H
#define ONNX_AOT_DRIVER_COMPILERINVOCATION_H

#include "onnx-aot/Driver/Phases.h"
#include "onnx-aot/Emit/DeviceCode.h"
#include "onnx-aot/Emit/TargetMachine.h"
#include "onnx-aot/Import/Importer.h"
#include "onnx-aot/Training/Training.h"

#include <string>
#include <utility>
#include <vector>

namespace onnx_aot {

/// One run of the compiler, as the command line states it.
struct CompilerInvocation {
  /// An ONNX model, or MLIR of any phase up to Codegen.
  std::string input;
  /// The file to write; its suffix chooses the artifact. "-" is standard output
  /// where text is printed.
  std::string output;
  /// Print the result of this phase instead of writing an artifact.
  std::optional<Phase> printPhase;
  /// 0 to 3, as in -O0 to -O3.
  unsigned optLevel = 2;
  /// Keep every sum of products as the operator defines it.
  bool strictFp = false;
  TargetOptions target;
  /// File of Tuning.h; none when empty.
  std::string tuningFile;
  /// A device beside the processor.
  DeviceOptions device;
  /// First part of an object's symbols; empty: made from the output's name.
  std::string prefix;
  /// Put the weights into a file of their own.
  bool externalWeights = false;
  /// Symbolic dimensions to fix: name and size.
  std::vector<std::pair<std::string, int64_t>> dims;
  /// Operators that functions of the user's compute, by "domain::name".
  llvm::StringMap<CustomOp> customOps;
  /// Objects, archives and shared libraries that define these functions.
  std::vector<std::string> libraries;
  /// Compile programs that train the model.
  std::optional<TrainingOptions> training;
  /// Most bytes of state and temporary values of a training step; 0 for any
  /// number.
  int64_t memoryBudget = 0;
  /// Folder that receives the result of every phase.
  std::string dumpDirectory;
  /// File that receives what was done, as JSON.
  std::string reportFile;
  /// Only say what cannot be compiled.
  bool checkOnly = false;
  /// Say it as JSON on standard output.
  bool json = false;
};

} // namespace onnx_aot

#endif // ONNX_AOT_DRIVER_COMPILERINVOCATION_H

//===- TrainingInfo.h - what a training module says of itself ---*- C++ -*-===//
//
// The contents of a training module's descriptor (abi/Training.h) while it is
// compiled: made by Training, written by Emit.
//
//===----------------------------------------------------------------------===//

#ifndef ONNX_AOT_SUPPORT_TRAININGINFO_H
#define ONNX_AOT_SUPPORT_TRAININGINFO_H

#include "onnx-aot/Support/ModuleInfo.h"
#include "onnx-aot/abi/Training.h"

namespace onnx_aot {

/// Which piece of state an input or output is, as OnnxAotBinding.
struct Binding {
  OnnxAotRole role = ONNX_AOT_ROLE_USER;
  int32_t index = -1;
  int32_t slot = -1;
};

/// The programs of a training module, as the fields of OnnxAotTraining.
enum class ProgramKind { Train, Eval, Optimizer, Fused, Infer };
constexpr unsigned numPrograms = 5;

/// "train", "eval", "optimizer", "fused", "infer".
llvm::StringRef getProgramName(ProgramKind kind);

/// The bindings of a program's inputs, and of its outputs without the state
/// that it updates.
struct ProgramInfo {
  ProgramKind kind;
  std::vector<Binding> inputs, outputs;
};

/// A tensor of the model's state.
struct ParameterInfo {
  ValueInfo value;
  OnnxAotParameterKind kind = ONNX_AOT_PARAMETER_TRAINABLE;
  int32_t group = -1;
};

/// A low-rank update of a weight that is not trained, as OnnxAotAdapter.
struct AdapterInfo {
  std::string weight;
  /// Positions of the two matrices among the parameters.
  int32_t a = -1, b = -1;
  bool isTransposed = false;
  double scale = 1;
};

/// Everything the descriptor states besides the programs.
struct TrainingInfo {
  std::string name, loss, optimizer;
  uint64_t fingerprint[2] = {0, 0};
  std::vector<ParameterInfo> parameters;
  std::vector<std::string> slots, inputs;
  unsigned numTargets = 0;
  std::vector<AdapterInfo> adapters;
  /// The ONNX file without the parameters' data; empty: not kept.
  std::string model;
};

} // namespace onnx_aot

#endif // ONNX_AOT_SUPPORT_TRAININGINFO_H

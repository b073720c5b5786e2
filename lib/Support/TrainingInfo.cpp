//===- TrainingInfo.cpp - what a training module says of itself -----------===//

#include "onnx-aot/Support/TrainingInfo.h"

llvm::StringRef onnx_aot::getProgramName(ProgramKind kind) {
  static constexpr llvm::StringLiteral names[numPrograms] = {
      "train", "eval", "optimizer", "fused", "infer"};
  return names[unsigned(kind)];
}

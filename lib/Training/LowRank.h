//===- LowRank.h - trained updates of frozen weights ------------*- C++ -*-===//

#ifndef ONNX_AOT_LIB_TRAINING_LOWRANK_H
#define ONNX_AOT_LIB_TRAINING_LOWRANK_H

#include "onnx-aot/Support/Spec.h"
#include "onnx-aot/Support/TrainingInfo.h"

#include "mlir/IR/BuiltinOps.h"

#include <memory>

namespace onnx_aot {

/// LoRA (arXiv 2106.09685): beside x W^T stands alpha/r (x A^T) B^T, of which A
/// (r x in) and B (out x r) are trained and W is not. A starts as PEFT has it,
/// uniform in +-1/sqrt(in), and B as zeros, so that training starts from the
/// model as it is.
class LowRankUpdate {
public:
  /// "8:alpha=16,targets=GLOB+GLOB".
  static llvm::Expected<std::unique_ptr<LowRankUpdate>>
  create(llvm::StringRef text);

  /// Adds the two matrices as initializers, named after the weight, to the
  /// MatMul and Gemm nodes whose name or weight is a target. Where they come
  /// among the parameters is not known yet.
  mlir::FailureOr<std::vector<AdapterInfo>> apply(mlir::ModuleOp model) const;

private:
  double getScale() const { return alpha / double(rank); }

  int64_t rank = 0, seed = 0;
  double alpha = 0;
  std::vector<std::string> targets;
};

} // namespace onnx_aot

#endif // ONNX_AOT_LIB_TRAINING_LOWRANK_H

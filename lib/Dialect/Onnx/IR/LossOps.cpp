//===- LossOps.cpp - verifiers and shape functions ------------------------===//

#include "onnx-aot/Dialect/Onnx/IR/Onnx.h"

using namespace mlir;
using namespace onnx_aot::onnx;

#define GET_OP_CLASSES
#include "onnx-aot/Dialect/Onnx/IR/LossOps.cpp.inc"

void OnnxDialect::registerLossOps() {
  addOperations<
#define GET_OP_LIST
#include "onnx-aot/Dialect/Onnx/IR/LossOps.cpp.inc"
      >();
}

/// scores are (N, C, d...), targets (N, d...) and weights (C).
static LogicalResult verifyLoss(Operation *op, Value scores, Value target,
                                Value weight) {
  std::optional<Shape> shape = getShape(scores), targets = getShape(target);
  std::optional<Shape> weights = weight ? getShape(weight) : std::nullopt;
  if (shape && shape->size() < 2)
    return op->emitOpError("input must have at least 2 dimensions, not ")
           << scores.getType();
  auto differ = [](Dim a, Dim b) {
    return a.isStatic() && b.isStatic() && a != b;
  };
  if (shape && weights &&
      (weights->size() != 1 || differ((*weights)[0], (*shape)[1])))
    return op->emitOpError("weights of type ")
           << weight.getType() << " do not fit " << scores.getType();
  if (!shape || !targets)
    return success();
  shape->erase(shape->begin() + 1);
  if (shape->size() != targets->size() ||
      llvm::any_of(llvm::zip_equal(*shape, *targets), [&](auto pair) {
        return differ(std::get<0>(pair), std::get<1>(pair));
      }))
    return op->emitOpError("target of type ")
           << target.getType() << " does not fit " << scores.getType();
  return success();
}

/// The target's shape without a reduction, otherwise a scalar.
static Type inferLoss(Value scores, Value target, StringRef reduction) {
  Type elementType = getElementType(scores);
  return reduction == "none"
             ? Type(cast<TensorType>(target.getType()).clone(elementType))
             : RankedTensorType::get({}, elementType);
}

LogicalResult NegativeLogLikelihoodLossOp::verify() {
  return verifyLoss(*this, getInput(), getTarget(), getWeight());
}

LogicalResult
NegativeLogLikelihoodLossOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  types.push_back(inferLoss(getInput(), getTarget(), getReduction()));
  return success();
}

LogicalResult SoftmaxCrossEntropyLossOp::verify() {
  return verifyLoss(*this, getScores(), getLabels(), getWeights());
}

LogicalResult
SoftmaxCrossEntropyLossOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  types.push_back(inferLoss(getScores(), getLabels(), getReduction()));
  types.push_back(getScores().getType());
  return success();
}

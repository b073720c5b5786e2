//===- Reduction.cpp - gradients of reductions and scans ------------------===//

#include "Rules.h"

using namespace mlir;
using namespace onnx_aot;
using namespace onnx_aot::onnx;

//===--- What is common to Reduce* ----------------------------------------===//

/// Whether nothing is reduced: only the elementwise part is left.
template <typename OpTy>
static bool isNoop(OpTy op) {
  if (!op.getNoopWithEmptyAxes())
    return false;
  auto shape = op.getAxes() ? getShape(op.getAxes()) : Shape();
  return !op.getAxes() ||
         (shape && shape->size() == 1 && (*shape)[0].isStatic(0));
}

/// A value of the result's shape with the reduced dimensions as size 1, so that
/// it broadcasts to the operand.
template <typename OpTy>
static Value keepDims(OpTy op, Value value, GradientBuilder &b) {
  if (op.getKeepdims() || isNoop(op))
    return value;
  std::optional<SmallVector<int64_t>> axes = getConstantIntegers(op.getAxes());
  if (!op.getAxes() || (axes && axes->empty()))
    return b.reshape(
        value, b.integers(SmallVector<int64_t>(b.getRank(op.getData()), 1)));
  if (axes)
    return b.unsqueeze(value, *axes);
  // The run tells which dimensions are left: those that a reduction leaves.
  Value kept = b.create<ReduceSumOp>(op.getData(), op.getAxes(), /*keepdims=*/1,
                                     op.getNoopWithEmptyAxes());
  return b.reshapeLike(value, kept);
}

/// The gradient of the result, broadcast to the operand.
template <typename OpTy>
static Value spread(OpTy op, GradientBuilder &b) {
  Value dy = keepDims(op, b.getGradient(op.getReduced()), b);
  return b.expandLike(dy, op.getData());
}

/// How many elements make one of the result, as a scalar of its type.
template <typename OpTy>
static Value count(OpTy op, GradientBuilder &b) {
  auto from = cast<RankedTensorType>(op.getData().getType()),
       to = cast<RankedTensorType>(op.getReduced().getType());
  if (from.hasStaticShape() && to.hasStaticShape() && to.getNumElements() != 0)
    return b.scalar(from.getNumElements() / to.getNumElements(),
                    op.getReduced());
  Value quotient =
      b.div(b.create<SizeOp>(op.getData()), b.create<SizeOp>(op.getReduced()));
  return b.castLike(quotient, op.getReduced());
}

//===--- Reduce* ----------------------------------------------------------===//

/// y = sum x
static LogicalResult gradReduceSum(ReduceSumOp op, GradientBuilder &b) {
  b.accumulate(op.getData(), spread(op, b));
  return success();
}

/// y = sum x / count
static LogicalResult gradReduceMean(ReduceMeanOp op, GradientBuilder &b) {
  b.accumulate(op.getData(), b.div(spread(op, b), count(op, b)));
  return success();
}

void onnx_aot::populateReductionGradientRules(MLIRContext *context) {
  attachRule<ReduceSumOp, gradReduceSum>(context);
  attachRule<ReduceMeanOp, gradReduceMean>(context);
}

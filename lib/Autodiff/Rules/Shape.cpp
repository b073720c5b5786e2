//===- Shape.cpp - gradients of ops that move elements --------------------===//

#include "Rules.h"

using namespace mlir;
using namespace onnx_aot;
using namespace onnx_aot::onnx;

//===--- Same elements in the same order ----------------------------------===//

/// Reshape, Flatten, Squeeze, Unsqueeze: the gradient takes the shape back.
template <typename OpTy>
static LogicalResult gradReshapeBack(OpTy op, GradientBuilder &b) {
  Value x = op->getOperand(0);
  b.accumulate(x, b.reshapeLike(b.getGradient(op->getResult(0)), x));
  return success();
}

//===--- Moving elements --------------------------------------------------===//

/// Dimension i of y is dimension perm[i] of x.
static LogicalResult gradTranspose(TransposeOp op, GradientBuilder &b) {
  SmallVector<int64_t> permutation = op.getPermutation(b.getRank(op.getData()));
  SmallVector<int64_t> inverse(permutation.size());
  for (auto [index, axis] : llvm::enumerate(permutation))
    inverse[axis] = index;
  b.accumulate(op.getData(),
               b.transpose(b.getGradient(op.getTransposed()), inverse));
  return success();
}

/// y = x broadcast
static LogicalResult gradExpand(ExpandOp op, GradientBuilder &b) {
  b.accumulateBroadcast(op.getInput(), b.getGradient(op.getOutput()));
  return success();
}

void onnx_aot::populateShapeGradientRules(MLIRContext *context) {
  attachMovingRule<ReshapeOp, gradReshapeBack<ReshapeOp>>(context);
  attachMovingRule<FlattenOp, gradReshapeBack<FlattenOp>>(context);
  attachMovingRule<SqueezeOp, gradReshapeBack<SqueezeOp>>(context);
  attachMovingRule<UnsqueezeOp, gradReshapeBack<UnsqueezeOp>>(context);
  attachMovingRule<TransposeOp, gradTranspose>(context);
  attachMovingRule<ExpandOp, gradExpand>(context);
}

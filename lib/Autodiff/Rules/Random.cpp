//===- Random.cpp - gradients of random ops -------------------------------===//

#include "Rules.h"

using namespace mlir;
using namespace onnx_aot;
using namespace onnx_aot::onnx;

/// y = x / (1 - ratio) where the mask says so, else 0; x where nothing trains,
/// which the mask says by holding everywhere.
static LogicalResult gradDropout(DropoutOp op, GradientBuilder &b) {
  Value dy = b.getGradientOrZeros(op.getOutput());
  if (op.getRatio() && b.isActive(op.getRatio()))
    return b.unsupported(op, "has no gradient for its ratio");
  if (!op.getTrainingMode()) {
    b.accumulate(op.getData(), dy);
    return success();
  }
  Value ratio = op.getRatio() ? op.getRatio() : b.scalar(0.5, dy);
  ratio = b.reshape(b.castLike(ratio, dy), b.integers({}));
  Value training = b.reshape(op.getTrainingMode(), b.integers({}));
  ratio = b.select(training, ratio);
  b.accumulate(op.getData(),
               b.select(op.getMask(), b.div(dy, b.sub(1.0, ratio))));
  return success();
}

void onnx_aot::populateRandomGradientRules(MLIRContext *context) {
  attachRule<DropoutOp, gradDropout>(context);
  // Only the shape of what they are like matters.
  attachRule<RandomNormalLikeOp, stopGradient<RandomNormalLikeOp>>(context);
  attachRule<RandomUniformLikeOp, stopGradient<RandomUniformLikeOp>>(context);
}

//===- Logical.cpp - gradients of selections ------------------------------===//

#include "Rules.h"

using namespace mlir;
using namespace onnx_aot;
using namespace onnx_aot::onnx;

/// output = x where condition, else y
static LogicalResult gradWhere(WhereOp op, GradientBuilder &b) {
  Value dz = b.getGradient(op.getOutput()), condition = op.getCondition();
  b.accumulateBroadcast(op.getX(), b.select(condition, dz));
  b.accumulateBroadcast(op.getY(), b.where(condition, b.scalar(0.0, dz), dz));
  return success();
}

void onnx_aot::populateLogicalGradientRules(MLIRContext *context) {
  attachRule<WhereOp, gradWhere>(context);
}

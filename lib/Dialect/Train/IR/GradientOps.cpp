//===- GradientOps.cpp - shape functions ----------------------------------===//

#include "onnx-aot/Dialect/Train/IR/Train.h"

using namespace mlir;
using namespace onnx_aot::train;

#define GET_OP_CLASSES
#include "onnx-aot/Dialect/Train/IR/GradientOps.cpp.inc"

void TrainDialect::registerGradientOps() {
  addOperations<
#define GET_OP_LIST
#include "onnx-aot/Dialect/Train/IR/GradientOps.cpp.inc"
      >();
}

//===--- Gradient ---------------------------------------------------------===//

LogicalResult GradientOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  if (getInputs().size() != getXs().size() + getZs().size())
    return emitOpError("has ")
           << getInputs().size() << " inputs for " << getXs().size()
           << " xs and " << getZs().size() << " zs";
  for (Value input : getInputs().take_front(getXs().size()))
    types.push_back(input.getType());
  return success();
}

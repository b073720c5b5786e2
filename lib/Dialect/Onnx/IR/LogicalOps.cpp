//===- LogicalOps.cpp - verifiers, shape functions, folders ---------------===//

#include "onnx-aot/Dialect/Onnx/IR/Onnx.h"

using namespace mlir;
using namespace onnx_aot::onnx;

#define GET_OP_CLASSES
#include "onnx-aot/Dialect/Onnx/IR/LogicalOps.cpp.inc"

void OnnxDialect::registerLogicalOps() {
  addOperations<
#define GET_OP_LIST
#include "onnx-aot/Dialect/Onnx/IR/LogicalOps.cpp.inc"
      >();
}

OpFoldResult NotOp::fold(FoldAdaptor) {
  auto inner = getX().getDefiningOp<NotOp>();
  return inner && inner.getX().getType() == getType() ? inner.getX() : Value();
}

LogicalResult WhereOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  return inferBroadcast(*this, types, getElementType(getX()));
}

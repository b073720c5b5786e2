//===- ConstantOps.cpp - verifiers and shape functions --------------------===//

#include "onnx-aot/Dialect/Onnx/IR/Onnx.h"

using namespace mlir;
using namespace onnx_aot::onnx;

#define GET_OP_CLASSES
#include "onnx-aot/Dialect/Onnx/IR/ConstantOps.cpp.inc"

void OnnxDialect::registerConstantOps() {
  addOperations<
#define GET_OP_LIST
#include "onnx-aot/Dialect/Onnx/IR/ConstantOps.cpp.inc"
      >();
}

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

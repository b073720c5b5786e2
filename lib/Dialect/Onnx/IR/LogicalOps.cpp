//===- LogicalOps.cpp - verifiers and shape functions --------------------------===//

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

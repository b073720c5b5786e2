//===- OptimizerOps.cpp - shape functions ---------------------------------===//

#include "onnx-aot/Dialect/Train/IR/Train.h"

using namespace mlir;
using namespace onnx_aot::train;

#define GET_OP_CLASSES
#include "onnx-aot/Dialect/Train/IR/OptimizerOps.cpp.inc"

void TrainDialect::registerOptimizerOps() {
  addOperations<
#define GET_OP_LIST
#include "onnx-aot/Dialect/Train/IR/OptimizerOps.cpp.inc"
      >();
}

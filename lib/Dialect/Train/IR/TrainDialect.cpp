//===- TrainDialect.cpp - the train dialect -------------------------------===//

#include "onnx-aot/Dialect/Train/IR/Train.h"

using namespace mlir;
using namespace onnx_aot::train;

#include "onnx-aot/Dialect/Train/IR/TrainDialect.cpp.inc"

void TrainDialect::initialize() {
  registerConvolutionOps();
  registerGradientOps();
  registerOptimizerOps();
}

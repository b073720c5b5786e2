//===- InferShapes.cpp - propagate types from the inputs ------------------===//

#include "TransformUtils.h"
#include "onnx-aot/Transforms/Passes.h"

using namespace mlir;
using namespace onnx_aot;

namespace onnx_aot {
#define GEN_PASS_DEF_INFERSHAPES
#include "onnx-aot/Transforms/Passes.h.inc"
} // namespace onnx_aot

namespace {
struct InferShapes : onnx_aot::impl::InferShapesBase<InferShapes> {
  void runOnOperation() override {
    if (failed(inferAllTypes(getOperation())))
      signalPassFailure();
  }
};
} // namespace

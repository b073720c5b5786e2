//===- InferShapes.cpp - propagate types from the inputs --------------------===//

#include "onnx-aot/Dialect/Onnx/IR/Onnx.h"
#include "onnx-aot/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace onnx_aot;

namespace onnx_aot {
#define GEN_PASS_DEF_INFERSHAPES
#include "onnx-aot/Transforms/Passes.h.inc"
} // namespace onnx_aot

namespace {
struct InferShapes : onnx_aot::impl::InferShapesBase<InferShapes> {
  void runOnOperation() override {
    bool bad = false;
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      // Inner ops first: an If takes its types from its branches.
      function.walk<WalkOrder::PostOrder>([&](Operation *op) {
        bad |= failed(onnx::inferAndSetResultTypes(op));
      });
      if (function.isExternal())
        continue;
      Operation *terminator = function.getBody().front().getTerminator();
      function.setType(FunctionType::get(&getContext(),
                                         function.getArgumentTypes(),
                                         terminator->getOperandTypes()));
    }
    if (bad)
      signalPassFailure();
  }
};
} // namespace

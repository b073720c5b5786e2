//===- Canonicalize.cpp - bring the graph into its smallest form ----------===//

#include "Rewrites.h"
#include "onnx-aot/Transforms/Passes.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace onnx_aot;

namespace onnx_aot {
#define GEN_PASS_DEF_CANONICALIZE
#include "onnx-aot/Transforms/Passes.h.inc"
} // namespace onnx_aot

namespace {
struct Canonicalize : onnx_aot::impl::CanonicalizeBase<Canonicalize> {
  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet set(context);
    populateElementwiseRewrites(set);
    populateShapeRewrites(set);
    populateMatMulRewrites(set);
    populateConvolutionRewrites(set);
    populateControlFlowRewrites(set);
    patterns = std::move(set);
    return success();
  }

  void runOnOperation() override {
    // Not reaching the fixed point within the driver's limit is no error: every
    // state on the way there is right.
    (void)applyPatternsGreedily(getOperation(), patterns);
    if (failed(inferAllTypes(getOperation())))
      signalPassFailure();
  }

private:
  FrozenRewritePatternSet patterns;
};
} // namespace

//===- Gradient.cpp - lower ops of the backward pass ----------------------===//

#include "ConvolutionLowering.h"
#include "onnx-aot/Dialect/Train/IR/Train.h"

using namespace mlir;
using namespace onnx_aot;

namespace {

/// By now nothing is differentiated any more.
struct LowerStopGradient : OnnxLowering<train::StopGradientOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(train::StopGradientOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOp(op, adaptor.getX());
    return success();
  }
};

} // namespace

void onnx_aot::populateOnnxToLinalgGradientPatterns(
    const LoweringContext &lowering, RewritePatternSet &patterns) {
  patterns.add<LowerStopGradient>(lowering, patterns.getContext());
  populateConvGradientPatterns(lowering, patterns);
  populatePoolGradientPatterns(lowering, patterns);
}

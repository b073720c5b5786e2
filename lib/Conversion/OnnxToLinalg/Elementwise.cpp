//===- Elementwise.cpp - lower pointwise arithmetic -------------------------===//

#include "LoweringBase.h"

using namespace mlir;
using namespace onnx_aot;

namespace {

struct LowerAdd : OnnxLowering<onnx::AddOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::AddOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    return lowerPointwise(
        rewriter, lowering, op, adaptor.getOperands(),
        [](OpBuilder &b, Location loc, ValueRange args) -> Value {
          if (isa<FloatType>(args[0].getType()))
            return arith::AddFOp::create(b, loc, args[0], args[1]);
          return arith::AddIOp::create(b, loc, args[0], args[1]);
        });
  }
};

struct LowerRelu : OnnxLowering<onnx::ReluOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::ReluOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    return lowerPointwise(
        rewriter, lowering, op, adaptor.getOperands(),
        [](OpBuilder &b, Location loc, ValueRange args) -> Value {
          Value zero = createScalarConstant(b, loc, 0, args[0].getType());
          if (isa<FloatType>(zero.getType()))
            return arith::MaximumFOp::create(b, loc, args[0], zero);
          return arith::MaxSIOp::create(b, loc, args[0], zero);
        });
  }
};

} // namespace

void onnx_aot::populateOnnxToLinalgElementwisePatterns(
    const LoweringContext &lowering, RewritePatternSet &patterns) {
  patterns.add<LowerAdd, LowerRelu>(lowering, patterns.getContext());
}

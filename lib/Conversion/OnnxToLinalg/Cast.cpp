//===- Cast.cpp - lower Cast, CastLike and BitCast
//--------------------------===//

#include "ScalarBuilder.h"

using namespace mlir;
using namespace onnx_aot;

/// Types that arith converts between.
static bool isPlain(Type type) {
  if (isa<Float16Type, BFloat16Type, Float32Type, Float64Type>(type))
    return true;
  auto integer = dyn_cast<IntegerType>(type);
  return integer && (integer.getWidth() == 1 || integer.getWidth() >= 8);
}

namespace {

template <typename OpTy>
struct LowerCast : OnnxLowering<OpTy> {
  using OnnxLowering<OpTy>::OnnxLowering;
  LogicalResult
  matchAndRewrite(OpTy op, typename OpTy::Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Type from = onnx::getElementType(op.getInput());
    Type to = onnx::getElementType(op.getOutput());
    if (!isPlain(from) || !isPlain(to)) {
      std::string text;
      llvm::raw_string_ostream(text) << "from " << from << " to " << to;
      return this->unsupported(op, text + " is not supported");
    }
    // Bools are i1 in the body.
    Type target = to.isInteger(1) ? to : convertOnnxType(to);
    return lowerPointwise(
        rewriter, this->lowering, op, op.getInput(), adaptor.getInput(),
        [&](OpBuilder &b, Location loc, ValueRange args) {
          ScalarBuilder scalars(b, loc, from.isUnsignedInteger());
          return scalars.convert(args[0], target, to.isUnsignedInteger());
        });
  }
};

struct LowerBitCast : OnnxLowering<onnx::BitCastOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::BitCastOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto type = dyn_cast_if_present<RankedTensorType>(
        typeConverter->convertType(op.getType()));
    auto inputType = dyn_cast<RankedTensorType>(adaptor.getInput().getType());
    if (!type || !inputType)
      return unsupported(op, "operand without memory form");
    if (inputType.getElementType() == type.getElementType()) {
      rewriter.replaceOp(op, adaptor.getInput());
      return success();
    }
    rewriter.replaceOpWithNewOp<arith::BitcastOp>(op, type, adaptor.getInput());
    return success();
  }
};

} // namespace

void onnx_aot::populateOnnxToLinalgCastPatterns(const LoweringContext &lowering,
                                                RewritePatternSet &patterns) {
  patterns
      .add<LowerCast<onnx::CastOp>, LowerCast<onnx::CastLikeOp>, LowerBitCast>(
          lowering, patterns.getContext());
}

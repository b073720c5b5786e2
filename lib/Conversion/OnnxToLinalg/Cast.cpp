//===- Cast.cpp - lower Cast, CastLike and BitCast ------------------------===//

#include "NarrowTypes.h"
#include "Strings.h"

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
    if (isa<onnx::StringType>(from) || isa<onnx::StringType>(to)) {
      FailureOr<Value> result =
          convertStrings(op, adaptor.getInput(), rewriter);
      if (failed(result))
        return failure();
      rewriter.replaceOp(op, *result);
      return success();
    }
    bool decodes = isNarrowType(from), encodes = isNarrowType(to);
    if (!(isPlain(from) || decodes) || !(isPlain(to) || encodes)) {
      std::string text;
      llvm::raw_string_ostream(text) << "from " << from << " to " << to;
      return this->unsupported(op, text + " is not supported");
    }
    Value table;
    Type decoded = from;
    if (decodes) {
      table = createDecodeTable(rewriter, op.getLoc(), from);
      decoded = getDecodedType(from);
    }
    EncodeOptions options{op.getSaturate() != 0, op.getRoundMode()};
    // Bools are i1 in the body.
    Type target = to.isInteger(1) ? to : convertOnnxType(to);
    return lowerPointwise(
        rewriter, this->lowering, op, op.getInput(), adaptor.getInput(),
        [&](OpBuilder &b, Location loc, ValueRange args) {
          ScalarBuilder scalars(b, loc, decoded.isUnsignedInteger());
          Value value = args[0];
          if (decodes)
            value = createDecode(scalars, value, from, table);
          return encodes
                     ? createEncode(scalars, value, to, options)
                     : scalars.convert(value, target, to.isUnsignedInteger());
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
    return lowerPointwise(
        rewriter, lowering, op, adaptor.getOperands(),
        [&](OpBuilder &b, Location loc, ValueRange args) -> Value {
          return arith::BitcastOp::create(b, loc, type.getElementType(),
                                          args[0]);
        });
  }
};

} // namespace

void onnx_aot::populateOnnxToLinalgCastPatterns(const LoweringContext &lowering,
                                                RewritePatternSet &patterns) {
  patterns
      .add<LowerCast<onnx::CastOp>, LowerCast<onnx::CastLikeOp>, LowerBitCast>(
          lowering, patterns.getContext());
}

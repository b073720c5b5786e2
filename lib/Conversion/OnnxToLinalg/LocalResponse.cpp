//===- LocalResponse.cpp - lower LRN --------------------------------------===//

#include "GenericBuilder.h"
#include "ScalarBuilder.h"

using namespace mlir;
using namespace onnx_aot;

/// base ^ exponent; the usual 3 / 4 without a logarithm.
static Value createPower(ScalarBuilder &s, Value base, double exponent) {
  if (exponent == 0.75) {
    Value root = s.sqrt(base);
    return s.mul(root, s.sqrt(root));
  }
  if (exponent == 0.5)
    return s.sqrt(base);
  return exponent == 1 ? base
                       : s.create<math::PowFOp>(base, s.like(base, exponent));
}

namespace {

/// Sums the squares in a window over the channels like a pooling: x is padded
/// with zeros and read at channel + place in the window.
struct LowerLRN : OnnxLowering<onnx::LRNOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::LRNOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value x = adaptor.getX();
    auto type = cast<RankedTensorType>(x.getType());
    Type elementType = type.getElementType();
    Type computeType = getComputeType(elementType);
    int64_t rank = type.getRank(), size = op.getSize();

    SmallVector<OpFoldResult> low(rank, rewriter.getIndexAttr(0)), high = low;
    low[1] = rewriter.getIndexAttr((size - 1) / 2);
    high[1] = rewriter.getIndexAttr(size / 2);
    Value zero = createScalarConstant(rewriter, loc, 0, elementType);
    Value padded = tensor::PadOp::create(rewriter, loc, Type(), x, low, high,
                                         zero, /*nofold=*/false);
    SmallVector<OpFoldResult> sizes = getRuntimeSizes(rewriter, loc, x);
    SmallVector<OpFoldResult> windowSizes = sizes;
    windowSizes.push_back(rewriter.getIndexAttr(size));
    SmallVector<bool> reduced(rank + 1, false);
    reduced[rank] = true;
    SmallVector<AffineExpr> place;
    for (int64_t dim = 0; dim < rank; ++dim)
      place.push_back(rewriter.getAffineDimExpr(dim));
    place[1] = place[1] + rewriter.getAffineDimExpr(rank);
    // The window has no elements of its own, only a size.
    Value window = createEmpty(rewriter, loc, windowSizes.back(), elementType);
    AffineMap windowMap =
        AffineMap::get(rank + 1, 0, rewriter.getAffineDimExpr(rank));
    Value sums = createReduction(
        rewriter, loc, windowSizes, reduced,
        createScalarConstant(rewriter, loc, 0, computeType),
        {{padded, AffineMap::get(rank + 1, 0, place, getContext())},
         {window, windowMap}},
        [](OpBuilder &b, Location l, ValueRange args) {
          ScalarBuilder s(b, l, false);
          Value wide = s.widen(args[0]);
          return s.add(args[2], s.mul(wide, wide));
        });
    double factor = op.getAlpha().convertToFloat() / double(size);
    Value result = createMap(
        rewriter, loc, sizes, elementType, {x, sums},
        [&](OpBuilder &b, Location l, ValueRange args) {
          ScalarBuilder s(b, l, false);
          Value base = s.add(s.like(args[1], op.getBias().convertToFloat()),
                             s.mul(s.like(args[1], factor), args[1]));
          Value power = createPower(s, base, op.getBeta().convertToFloat());
          return s.convert(s.div(s.widen(args[0]), power), elementType, false);
        });
    rewriter.replaceOp(
        op, castToOnnxType(rewriter, loc, result, op.getY().getType()));
    return success();
  }
};

} // namespace

void onnx_aot::populateOnnxToLinalgLocalResponsePatterns(
    const LoweringContext &lowering, RewritePatternSet &patterns) {
  patterns.add<LowerLRN>(lowering, patterns.getContext());
}

//===- ConvGradient.cpp - lower the adjoints of convolutions --------------===//

#include "Contraction.h"
#include "ConvolutionLowering.h"
#include "GenericBuilder.h"
#include "WindowLowering.h"
#include "onnx-aot/Dialect/Train/IR/Train.h"

using namespace mlir;
using namespace onnx_aot;

namespace {

/// Sizes behind the batch and the channels.
ArrayRef<OpFoldResult> getSpatial(ArrayRef<OpFoldResult> sizes) {
  return sizes.drop_front(2);
}

struct LowerConvBackwardData : OnnxLowering<train::ConvBackwardDataOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(train::ConvBackwardDataOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto type = cast<RankedTensorType>(convertOnnxType(op.getType()));
    auto wType = cast<RankedTensorType>(adaptor.getW().getType());
    int64_t group = op.getGroup();
    if (group > 1 && (wType.isDynamicDim(0) || wType.isDynamicDim(1)))
      return unsupported(op,
                         "channels per group are not known at compile time");
    FailureOr<onnx::Window> window = onnx::getConvWindow(op, op.getAutoPad());
    if (failed(window))
      return failure();
    Location loc = op.getLoc();
    SmallVector<OpFoldResult> dySizes =
        getRuntimeSizes(rewriter, loc, adaptor.getDy());
    SmallVector<OpFoldResult> xSizes =
        getTargetSizes(rewriter, loc, type, adaptor.getXShape());
    WindowPads pads = getWindowPads(rewriter, loc, *window, getSpatial(xSizes),
                                    getSpatial(dySizes));
    SmallVector<Spread> spreads;
    bool allFit = true;
    for (int64_t i = 0; i < window->getRank(); ++i) {
      AffineExpr d0 = rewriter.getAffineDimExpr(0);
      int64_t reach = window->getExtent(i) - 1;
      spreads.push_back(
          {getSpatial(xSizes)[i],
           foldSizes(rewriter, loc, d0 + reach, getSpatial(xSizes)[i]),
           foldSizes(rewriter, loc, d0 * -1 + reach, pads.low[i]),
           window->strides[i]});
      // Every window lies inside the padded x: what SAME pads is less than a
      // window.
      allFit &= window->isSame() ||
                (window->padsBegin[i] <= reach && window->padsEnd[i] <= reach);
    }
    Value dx = createTransposedConvolution(rewriter, loc, adaptor.getDy(),
                                           adaptor.getW(), group, *window,
                                           spreads, allFit);
    dx = convertFloats(rewriter, loc, dx, type.getElementType());
    rewriter.replaceOp(op, castTensor(rewriter, loc, dx, type));
    return success();
  }

private:
  /// The sizes of the result: from its type, or else from x_shape.
  static SmallVector<OpFoldResult> getTargetSizes(OpBuilder &builder,
                                                  Location loc,
                                                  RankedTensorType type,
                                                  Value shape) {
    SmallVector<OpFoldResult> sizes;
    for (auto [i, size] : llvm::enumerate(type.getShape())) {
      if (!ShapedType::isDynamic(size)) {
        sizes.push_back(builder.getIndexAttr(size));
        continue;
      }
      Value at = arith::ConstantIndexOp::create(builder, loc, i);
      Value element = tensor::ExtractOp::create(builder, loc, shape, at);
      sizes.push_back(arith::IndexCastOp::create(
                          builder, loc, builder.getIndexType(), element)
                          .getResult());
    }
    return sizes;
  }
};

// Iterators are [g, m, c, kernel..., n, spatial...], or without groups
// [kernel..., c, m, n, spatial...]: a product of matrices for each place in the
// kernel, whose lanes are filters. Those from n on are reduced.
struct LowerConvBackwardWeight : OnnxLowering<train::ConvBackwardWeightOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(train::ConvBackwardWeightOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto type = cast<RankedTensorType>(convertOnnxType(op.getType()));
    int64_t group = op.getGroup(), rank = type.getRank() - 2;
    if (group > 1 && (type.isDynamicDim(0) || type.isDynamicDim(1)))
      return unsupported(op,
                         "channels per group are not known at compile time");
    FailureOr<onnx::Window> window = onnx::getWindow(
        op, {op.getKernelShape(), op.getStrides(), op.getDilations(),
             op.getPads(), op.getAutoPad(), false});
    if (failed(window))
      return failure();
    Location loc = op.getLoc();
    Value x = adaptor.getX(), dy = adaptor.getDy();
    SmallVector<OpFoldResult> counts = getRuntimeSizes(rewriter, loc, dy);
    WindowPads pads = getWindowPads(
        rewriter, loc, *window, getSpatial(getRuntimeSizes(rewriter, loc, x)),
        getSpatial(counts));
    Value zero = createScalarConstant(rewriter, loc, 0, type.getElementType());
    x = padSpatial(rewriter, loc, x, 2, pads, zero);

    SmallVector<AffineExpr> xExprs, dyExprs, dwExprs;
    int64_t lead = group > 1 ? 1 : 0, batch = lead + 2 + rank;
    auto dim = [&](int64_t i) { return rewriter.getAffineDimExpr(i); };
    int64_t filter = group > 1 ? 1 : rank + 1, channel = group > 1 ? 2 : rank,
            kernel = group > 1 ? 3 : 0;
    xExprs.push_back(dim(batch));
    dyExprs.push_back(dim(batch));
    if (group > 1) {
      x = splitDim(rewriter, loc, x, 1, group);
      dy = splitDim(rewriter, loc, dy, 1, group);
      xExprs.push_back(dim(0));
      dyExprs.push_back(dim(0));
    }
    xExprs.push_back(dim(channel));
    dyExprs.push_back(dim(filter));
    for (int64_t i = 0; i < rank; ++i) {
      AffineExpr output = dim(batch + 1 + i);
      dyExprs.push_back(output);
      xExprs.push_back(getWindowExpr(*window, i, output, dim(kernel + i)));
    }
    for (int64_t i = 0; i < batch; ++i)
      dwExprs.push_back(dim(i));
    auto map = [&](ArrayRef<AffineExpr> exprs) {
      return AffineMap::get(batch + 1 + rank, 0, exprs, getContext());
    };
    SmallVector<OpFoldResult> sizes(batch);
    SmallVector<OpFoldResult> dySizes = getRuntimeSizes(rewriter, loc, dy);
    if (group > 1)
      sizes[0] = dySizes[1];
    sizes[filter] = dySizes[lead + 1];
    sizes[channel] = getRuntimeSizes(rewriter, loc, x)[lead + 1];
    for (int64_t i = 0; i < rank; ++i)
      sizes[kernel + i] = rewriter.getIndexAttr(window->kernel[i]);
    SmallVector<utils::IteratorType> iterators(batch,
                                               utils::IteratorType::parallel);
    iterators.append(rank + 1, utils::IteratorType::reduction);
    Value dw = createContraction(
        rewriter, loc, {{x, map(xExprs)}, {dy, map(dyExprs)}}, map(dwExprs),
        iterators, sizes, getAccumulatorType(type.getElementType()));
    if (group > 1)
      dw = mergeDims(rewriter, loc, dw, 0);
    else
      dw = putFiltersFirst(rewriter, loc, dw);
    dw = convertFloats(rewriter, loc, dw, type.getElementType());
    rewriter.replaceOp(op, castTensor(rewriter, loc, dw, type));
    return success();
  }

private:
  /// (kernel..., c, m) as (m, c, kernel...).
  static Value putFiltersFirst(OpBuilder &builder, Location loc, Value dw) {
    SmallVector<OpFoldResult> sizes = getRuntimeSizes(builder, loc, dw), turned;
    int64_t rank = sizes.size();
    SmallVector<AffineExpr> source(rank);
    for (int64_t i = 0; i < rank; ++i) {
      int64_t from = i < 2 ? rank - 1 - i : i - 2;
      turned.push_back(sizes[from]);
      source[from] = builder.getAffineDimExpr(i);
    }
    AffineMap map = AffineMap::get(rank, 0, source, builder.getContext());
    return createMap(builder, loc, turned, getElementTypeOrSelf(dw.getType()),
                     {{dw, map}}, [](OpBuilder &, Location, ValueRange values) {
                       return values.front();
                     });
  }
};

} // namespace

void onnx_aot::populateConvGradientPatterns(const LoweringContext &lowering,
                                            RewritePatternSet &patterns) {
  patterns.add<LowerConvBackwardData, LowerConvBackwardWeight>(
      lowering, patterns.getContext());
}

//===- ConvGradient.cpp - lower the adjoints of convolutions --------------===//

#include "Contraction.h"
#include "ConvolutionLowering.h"
#include "GenericBuilder.h"
#include "WindowLowering.h"
#include "onnx-aot/Dialect/Train/IR/Train.h"

using namespace mlir;
using namespace onnx_aot;

namespace {

/// Sizes of all dimensions but the batch and the channels.
ArrayRef<OpFoldResult> getSpatial(ArrayRef<OpFoldResult> sizes,
                                  onnx::ChannelLayout layout) {
  return sizes.slice(layout.spatial, sizes.size() - 2);
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
    SmallVector<OpFoldResult> xSizes = getTargetSizes(
        rewriter, loc, type, adaptor.getXShape(), op.getChannelsLast());
    onnx::ChannelLayout layout(op.getChannelsLast(), type.getRank());
    ArrayRef<OpFoldResult> sizes = getSpatial(xSizes, layout);
    WindowPads pads = getWindowPads(rewriter, loc, *window, sizes,
                                    getSpatial(dySizes, layout));
    Convolution conv{adaptor.getDy(),      adaptor.getW(), false,  false,
                     op.getChannelsLast(), group,          *window};
    auto replace = [&](Value dx) {
      dx = convertFloats(rewriter, loc, dx, type.getElementType());
      rewriter.replaceOp(op, castTensor(rewriter, loc, dx, type));
      return success();
    };
    std::optional<SmallVector<int64_t>> low = getConstantIntValues(pads.low),
                                        given = getConstantIntValues(sizes),
                                        counts = getConstantIntValues(
                                            getSpatial(dySizes, layout));
    // With channels first the results of a phase lie apart along the lanes.
    if (conv.channelsLast && low && given && counts &&
        !isEmpty(adaptor.getDy()) &&
        llvm::any_of(window->strides,
                     [](int64_t stride) { return stride > 1; })) {
      SmallVector<OpFoldResult> results = xSizes;
      results[0] = dySizes[0];
      results[layout.channel] =
          foldSizes(rewriter, loc, rewriter.getAffineDimExpr(0) * group,
                    getRuntimeSizes(rewriter, loc, adaptor.getW())[1]);
      return replace(createPhasedConvolution(
          rewriter, loc, conv,
          {*window, layout, *low, *given, *counts, results}));
    }
    SmallVector<Spread> spreads;
    bool allFit = true;
    for (int64_t i = 0; i < window->getRank(); ++i) {
      AffineExpr d0 = rewriter.getAffineDimExpr(0);
      int64_t reach = window->getExtent(i) - 1;
      spreads.push_back({sizes[i],
                         foldSizes(rewriter, loc, d0 + reach, sizes[i]),
                         foldSizes(rewriter, loc, d0 * -1 + reach, pads.low[i]),
                         window->strides[i]});
      // Every window lies inside the padded x: what SAME pads is less than a
      // window.
      allFit &= window->isSame() ||
                (window->padsBegin[i] <= reach && window->padsEnd[i] <= reach);
    }
    return replace(
        createTransposedConvolution(rewriter, loc, conv, spreads, allFit));
  }

private:
  static bool isEmpty(Value tensor) {
    return llvm::is_contained(
        cast<RankedTensorType>(tensor.getType()).getShape(), 0);
  }

  /// The sizes of the result: from its type, or else from x_shape, which has
  /// the channels first.
  static SmallVector<OpFoldResult>
  getTargetSizes(OpBuilder &builder, Location loc, RankedTensorType type,
                 Value shape, bool channelsLast) {
    SmallVector<OpFoldResult> sizes;
    for (auto [i, size] : llvm::enumerate(type.getShape())) {
      if (!ShapedType::isDynamic(size)) {
        sizes.push_back(builder.getIndexAttr(size));
        continue;
      }
      int64_t last = type.getRank() - 1, place = i;
      if (channelsLast && i > 0)
        place = (int64_t)i == last ? 1 : i + 1;
      Value at = arith::ConstantIndexOp::create(builder, loc, place);
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
    onnx::ChannelLayout layout(op.getChannelsLast(), rank + 2);
    Value x = adaptor.getX(), dy = adaptor.getDy();
    SmallVector<OpFoldResult> xSizes = getRuntimeSizes(rewriter, loc, x),
                              dySizes = getRuntimeSizes(rewriter, loc, dy);
    WindowPads pads =
        getWindowPads(rewriter, loc, *window, getSpatial(xSizes, layout),
                      getSpatial(dySizes, layout));
    Value zero = createScalarConstant(rewriter, loc, 0, type.getElementType());
    x = padSpatial(rewriter, loc, x, layout.spatial, pads, zero);
    if (isRowOfPixels(op, *window, x)) {
      Value dw = sumPixelRows(rewriter, loc, x, dy, *window,
                              getAccumulatorType(type.getElementType()));
      dw = convertFloats(rewriter, loc, dw, type.getElementType());
      rewriter.replaceOp(op, castTensor(rewriter, loc, dw, type));
      return success();
    }

    SmallVector<AffineExpr> xWindow, dySpatial, dwExprs;
    int64_t lead = group > 1 ? 1 : 0, batch = lead + 2 + rank;
    auto dim = [&](int64_t i) { return rewriter.getAffineDimExpr(i); };
    int64_t filter = group > 1 ? 1 : rank + 1, channel = group > 1 ? 2 : rank,
            kernel = group > 1 ? 3 : 0;
    for (int64_t i = 0; i < rank; ++i) {
      AffineExpr output = dim(batch + 1 + i);
      dySpatial.push_back(output);
      xWindow.push_back(getWindowExpr(*window, i, output, dim(kernel + i)));
    }
    SmallVector<AffineExpr> xChannels, dyChannels;
    if (group > 1) {
      x = splitDim(rewriter, loc, x, layout.channel, group);
      dy = splitDim(rewriter, loc, dy, layout.channel, group);
      xChannels.push_back(dim(0));
      dyChannels.push_back(dim(0));
    }
    xChannels.push_back(dim(channel));
    dyChannels.push_back(dim(filter));
    for (int64_t i = 0; i < batch; ++i)
      dwExprs.push_back(dim(i));
    auto map = [&](ArrayRef<AffineExpr> exprs) {
      return AffineMap::get(batch + 1 + rank, 0, exprs, getContext());
    };
    auto operandMap = [&](ArrayRef<AffineExpr> channels,
                          ArrayRef<AffineExpr> spatial) {
      SmallVector<AffineExpr> exprs{dim(batch)};
      llvm::append_range(exprs, op.getChannelsLast() ? spatial : channels);
      llvm::append_range(exprs, op.getChannelsLast() ? channels : spatial);
      return map(exprs);
    };
    SmallVector<OpFoldResult> sizes(batch);
    int64_t inner = layout.channel + lead;
    if (group > 1)
      sizes[0] = getRuntimeSizes(rewriter, loc, dy)[layout.channel];
    sizes[filter] = getRuntimeSizes(rewriter, loc, dy)[inner];
    sizes[channel] = getRuntimeSizes(rewriter, loc, x)[inner];
    for (int64_t i = 0; i < rank; ++i)
      sizes[kernel + i] = rewriter.getIndexAttr(window->kernel[i]);
    SmallVector<utils::IteratorType> iterators(batch,
                                               utils::IteratorType::parallel);
    iterators.append(rank + 1, utils::IteratorType::reduction);
    Value dw = createContraction(rewriter, loc,
                                 {{x, operandMap(xChannels, xWindow)},
                                  {dy, operandMap(dyChannels, dySpatial)}},
                                 map(dwExprs), iterators, sizes,
                                 getAccumulatorType(type.getElementType()));
    if (group > 1)
      dw = mergeDims(rewriter, loc, dw, 0);
    else
      dw = putFiltersFirst(rewriter, loc, dw);
    dw = convertFloats(rewriter, loc, dw, type.getElementType());
    rewriter.replaceOp(op, castTensor(rewriter, loc, dw, type));
    return success();
  }

private:
  /// Channels last, and so few that the products of one place in the kernel
  /// have hardly any rows: those of a row of the kernel lie side by side.
  static bool isRowOfPixels(train::ConvBackwardWeightOp op,
                            const onnx::Window &window, Value x) {
    constexpr int64_t kFewChannels = 8;
    auto type = cast<RankedTensorType>(x.getType());
    int64_t channels = type.getDimSize(type.getRank() - 1);
    return op.getChannelsLast() && op.getGroup() == 1 &&
           window.dilations.back() == 1 && !ShapedType::isDynamic(channels) &&
           channels <= kFewChannels;
  }

  /// The sums over [kernel but its last dimension..., that and c, m | n,
  /// spatial...], as (m, c, kernel...).
  static Value sumPixelRows(OpBuilder &builder, Location loc, Value x, Value dy,
                            const onnx::Window &window, Type accumulator) {
    int64_t rank = window.getRank(), last = rank - 1;
    SmallVector<OpFoldResult> xSizes = getRuntimeSizes(builder, loc, x),
                              dySizes = getRuntimeSizes(builder, loc, dy);
    int64_t channels = *getConstantIntValue(xSizes.back());
    auto dim = [&](int64_t i) { return builder.getAffineDimExpr(i); };
    int64_t filter = rank, batch = rank + 1;
    SmallVector<AffineExpr> xExprs{dim(batch)}, dyExprs{dim(batch)}, dwExprs;
    SmallVector<OpFoldResult> sizes;
    for (int64_t i = 0; i < rank; ++i) {
      AffineExpr output = dim(batch + 1 + i);
      dyExprs.push_back(output);
      xExprs.push_back(i == last
                           ? output * (window.strides[i] * channels) + dim(i)
                           : getWindowExpr(window, i, output, dim(i)));
      sizes.push_back(
          builder.getIndexAttr(window.kernel[i] * (i == last ? channels : 1)));
    }
    dyExprs.push_back(dim(filter));
    sizes.push_back(dySizes.back());
    for (int64_t i = 0; i < batch; ++i)
      dwExprs.push_back(dim(i));
    auto map = [&](ArrayRef<AffineExpr> exprs) {
      return AffineMap::get(batch + 1 + rank, 0, exprs, builder.getContext());
    };
    SmallVector<utils::IteratorType> iterators(batch,
                                               utils::IteratorType::parallel);
    iterators.append(rank + 1, utils::IteratorType::reduction);
    Value dw = createContraction(
        builder, loc,
        {{mergeDims(builder, loc, x, rank), map(xExprs)}, {dy, map(dyExprs)}},
        map(dwExprs), iterators, sizes, accumulator);
    // (m, c, kernel...)
    SmallVector<OpFoldResult> turned{dySizes.back(), xSizes.back()};
    SmallVector<AffineExpr> source;
    for (int64_t i = 0; i < rank; ++i) {
      turned.push_back(builder.getIndexAttr(window.kernel[i]));
      source.push_back(i == last ? dim(2 + i) * channels + dim(1) : dim(2 + i));
    }
    source.push_back(dim(0));
    return createMap(
        builder, loc, turned, accumulator,
        {{dw, AffineMap::get(rank + 2, 0, source, builder.getContext())}},
        [](OpBuilder &, Location, ValueRange values) {
          return values.front();
        });
  }

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

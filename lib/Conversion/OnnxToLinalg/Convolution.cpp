//===- Convolution.cpp - lower Conv and ConvInteger -----------------------===//

#include "Contraction.h"
#include "ConvolutionLowering.h"
#include "ShapeScalars.h"
#include "WindowLowering.h"
#include "ZeroPoints.h"

using namespace mlir;
using namespace onnx_aot;

namespace {

/// Numbers the iterators of one generic: each is asked for once, in order.
class Iterators {
public:
  explicit Iterators(OpBuilder &builder) : builder(builder) {}

  AffineExpr add(utils::IteratorType type) {
    types.push_back(type);
    return builder.getAffineDimExpr(types.size() - 1);
  }
  SmallVector<AffineExpr> add(utils::IteratorType type, int64_t count) {
    SmallVector<AffineExpr> exprs;
    for (int64_t i = 0; i < count; ++i)
      exprs.push_back(add(type));
    return exprs;
  }
  AffineMap getMap(ArrayRef<AffineExpr> exprs) const {
    return AffineMap::get(types.size(), 0, exprs, builder.getContext());
  }
  ArrayRef<utils::IteratorType> getTypes() const { return types; }

private:
  OpBuilder &builder;
  SmallVector<utils::IteratorType> types;
};

/// How channels run through groups.
enum class Grouping {
  None,       ///< one group
  Depthwise,  ///< one input and one output channel per group
  Multiplier, ///< one input channel, several output channels per group
  General
};

Grouping classify(const Convolution &conv) {
  if (conv.group == 1)
    return Grouping::None;
  auto weight = cast<RankedTensorType>(conv.w.getType());
  if (weight.getDimSize(1) != 1)
    return Grouping::General;
  return weight.getDimSize(0) == conv.group ? Grouping::Depthwise
                                            : Grouping::Multiplier;
}

} // namespace

Value onnx_aot::splitDim(OpBuilder &builder, Location loc, Value tensor,
                         int64_t dim, int64_t group) {
  auto type = cast<RankedTensorType>(tensor.getType());
  SmallVector<ReassociationIndices> reassociation;
  SmallVector<int64_t> shape;
  SmallVector<OpFoldResult> sizes = getRuntimeSizes(builder, loc, tensor),
                            split;
  for (int64_t i = 0, next = 0; i < type.getRank(); ++i) {
    reassociation.push_back({next++});
    if (i != dim) {
      shape.push_back(type.getDimSize(i));
      split.push_back(sizes[i]);
      continue;
    }
    reassociation.back().push_back(next++);
    if (type.isDynamicDim(i)) {
      IndexBuilder b(builder, loc);
      createCheck(
          builder, loc,
          b.compare(arith::CmpIPredicate::eq,
                    b.rem(b.get(sizes[i]), b.constant(group)), b.constant(0)),
          "a dimension does not divide into " + Twine(group) + " groups");
    }
    shape.append({group, type.isDynamicDim(i) ? ShapedType::kDynamic
                                              : type.getDimSize(i) / group});
    split.push_back(builder.getIndexAttr(group));
    split.push_back(foldSizes(
        builder, loc, builder.getAffineDimExpr(0).floorDiv(group), sizes[i]));
  }
  auto result = RankedTensorType::get(shape, type.getElementType());
  return tensor::ExpandShapeOp::create(builder, loc, result, tensor,
                                       reassociation, split);
}

Value onnx_aot::mergeDims(OpBuilder &builder, Location loc, Value tensor,
                          int64_t dim) {
  int64_t rank = cast<RankedTensorType>(tensor.getType()).getRank();
  SmallVector<ReassociationIndices> reassociation;
  for (int64_t i = 0; i < rank; ++i) {
    if (i == dim + 1)
      reassociation.back().push_back(i);
    else
      reassociation.push_back({i});
  }
  return tensor::CollapseShapeOp::create(builder, loc, tensor, reassociation);
}

// Iterators are
// [n, spatial..., (g), m, kernel..., c] for channels-last tensors and
// [n, (g), m, spatial..., c, kernel...] otherwise.
Value onnx_aot::createConvolution(OpBuilder &builder, Location loc,
                                  const Convolution &conv,
                                  ArrayRef<OpFoldResult> counts,
                                  Type accumulator) {
  constexpr auto parallel = utils::IteratorType::parallel;
  constexpr auto reduction = utils::IteratorType::reduction;
  int64_t rank = conv.window.getRank();
  bool last = conv.channelsLast;
  Grouping grouping = classify(conv);
  bool hasGroups =
      grouping == Grouping::General || grouping == Grouping::Multiplier;
  bool hasChannels =
      grouping == Grouping::None || grouping == Grouping::General;

  Iterators iterators(builder);
  SmallVector<AffineExpr> spatial, kernel;
  AffineExpr group, filter, channel;
  AffineExpr batch = iterators.add(parallel);
  if (last)
    spatial = iterators.add(parallel, rank);
  if (hasGroups)
    group = iterators.add(parallel);
  filter = iterators.add(parallel);
  if (!last)
    spatial = iterators.add(parallel, rank);
  if (!last && hasChannels)
    channel = iterators.add(reduction);
  kernel = iterators.add(reduction, rank);
  if (last && hasChannels)
    channel = iterators.add(reduction);

  // x: (n, channels, window) with the channels where the layout has them.
  onnx::ChannelLayout layout(last, rank + 2);
  SmallVector<AffineExpr> window, xChannels, xExprs{batch}, wExprs,
      yExprs{batch};
  for (int64_t i = 0; i < rank; ++i)
    window.push_back(getWindowExpr(conv.window, i, spatial[i], kernel[i]));
  if (grouping == Grouping::Depthwise)
    xChannels = {filter};
  else if (grouping == Grouping::Multiplier)
    xChannels = {group};
  else if (grouping == Grouping::General)
    xChannels = {group, channel};
  else
    xChannels = {channel};
  xExprs.append(last ? window : xChannels);
  xExprs.append(last ? xChannels : window);
  Value x = grouping == Grouping::General
                ? splitDim(builder, loc, conv.x, layout.channel, conv.group)
                : conv.x;

  // w: ((g), m, (c), kernel...); without c its unit dimension goes.
  Value w = hasChannels ? conv.w : mergeDims(builder, loc, conv.w, 0);
  if (hasGroups) {
    w = splitDim(builder, loc, w, 0, conv.group);
    wExprs.push_back(group);
  }
  wExprs.push_back(filter);
  if (hasChannels)
    wExprs.push_back(channel);
  wExprs.append(kernel);

  SmallVector<AffineExpr> yChannels;
  SmallVector<OpFoldResult> channelSizes,
      wSizes = getRuntimeSizes(builder, loc, w);
  if (hasGroups) {
    yChannels.push_back(group);
    channelSizes.push_back(wSizes[0]);
  }
  yChannels.push_back(filter);
  channelSizes.push_back(wSizes[hasGroups ? 1 : 0]);
  SmallVector<OpFoldResult> sizes{getRuntimeSizes(builder, loc, x)[0]};
  yExprs.append(last ? spatial : yChannels);
  yExprs.append(last ? yChannels : spatial);
  sizes.append(last ? SmallVector<OpFoldResult>(counts) : channelSizes);
  sizes.append(last ? channelSizes : SmallVector<OpFoldResult>(counts));

  Value y = createContraction(builder, loc,
                              {{x, iterators.getMap(xExprs), conv.xUnsigned},
                               {w, iterators.getMap(wExprs), conv.wUnsigned}},
                              iterators.getMap(yExprs), iterators.getTypes(),
                              sizes, accumulator);
  return hasGroups ? mergeDims(builder, loc, y, layout.channel) : y;
}

Value onnx_aot::addBias(OpBuilder &builder, Location loc, Value y, Value bias,
                        int64_t channel, Type elementType) {
  SmallVector<OpFoldResult> sizes = getRuntimeSizes(builder, loc, y);
  Type accumulator = getElementTypeOrSelf(y.getType());
  AffineMap map =
      AffineMap::get(sizes.size(), 0, builder.getAffineDimExpr(channel));
  return createPointwise(
      builder, loc,
      {{y, builder.getMultiDimIdentityMap(sizes.size())}, {bias, map}}, sizes,
      elementType, [&](OpBuilder &b, Location l, ValueRange args) {
        Value added = convertScalar(b, l, args[1], accumulator);
        return convertScalar(b, l, createAdd(b, l, args[0], added),
                             elementType);
      });
}

namespace {

/// Pads x and convolves.
Value padAndConvolve(OpBuilder &builder, Location loc, Convolution conv,
                     Type accumulator) {
  int64_t rank = conv.window.getRank();
  onnx::ChannelLayout layout(conv.channelsLast, rank + 2);
  SmallVector<OpFoldResult> sizes = getRuntimeSizes(builder, loc, conv.x);
  ArrayRef<OpFoldResult> spatial = ArrayRef(sizes).slice(layout.spatial, rank);
  SmallVector<OpFoldResult> counts =
      getWindowCounts(builder, loc, conv.window, spatial);
  WindowPads pads = getWindowPads(builder, loc, conv.window, spatial, counts);
  Value zero = createScalarConstant(builder, loc, 0,
                                    getElementTypeOrSelf(conv.x.getType()));
  conv.x = padSpatial(builder, loc, conv.x, layout.spatial, pads, zero);
  return createConvolution(builder, loc, conv, counts, accumulator);
}

/// Memory type of the result of a convolution that can be lowered; null after
/// an error otherwise.
template <typename OpTy>
RankedTensorType getConvType(OpTy op) {
  auto type =
      dyn_cast_or_null<RankedTensorType>(convertOnnxType(op.getY().getType()));
  auto x = dyn_cast<RankedTensorType>(op.getX().getType()),
       w = dyn_cast<RankedTensorType>(op.getW().getType());
  if (!type || !x || !w || x.getRank() != w.getRank() || x.getRank() < 3 ||
      type.getRank() != x.getRank()) {
    op.emitOpError("operands of unknown or different ranks");
    return {};
  }
  if (op.getGroup() > 1 && w.isDynamicDim(1)) {
    op.emitOpError("channels per group are not known at compile time");
    return {};
  }
  return type;
}

//===--- Patterns ---------------------------------------------------------===//

struct LowerConv : OnnxLowering<onnx::ConvOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::ConvOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    RankedTensorType type = getConvType(op);
    FailureOr<onnx::Window> window = onnx::getConvWindow(op, op.getAutoPad());
    if (!type || failed(window))
      return failure();
    Location loc = op.getLoc();
    Type elementType = type.getElementType();
    if (!isa<FloatType>(elementType))
      return unsupported(op,
                         "on integers is not supported (supported: floats)");
    Type accumulator = getAccumulatorType(elementType);
    Convolution conv{adaptor.getX(),
                     adaptor.getW(),
                     false,
                     false,
                     op.getChannelsLast(),
                     static_cast<int64_t>(op.getGroup()),
                     *window};
    Value y = padAndConvolve(rewriter, loc, conv, accumulator);
    if (Value bias = adaptor.getB())
      y = addBias(
          rewriter, loc, y, bias,
          onnx::ChannelLayout(conv.channelsLast, type.getRank()).channel,
          elementType);
    y = convertFloats(rewriter, loc, y, elementType);
    rewriter.replaceOp(op, castTensor(rewriter, loc, y, type));
    return success();
  }
};

struct LowerConvInteger : OnnxLowering<onnx::ConvIntegerOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::ConvIntegerOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    RankedTensorType type = getConvType(op);
    FailureOr<onnx::Window> window = onnx::getConvWindow(op, op.getAutoPad());
    if (!type || failed(window))
      return failure();
    Location loc = op.getLoc();
    Convolution conv{adaptor.getX(),
                     adaptor.getW(),
                     isUnsignedTensor(op.getX()),
                     isUnsignedTensor(op.getW()),
                     op->hasAttr("channels_last"),
                     static_cast<int64_t>(op.getGroup()),
                     *window};
    // After the subtraction zero is what the padding holds.
    if (Value zero = adaptor.getXZeroPoint();
        zero && !isZeroConstant(op.getXZeroPoint()))
      if (failed(subtractZeroPoint(rewriter, loc, op.getXZeroPoint(), zero,
                                   /*perFilter=*/false, conv.x,
                                   conv.xUnsigned)))
        return unsupported(op, "x_zero_point must have one element");
    if (Value zero = adaptor.getWZeroPoint();
        zero && !isZeroConstant(op.getWZeroPoint()))
      if (failed(subtractZeroPoint(rewriter, loc, op.getWZeroPoint(), zero,
                                   /*perFilter=*/true, conv.w, conv.wUnsigned)))
        return unsupported(op, "w_zero_point must have one element or one per "
                               "filter");
    Value y = padAndConvolve(rewriter, loc, conv, rewriter.getI32Type());
    rewriter.replaceOp(op, castTensor(rewriter, loc, y, type));
    return success();
  }

private:
  /// tensor - zero in 16 bits. The zero point has one element, or one for each
  /// index of the first dimension.
  static LogicalResult subtractZeroPoint(OpBuilder &builder, Location loc,
                                         Value original, Value zero,
                                         bool perFilter, Value &tensor,
                                         bool &isUnsigned) {
    std::optional<onnx::Shape> shape = onnx::getShape(original);
    SmallVector<OpFoldResult> sizes = getRuntimeSizes(builder, loc, tensor);
    if (!shape || shape->size() > 1)
      return failure();
    SmallVector<AffineExpr> exprs;
    if (!shape->empty()) {
      onnx::Dim count = shape->front();
      bool fits = perFilter && count.isStatic() &&
                  getConstantIntValue(sizes[0]) == count.getStatic();
      if (!count.isStatic(1) && !fits)
        return failure();
      exprs.push_back(count.isStatic(1) ? builder.getAffineConstantExpr(0)
                                        : builder.getAffineDimExpr(0));
    }
    Type wide = builder.getI16Type();
    AffineMap map =
        AffineMap::get(sizes.size(), 0, exprs, builder.getContext());
    tensor = createPointwise(
        builder, loc,
        {{tensor, builder.getMultiDimIdentityMap(sizes.size())}, {zero, map}},
        sizes, wide, [&](OpBuilder &b, Location l, ValueRange args) -> Value {
          return arith::SubIOp::create(
              b, l, convertScalar(b, l, args[0], wide, isUnsigned),
              convertScalar(b, l, args[1], wide, isUnsigned));
        });
    isUnsigned = false;
    return success();
  }
};

} // namespace

void onnx_aot::populateOnnxToLinalgConvolutionPatterns(
    const LoweringContext &lowering, RewritePatternSet &patterns) {
  patterns.add<LowerConv, LowerConvInteger>(lowering, patterns.getContext());
}

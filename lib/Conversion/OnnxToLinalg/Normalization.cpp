//===- Normalization.cpp - lower normalizations by mean and variance ------===//
//
// All are y = (x - mean) * inverse deviation * scale + shift; they differ in
// the dimensions the statistics are taken over. The variance is taken relative
// to the mean, in two passes: E[x ^ 2] - E[x] ^ 2 would cancel.
//
//===----------------------------------------------------------------------===//

#include "ConvolutionLowering.h"
#include "Statistics.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace onnx_aot;

using Scalars = ScalarBuilder;

/// The type to compute in: the widest of the operands', at least f32.
static Type getWidest(ArrayRef<Type> types) {
  Type widest = getComputeType(types.front());
  for (Type type : types)
    if (type.getIntOrFloatBitWidth() > widest.getIntOrFloatBitWidth())
      widest = type;
  return widest;
}

/// (x - mean) * deviation * scale + shift; the shift may be missing.
static Value normalize(Scalars &s, ValueRange args) {
  Value scaled = s.mul(s.mul(s.sub(args[0], args[1]), args[2]), args[3]);
  return args.size() > 4 ? s.add(scaled, args[4]) : scaled;
}

/// Where a tensor of one element per channel is read.
static AffineMap getChannelMap(MLIRContext *context, int64_t rank,
                               int64_t channelDim = 1) {
  return AffineMap::get(rank, 0, getAffineDimExpr(channelDim, context));
}

namespace {

//===--- Over channels ----------------------------------------------------===//

/// Each parameter has an element for each channel of x.
void checkChannels(OpBuilder &builder, Operation *op, Value x,
                   ValueRange parameters) {
  OpFoldResult channels = tensor::getMixedSize(builder, op->getLoc(), x, 1);
  for (Value parameter : parameters)
    checkSize(builder, op, parameter, 0, channels,
              "a parameter and the channels");
}

struct LowerBatchNormalization : OnnxLowering<onnx::BatchNormalizationOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::BatchNormalizationOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value x = adaptor.getX();
    auto type = cast<RankedTensorType>(x.getType());
    int64_t rank = type.getRank();
    if (rank < 2)
      return unsupported(op, "input without a channel dimension");
    SmallVector<Type> types;
    for (Value operand : adaptor.getOperands())
      types.push_back(getElementTypeOrSelf(operand));
    SmallVector<bool> reduced(rank, true);
    reduced[1] = false;
    checkChannels(rewriter, op, x, adaptor.getOperands().drop_front());
    Statistics statistics(rewriter, loc, x, reduced, getWidest(types));

    Value mean = adaptor.getInputMean(), variance = adaptor.getInputVar();
    Value runningMean = mean, runningVariance = variance;
    if (op.getTrainingMode()) {
      mean = statistics.createMean();
      variance = statistics.createVariance(mean);
      auto blend = [&](Value running, Value batch) {
        return statistics.mapKept(
            {running, batch}, getElementTypeOrSelf(running),
            [&](Scalars &s, ValueRange args) {
              double momentum = op.getMomentum().convertToFloat();
              return s.add(s.mul(args[0], s.like(args[0], momentum)),
                           s.mul(args[1], s.like(args[1], 1 - momentum)));
            });
      };
      runningMean = blend(runningMean, mean);
      runningVariance = blend(runningVariance, variance);
    }
    Value deviation = statistics.createInverseDeviation(
        variance, op.getEpsilon().convertToFloat());
    AffineMap channels = getChannelMap(getContext(), rank);
    Value result = statistics.mapAll({{mean, channels},
                                      {deviation, channels},
                                      {adaptor.getScale(), channels},
                                      {adaptor.getB(), channels}},
                                     type.getElementType(), normalize);
    SmallVector<Value> results{result, runningMean, runningVariance};
    for (auto [value, before] : llvm::zip_equal(results, op.getResults()))
      value = castToOnnxType(rewriter, loc, value, before.getType());
    rewriter.replaceOp(op, results);
    return success();
  }
};

struct LowerInstanceNormalization
    : OnnxLowering<onnx::InstanceNormalizationOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::InstanceNormalizationOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Value x = adaptor.getInput();
    auto type = cast<RankedTensorType>(x.getType());
    SmallVector<bool> reduced(type.getRank(), true);
    reduced[0] = reduced[1] = false;
    checkChannels(rewriter, op, x, {adaptor.getScale(), adaptor.getB()});
    Statistics statistics(rewriter, op.getLoc(), x, reduced,
                          getComputeType(type.getElementType()));
    Value mean = statistics.createMean();
    Value deviation = statistics.createInverseDeviation(
        statistics.createVariance(mean), op.getEpsilon().convertToFloat());
    AffineMap channels = getChannelMap(getContext(), type.getRank());
    Value result = statistics.mapAll({statistics.kept(mean),
                                      statistics.kept(deviation),
                                      {adaptor.getScale(), channels},
                                      {adaptor.getB(), channels}},
                                     type.getElementType(), normalize);
    rewriter.replaceOp(op, castToOnnxType(rewriter, op.getLoc(), result,
                                          op.getOutput().getType()));
    return success();
  }
};

/// The channels are split in two dimensions: group and channel of the group.
struct LowerGroupNormalization : OnnxLowering<onnx::GroupNormalizationOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::GroupNormalizationOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto type = cast<RankedTensorType>(adaptor.getX().getType());
    int64_t rank = type.getRank(), groups = op.getNumGroups();
    SmallVector<ReassociationIndices> split;
    for (int64_t dim = 0; dim < rank; ++dim)
      split.push_back(dim == 1  ? ReassociationIndices{1, 2}
                      : dim < 1 ? ReassociationIndices{dim}
                                : ReassociationIndices{dim + 1});
    Value x = splitDim(rewriter, loc, adaptor.getX(), 1, groups);
    Value scale = splitDim(rewriter, loc, adaptor.getScale(), 0, groups);
    Value bias = splitDim(rewriter, loc, adaptor.getBias(), 0, groups);

    SmallVector<bool> reduced(rank + 1, true);
    reduced[0] = reduced[1] = false;
    Type computeType =
        getWidest({type.getElementType(),
                   onnx::getElementTypeOf(getContext(), op.getStashType())});
    Statistics statistics(rewriter, loc, x, reduced, computeType);
    Value mean = statistics.createMean();
    Value deviation = statistics.createInverseDeviation(
        statistics.createVariance(mean), op.getEpsilon().convertToFloat());
    AffineMap channels = AffineMap::get(
        rank + 1, 0,
        {rewriter.getAffineDimExpr(1), rewriter.getAffineDimExpr(2)},
        getContext());
    Value result = statistics.mapAll({statistics.kept(mean),
                                      statistics.kept(deviation),
                                      {scale, channels},
                                      {bias, channels}},
                                     type.getElementType(), normalize);
    result =
        tensor::CollapseShapeOp::create(rewriter, loc, type, result, split);
    rewriter.replaceOp(
        op, castToOnnxType(rewriter, loc, result, op.getY().getType()));
    return success();
  }
};

//===--- Over trailing dimensions -----------------------------------------===//

/// Marks the dimensions from an axis on.
SmallVector<bool> markFrom(int64_t axis, int64_t rank) {
  SmallVector<bool> reduced(rank, false);
  for (int64_t dim = axis < 0 ? axis + rank : axis; dim < rank; ++dim)
    reduced[dim] = dim >= 0;
  return reduced;
}

/// Scale or shift of x's trailing dimensions.
GenericInput broadcastTo(OpBuilder &builder, Location loc, Value converted,
                         Value original, Value x,
                         ArrayRef<OpFoldResult> sizes) {
  BroadcastOperand operand =
      broadcastOperand(builder, loc, converted, *onnx::getShape(original),
                       *onnx::getShape(x), sizes);
  return {operand.tensor, operand.map};
}

struct LowerLayerNormalization : OnnxLowering<onnx::LayerNormalizationOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::LayerNormalizationOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value x = adaptor.getX();
    auto type = cast<RankedTensorType>(x.getType());
    Type stashType = onnx::getElementTypeOf(getContext(), op.getStashType());
    Statistics statistics(rewriter, loc, x,
                          markFrom(op.getAxis(), type.getRank()),
                          getWidest({type.getElementType(), stashType}));
    Value mean = statistics.createMean();
    Value deviation = statistics.createInverseDeviation(
        statistics.createVariance(mean), op.getEpsilon().convertToFloat());
    SmallVector<GenericInput> inputs{statistics.kept(mean),
                                     statistics.kept(deviation)};
    inputs.push_back(broadcastTo(rewriter, loc, adaptor.getScale(),
                                 op.getScale(), op.getX(),
                                 statistics.getSizes()));
    if (op.getB())
      inputs.push_back(broadcastTo(rewriter, loc, adaptor.getB(), op.getB(),
                                   op.getX(), statistics.getSizes()));
    SmallVector<Value> results{
        statistics.mapAll(inputs, type.getElementType(), normalize)};
    for (Value statistic : {mean, deviation}) {
      if (getElementTypeOrSelf(statistic) != stashType)
        statistic = statistics.mapKept(
            {statistic}, stashType,
            [](Scalars &, ValueRange args) { return args[0]; });
      results.push_back(statistics.expand(statistic));
    }
    for (auto [value, before] : llvm::zip_equal(results, op.getResults()))
      value = castToOnnxType(rewriter, loc, value, before.getType());
    rewriter.replaceOp(op, results);
    return success();
  }
};

struct LowerRMSNormalization : OnnxLowering<onnx::RMSNormalizationOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::RMSNormalizationOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value x = adaptor.getX();
    auto type = cast<RankedTensorType>(x.getType());
    Type stashType = onnx::getElementTypeOf(getContext(), op.getStashType());
    Statistics statistics(rewriter, loc, x,
                          markFrom(op.getAxis(), type.getRank()),
                          getWidest({type.getElementType(), stashType}));
    Value deviation = statistics.createInverseDeviation(
        statistics.createVariance(/*mean=*/Value()),
        op.getEpsilon().convertToFloat());
    GenericInput scale =
        broadcastTo(rewriter, loc, adaptor.getScale(), op.getScale(), op.getX(),
                    statistics.getSizes());
    Value result = statistics.mapAll(
        {statistics.kept(deviation), scale}, onnx::getElementType(op.getY()),
        [](Scalars &s, ValueRange args) {
          return s.mul(s.mul(args[0], args[1]), args[2]);
        });
    rewriter.replaceOp(
        op, castToOnnxType(rewriter, loc, result, op.getY().getType()));
    return success();
  }
};

//===--- Over any axes ----------------------------------------------------===//

struct LowerMeanVarianceNormalization
    : OnnxLowering<onnx::MeanVarianceNormalizationOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::MeanVarianceNormalizationOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Value x = adaptor.getX();
    auto type = cast<RankedTensorType>(x.getType());
    SmallVector<bool> reduced(type.getRank(), false);
    for (int64_t axis : op.getAxes()) {
      FailureOr<int64_t> index = onnx::normalizeAxis(axis, type.getRank());
      if (failed(index))
        return unsupported(op, "axis out of range");
      reduced[*index] = true;
    }
    Statistics statistics(rewriter, op.getLoc(), x, reduced,
                          getComputeType(type.getElementType()));
    Value mean = statistics.createMean();
    Value variance = statistics.createVariance(mean);
    // The standard defines this op with the constant outside of the root.
    Value result = statistics.mapAll(
        {statistics.kept(mean), statistics.kept(variance)},
        type.getElementType(), [](Scalars &s, ValueRange args) {
          Value deviation = s.add(s.sqrt(args[2]), s.like(args[2], 1e-9));
          return s.div(s.sub(args[0], args[1]), deviation);
        });
    rewriter.replaceOp(
        op, castToOnnxType(rewriter, op.getLoc(), result, op.getY().getType()));
    return success();
  }
};

} // namespace

void onnx_aot::populateOnnxToLinalgNormalizationPatterns(
    const LoweringContext &lowering, RewritePatternSet &patterns) {
  patterns.add<LowerBatchNormalization, LowerInstanceNormalization,
               LowerGroupNormalization, LowerLayerNormalization,
               LowerRMSNormalization, LowerMeanVarianceNormalization>(
      lowering, patterns.getContext());
}

//===- Normalization.cpp - gradients of normalizations and softmax --------===//

#include "RuleUtils.h"
#include "Rules.h"

using namespace mlir;
using namespace onnx_aot;
using namespace onnx_aot::onnx;

using Axes = SmallVector<int64_t>;

//===--- What is common ---------------------------------------------------===//

/// Axes from first to last - 1.
static Axes axesFrom(int64_t first, int64_t last) {
  return llvm::to_vector(llvm::seq<int64_t>(std::min(first, last), last));
}

static Value mean(Value x, ArrayRef<int64_t> axes, GradientBuilder &b) {
  return b.create<ReduceMeanOp>(x, b.integers(axes), /*keepdims=*/1, 0);
}

/// A tensor of one element per channel, to be broadcast to (n, c, spatial...).
static Value perChannel(Value tensor, int64_t rank, GradientBuilder &b) {
  return b.unsqueeze(tensor, axesFrom(1, rank - 1));
}

/// x - mean and 1 / sqrt(variance + epsilon).
struct Statistics {
  Value centered, inverse;
};
static Statistics computeStatistics(Value x, ArrayRef<int64_t> axes,
                                    double epsilon, GradientBuilder &b) {
  Value centered = b.sub(x, mean(x, axes, b));
  Value variance = mean(b.square(centered), axes, b);
  return {centered,
          b.create<ReciprocalOp>(b.create<SqrtOp>(b.add(variance, epsilon)))};
}

/// The gradient of x, where y = normal = (x - mean x) inverse, the latter being
/// made of x as well.
static Value gradNormalized(Value dy, Value normal, Value inverse,
                            ArrayRef<int64_t> axes, GradientBuilder &b) {
  Value along = b.mul(normal, mean(b.mul(dy, normal), axes, b));
  return b.mul(inverse, b.sub(b.sub(dy, mean(dy, axes, b)), along));
}

//===--- Along one axis ---------------------------------------------------===//

/// y = e^x / sum e^x
static LogicalResult gradSoftmax(SoftmaxOp op, GradientBuilder &b) {
  Value y = op.getY(), weighted = b.mul(b.getGradient(y), y);
  int64_t axis = op.getAxis();
  Value total = b.sum(weighted, {axis}, /*keepDims=*/true);
  b.accumulate(op.getX(), b.sub(weighted, b.mul(y, total)));
  return success();
}

/// y = x - log sum e^x
static LogicalResult gradLogSoftmax(LogSoftmaxOp op, GradientBuilder &b) {
  Value dy = b.getGradient(op.getY());
  int64_t axis = op.getAxis();
  Value total = b.sum(dy, {axis}, /*keepDims=*/true);
  b.accumulate(op.getX(), b.sub(dy, b.mul(b.create<ExpOp>(op.getY()), total)));
  return success();
}

/// y = x / norm(x), 0 where that is 0
static LogicalResult gradLpNormalization(LpNormalizationOp op,
                                         GradientBuilder &b) {
  Value x = op.getX(), y = op.getY(), dy = b.getGradient(y);
  int64_t axis = op.getAxis();
  Value axes = b.integers({axis}), norm, slope;
  if (op.getP() == 1) {
    norm = b.create<ReduceL1Op>(x, axes, 1, 0);
    slope = createSign(b, x);
  } else {
    norm = b.create<ReduceL2Op>(x, axes, 1, 0);
    slope = y;
  }
  Value isZero = b.create<EqualOp>(norm, b.scalar(0.0, norm));
  Value total = b.sum(b.mul(dy, y), {axis}, /*keepDims=*/true);
  Value safe = b.where(isZero, b.scalar(1.0, norm), norm);
  Value dx = b.div(b.sub(dy, b.mul(slope, total)), safe);
  b.accumulate(x, b.where(isZero, b.scalar(0.0, norm), dx));
  return success();
}

/// y = (x - mean) / (sqrt(variance) + 1e-9)
static LogicalResult
gradMeanVarianceNormalization(MeanVarianceNormalizationOp op,
                              GradientBuilder &b) {
  ArrayRef<int64_t> axes = op.getAxes();
  Value x = op.getX(), dy = b.getGradient(op.getY());
  Value centered = b.sub(x, mean(x, axes, b));
  Value deviation = b.create<SqrtOp>(mean(b.square(centered), axes, b));
  Value shifted = b.add(deviation, 1e-9);
  // d deviation = mean(centered dx) / deviation, nothing where all are equal
  Value product = mean(b.mul(dy, centered), axes, b);
  Value isZero = b.create<EqualOp>(deviation, b.scalar(0.0, deviation));
  Value safe = b.where(isZero, b.scalar(1.0, deviation), deviation);
  Value along = b.mul(centered, b.div(product, b.mul(b.square(shifted), safe)));
  Value direct = b.div(b.sub(dy, mean(dy, axes, b)), shifted);
  b.accumulate(x, b.sub(direct, along));
  return success();
}

/// y = x / s^beta, s = bias + alpha / size sum x^2 over near channels. The sums
/// are convolutions with ones, over (n, 1, c, elements).
static LogicalResult gradLrn(LRNOp op, GradientBuilder &b) {
  Value x = op.getX(), dy = b.getGradient(op.getY());
  OpBuilder &builder = b.getBuilder();
  int64_t size = op.getSize(), before = (size - 1) / 2, after = size / 2;
  double beta = op.getBeta().convertToFloat(),
         factor = op.getAlpha().convertToFloat() / size;
  Value elements = b.create<ReduceProdOp>(getSizes(b, x, 2), Value(), 1, 0);
  Value planes =
      b.concat({b.sizeOf(x, 0), b.integers({1}), b.sizeOf(x, 1), elements});
  Value ones = createFilled(b, b.integers({1, 1, size, 1}), 1.0, x);
  auto sumNear = [&](Value tensor, int64_t first, int64_t last) {
    Value sums = b.create<ConvOp>(
        b.reshape(tensor, planes), ones, Value(), StringAttr(),
        DenseI64ArrayAttr(), IntegerAttr(), DenseI64ArrayAttr(),
        builder.getDenseI64ArrayAttr({first, 0, last, 0}), DenseI64ArrayAttr(),
        UnitAttr());
    return b.reshapeLike(sums, tensor);
  };
  Value s = b.add(b.mul(sumNear(b.square(x), before, after), factor),
                  op.getBias().convertToFloat());
  Value scaled = b.mul(dy, b.create<PowOp>(s, b.scalar(-beta, s)));
  Value near = sumNear(b.div(b.mul(scaled, x), s), after, before);
  b.accumulate(x, b.sub(scaled, b.mul(b.mul(x, near), 2 * beta * factor)));
  return success();
}

//===--- Over channels ----------------------------------------------------===//

/// Inference: an affine map of x for each channel.
static LogicalResult gradFrozenBatchNorm(BatchNormalizationOp op, Value dy,
                                         GradientBuilder &b) {
  int64_t rank = b.getRank(op.getX());
  Axes others = axesFrom(2, rank);
  others.insert(others.begin(), 0);
  double epsilon = op.getEpsilon().convertToFloat();
  auto channel = [&](Value x) {
    return perChannel(b.castLike(x, dy), rank, b);
  };
  Value inverse = b.create<ReciprocalOp>(
      b.create<SqrtOp>(b.add(channel(op.getInputVar()), epsilon)));
  Value factor = b.mul(channel(op.getScale()), inverse);
  auto total = [&](Value x) { return b.sum(x, others, /*keepDims=*/false); };
  b.accumulate(op.getX(), b.mul(dy, factor));
  b.accumulate(op.getB(), total(dy));
  if (b.isActive(op.getInputMean()))
    b.accumulate(op.getInputMean(), b.neg(total(b.mul(dy, factor))));
  if (!b.isActive(op.getScale()) && !b.isActive(op.getInputVar()))
    return success();
  Value normal = b.mul(b.sub(op.getX(), channel(op.getInputMean())), inverse);
  Value product = b.mul(dy, normal);
  b.accumulate(op.getScale(), total(product));
  if (b.isActive(op.getInputVar()))
    b.accumulate(op.getInputVar(),
                 b.mul(total(b.mul(product, b.mul(factor, inverse))), -0.5));
  return success();
}

/// y = scale (x - mean) / sqrt(var + epsilon) + b; running = m input + (1-m)
/// batch
static LogicalResult gradBatchNormalization(BatchNormalizationOp op,
                                            GradientBuilder &b) {
  Value x = op.getX(), dy = b.getGradientOrZeros(op.getY());
  Value dMean = b.getGradient(op.getRunningMean()),
        dVariance = b.getGradient(op.getRunningVar());
  int64_t rank = b.getRank(x);
  double momentum =
      op.getTrainingMode() ? op.getMomentum().convertToFloat() : 1;
  if (dMean)
    b.accumulate(op.getInputMean(), b.mul(dMean, momentum));
  if (dVariance)
    b.accumulate(op.getInputVar(), b.mul(dVariance, momentum));
  if (!op.getTrainingMode())
    return gradFrozenBatchNorm(op, dy, b);

  Axes others = axesFrom(2, rank);
  others.insert(others.begin(), 0);
  auto [centered, inverse] =
      computeStatistics(x, others, op.getEpsilon().convertToFloat(), b);
  Value normal = b.mul(centered, inverse);
  b.accumulate(op.getB(), b.sum(dy, others, /*keepDims=*/false));
  b.accumulate(op.getScale(),
               b.sum(b.mul(dy, normal), others, /*keepDims=*/false));
  Value scale = perChannel(b.castLike(op.getScale(), x), rank, b);
  // The scale is one for all that the means are taken over; without it these
  // are the sums above, divided.
  b.accumulate(x, b.mul(scale, gradNormalized(dy, normal, inverse, others, b)));
  if (!dMean && !dVariance)
    return success();
  // The mean of one element's change is 1 / count: means of ones spread it.
  Value share = mean(b.onesLike(x), others, b);
  Value count = b.sum(b.onesLike(x), others, /*keepDims=*/true);
  share = b.mul(b.div(share, count), 1 - momentum);
  if (dMean)
    b.accumulateBroadcast(
        x, b.expandLike(b.mul(perChannel(b.castLike(dMean, x), rank, b), share),
                        x));
  if (dVariance)
    b.accumulate(
        x, b.mul(b.mul(centered, 2.0),
                 b.mul(perChannel(b.castLike(dVariance, x), rank, b), share)));
  return success();
}

/// y = scale (x - mean) / sqrt(var + epsilon) + b for each instance and channel
static LogicalResult gradInstanceNormalization(InstanceNormalizationOp op,
                                               GradientBuilder &b) {
  Value x = op.getInput(), dy = b.getGradient(op.getOutput());
  int64_t rank = b.getRank(x);
  Axes spatial = axesFrom(2, rank), others = spatial;
  others.insert(others.begin(), 0);
  auto [centered, inverse] =
      computeStatistics(x, spatial, op.getEpsilon().convertToFloat(), b);
  Value normal = b.mul(centered, inverse);
  b.accumulate(op.getB(), b.sum(dy, others, /*keepDims=*/false));
  b.accumulate(op.getScale(),
               b.sum(b.mul(dy, normal), others, /*keepDims=*/false));
  Value scaled = b.mul(dy, perChannel(op.getScale(), rank, b));
  b.accumulate(x, gradNormalized(scaled, normal, inverse, spatial, b));
  return success();
}

/// The same for groups of channels: x is seen as (n, groups, elements).
static LogicalResult gradGroupNormalization(GroupNormalizationOp op,
                                            GradientBuilder &b) {
  Value x = op.getX(), dy = b.getGradient(op.getY());
  int64_t rank = b.getRank(x), groups = op.getNumGroups();
  Axes others = axesFrom(2, rank);
  others.insert(others.begin(), 0);
  // An empty batch leaves nothing to derive a size from.
  Value elements =
      b.div(b.create<ReduceProdOp>(b.create<ShapeOp>(x, IntegerAttr(), 1),
                                   Value(), 1, 0),
            b.integer(groups));
  Value grouped = b.concat({b.sizeOf(x, 0), b.integers({groups}), elements});
  auto [centered, inverse] = computeStatistics(
      b.reshape(x, grouped), {2}, op.getEpsilon().convertToFloat(), b);
  Value normal = b.mul(centered, inverse);
  b.accumulate(op.getBias(), b.sum(dy, others, /*keepDims=*/false));
  b.accumulate(op.getScale(), b.sum(b.mul(dy, b.reshapeLike(normal, x)), others,
                                    /*keepDims=*/false));
  Value scaled = b.mul(dy, perChannel(b.castLike(op.getScale(), x), rank, b));
  Value dx =
      gradNormalized(b.reshape(scaled, grouped), normal, inverse, {2}, b);
  b.accumulate(x, b.reshapeLike(dx, x));
  return success();
}

//===--- Over trailing dimensions -----------------------------------------===//

/// y = scale (x - mean) inverse + b, and the statistics themselves
static LogicalResult gradLayerNormalization(LayerNormalizationOp op,
                                            GradientBuilder &b) {
  Value x = op.getX(), dy = b.getGradientOrZeros(op.getY());
  int64_t rank = b.getRank(x), first = op.getAxis();
  Axes axes = axesFrom(first < 0 ? first + rank : first, rank);
  Value centered, inverse = op.getInvStdDev();
  if (getElementType(x).isF64() && !getElementType(inverse).isF64()) {
    auto exact =
        computeStatistics(x, axes, op.getEpsilon().convertToFloat(), b);
    centered = exact.centered;
    inverse = exact.inverse;
  } else {
    centered = b.sub(x, b.castLike(op.getMean(), x));
    inverse = b.castLike(inverse, x);
  }
  Value normal = b.mul(centered, inverse);
  if (op.getB())
    b.accumulateBroadcast(op.getB(), dy);
  if (b.isActive(op.getScale()))
    b.accumulateBroadcast(op.getScale(), b.mul(dy, normal));
  Value dx = gradNormalized(b.mul(dy, op.getScale()), normal, inverse, axes, b);
  Value dMean = b.getGradient(op.getMean()),
        dInverse = b.getGradient(op.getInvStdDev());
  if (dMean || dInverse) {
    // mean = sum x / count; d inverse = -inverse^2 normal / count
    Value each = b.scalar(0.0, x);
    if (dMean)
      each = b.add(each, b.castLike(dMean, x));
    if (dInverse)
      each = b.sub(each, b.mul(b.castLike(dInverse, x),
                               b.mul(b.square(inverse), normal)));
    Value count = b.sum(b.onesLike(x), axes, /*keepDims=*/true);
    dx = b.add(dx, b.div(each, count));
  }
  b.accumulate(x, dx);
  return success();
}

/// y = scale x / sqrt(mean(x^2) + epsilon)
static LogicalResult gradRMSNormalization(RMSNormalizationOp op,
                                          GradientBuilder &b) {
  Value x = op.getX(), dy = b.castLike(b.getGradient(op.getY()), x);
  int64_t rank = b.getRank(x), first = op.getAxis();
  Axes axes = axesFrom(first < 0 ? first + rank : first, rank);
  double epsilon = op.getEpsilon().convertToFloat();
  Value inverse = b.create<ReciprocalOp>(
      b.create<SqrtOp>(b.add(mean(b.square(x), axes, b), epsilon)));
  Value normal = b.mul(x, inverse);
  b.accumulateBroadcast(op.getScale(), b.mul(dy, normal));
  Value scaled = b.mul(dy, b.castLike(op.getScale(), x));
  Value along = b.mul(normal, mean(b.mul(scaled, normal), axes, b));
  b.accumulate(x, b.mul(inverse, b.sub(scaled, along)));
  return success();
}

void onnx_aot::populateNormalizationGradientRules(MLIRContext *context) {
  attachRule<SoftmaxOp, gradSoftmax>(context);
  attachRule<LogSoftmaxOp, gradLogSoftmax>(context);
  attachRule<LpNormalizationOp, gradLpNormalization>(context);
  attachRule<MeanVarianceNormalizationOp, gradMeanVarianceNormalization>(
      context);
  attachRule<LRNOp, gradLrn>(context);
  attachRule<HardmaxOp, stopGradient<HardmaxOp>>(context);
  attachRule<BatchNormalizationOp, gradBatchNormalization>(context);
  attachRule<InstanceNormalizationOp, gradInstanceNormalization>(context);
  attachRule<GroupNormalizationOp, gradGroupNormalization>(context);
  attachRule<LayerNormalizationOp, gradLayerNormalization>(context);
  attachRule<RMSNormalizationOp, gradRMSNormalization>(context);
}

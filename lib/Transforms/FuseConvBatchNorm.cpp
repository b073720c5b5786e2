//===- FuseConvBatchNorm.cpp - per-channel scales into weights ------------===//
//
// What follows a convolution or matrix product and multiplies or shifts each
// output channel by a constant goes into its weights and bias. Computed in
// double and rounded once.
//
//===----------------------------------------------------------------------===//

#include "ConstantData.h"
#include "TransformUtils.h"
#include "onnx-aot/Transforms/Passes.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#include <cmath>

using namespace mlir;
using namespace onnx_aot;
using namespace onnx_aot::onnx;

namespace onnx_aot {
#define GEN_PASS_DEF_FUSECONVBATCHNORM
#include "onnx-aot/Transforms/Passes.h.inc"
} // namespace onnx_aot

//===--- What follows the product -----------------------------------------===//

namespace {
/// y[n, m, ...] = x[n, m, ...] * factor[m] + offset[m].
struct ChannelScale {
  SmallVector<double> factor, offset;
};
} // namespace

static bool isPlainFloat(Type type) {
  return type.isF16() || type.isBF16() || type.isF32() || type.isF64();
}

/// `channels` numbers of a float constant; nothing for any other value.
static std::optional<SmallVector<double>> getNumbers(Value value,
                                                     int64_t channels) {
  std::optional<ConstantData> data = ConstantData::get(value);
  if (!data || !isPlainFloat(data->getElementType()) ||
      (data->size() != channels && data->size() != 1))
    return std::nullopt;
  SmallVector<double> numbers;
  for (int64_t channel = 0; channel < channels; ++channel)
    numbers.push_back(data->getFloat(data->size() == 1 ? 0 : channel));
  return numbers;
}

/// A constant that is the same along all dimensions but the second of `rank`.
static std::optional<SmallVector<double>>
getPerChannel(Value value, int64_t rank, int64_t channels) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || !type.hasStaticShape() || type.getRank() > rank)
    return std::nullopt;
  for (auto [index, size] : llvm::enumerate(type.getShape()))
    if (size != 1 && rank - type.getRank() + static_cast<int64_t>(index) != 1)
      return std::nullopt;
  return getNumbers(value, channels);
}

static std::optional<ChannelScale> getBatchNorm(BatchNormalizationOp op,
                                                int64_t channels) {
  if (op.getTrainingMode() || !op.getRunningMean().use_empty() ||
      !op.getRunningVar().use_empty())
    return std::nullopt;
  auto scale = getNumbers(op.getScale(), channels);
  auto shift = getNumbers(op.getB(), channels);
  auto mean = getNumbers(op.getInputMean(), channels);
  auto variance = getNumbers(op.getInputVar(), channels);
  if (!scale || !shift || !mean || !variance)
    return std::nullopt;
  double epsilon = op.getEpsilon().convertToDouble();
  ChannelScale result;
  for (int64_t channel = 0; channel < channels; ++channel) {
    double factor =
        (*scale)[channel] / std::sqrt((*variance)[channel] + epsilon);
    result.factor.push_back(factor);
    result.offset.push_back((*shift)[channel] - (*mean)[channel] * factor);
  }
  return result;
}

/// The op read as a scale of its operand `product`, which has this rank.
static std::optional<ChannelScale> getScale(Operation *op, Value product,
                                            int64_t rank, int64_t channels) {
  if (auto norm = dyn_cast<BatchNormalizationOp>(op))
    return norm.getX() == product ? getBatchNorm(norm, channels) : std::nullopt;
  if (!isa<AddOp, SubOp, MulOp, DivOp>(op) ||
      !haveSameType(product, op->getResult(0)))
    return std::nullopt;
  bool isFirst = op->getOperand(0) == product;
  // c - x and c / x are no scales of x.
  if (!isFirst && isa<SubOp, DivOp>(op))
    return std::nullopt;
  auto numbers = getPerChannel(op->getOperand(isFirst ? 1 : 0), rank, channels);
  if (!numbers)
    return std::nullopt;
  ChannelScale result;
  for (double number : *numbers) {
    bool scales = isa<MulOp, DivOp>(op);
    result.factor.push_back(!scales ? 1 : isa<MulOp>(op) ? number : 1 / number);
    result.offset.push_back(scales ? 0 : isa<AddOp>(op) ? number : -number);
  }
  return result;
}

static bool isFinite(const ChannelScale &scale) {
  auto finite = [](double number) { return std::isfinite(number); };
  return llvm::all_of(scale.factor, finite) &&
         llvm::all_of(scale.offset, finite);
}

//===--- The product ------------------------------------------------------===//

namespace {
/// The parts of a convolution or matrix product that a scale changes.
struct Product {
  Value weight;
  Value bias;
  int64_t rank = 0;
  int64_t channels = 0;
  /// Output channel of a weight: (index / inner) % period, plus `period` for
  /// each group that the weight's first dimension belongs to.
  int64_t inner = 1, period = 1, groupSize = 0;
  /// Multiply what the bias adds.
  double biasFactor = 1;

  int64_t getChannel(int64_t index) const {
    int64_t channel = index / inner % period;
    return groupSize ? channel + index / groupSize * period : channel;
  }
};
} // namespace

static std::optional<Product> getProduct(Operation *op) {
  Product product;
  auto conv = dyn_cast_or_null<ConvOp>(op);
  auto transposed = dyn_cast_or_null<ConvTransposeOp>(op);
  auto gemm = dyn_cast_or_null<GemmOp>(op);
  auto matmul = dyn_cast_or_null<MatMulOp>(op);
  if (conv) {
    product.weight = conv.getW();
    product.bias = conv.getB();
  } else if (transposed) {
    product.weight = transposed.getW();
    product.bias = transposed.getB();
  } else if (gemm) {
    product.weight = gemm.getB();
    product.bias = gemm.getC();
    product.biasFactor = gemm.getBeta().convertToDouble();
  } else if (matmul) {
    product.weight = matmul.getB();
  } else {
    return std::nullopt;
  }
  std::optional<int64_t> rank = getRank(op->getResult(0));
  auto type = dyn_cast<RankedTensorType>(product.weight.getType());
  if (!rank || !type || !type.hasStaticShape() || type.getRank() != *rank ||
      !isPlainFloat(type.getElementType()) || type.getNumElements() == 0)
    return std::nullopt;
  product.rank = *rank;
  ArrayRef<int64_t> shape = type.getShape();
  if (conv) {
    if (conv.getChannelsLast())
      return std::nullopt;
    product.channels = product.period = shape[0];
    product.inner = type.getNumElements() / shape[0];
  } else if (transposed) {
    int64_t group = transposed.getGroup();
    if (group < 1 || shape[0] % group != 0)
      return std::nullopt;
    product.period = shape[1];
    product.channels = shape[1] * group;
    product.inner = type.getNumElements() / (shape[0] * shape[1]);
    product.groupSize = type.getNumElements() / group;
  } else {
    if (*rank != 2)
      return std::nullopt;
    bool swapped = gemm && gemm.getTransB();
    product.channels = product.period = shape[swapped ? 0 : 1];
    product.inner = swapped ? shape[1] : 1;
  }
  return product;
}

/// weight[i] * factor[channel of i].
static Value scaleWeight(OpBuilder &builder, Location loc,
                         const Product &product, const ConstantData &weight,
                         const ChannelScale &scale) {
  if (llvm::all_of(scale.factor, [](double factor) { return factor == 1; }))
    return product.weight;
  ConstantBuilder result(weight.getType());
  for (int64_t index = 0, size = result.size(); index < size; ++index)
    result.setFloat(index, weight.getFloat(index) *
                               scale.factor[product.getChannel(index)]);
  return createConstant(builder, loc, result.finish());
}

/// bias * factor + offset as one number per channel; the product's own factor
/// for the bias (Gemm's beta) is divided out again.
static Value scaleBias(OpBuilder &builder, Location loc, const Product &product,
                       Type elementType, ArrayRef<double> bias,
                       const ChannelScale &scale) {
  ConstantBuilder result(
      RankedTensorType::get({product.channels}, elementType));
  for (int64_t channel = 0; channel < product.channels; ++channel)
    result.setFloat(channel, bias[channel] * scale.factor[channel] +
                                 scale.offset[channel] / product.biasFactor);
  return createConstant(builder, loc, result.finish());
}

//===--- The pass ---------------------------------------------------------===//

namespace {

// Pattern: BatchNormalization(Conv(x, w, b)) -> Conv(x, w', b'); the same for
// Mul, Div, Add and Sub by per-channel constants, and behind Gemm and MatMul of
// matrices
struct FuseScale : RewritePattern {
  FuseScale(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/1, context) {}

  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    if (!isa<BatchNormalizationOp, AddOp, SubOp, MulOp, DivOp>(op))
      return failure();
    for (Value operand : op->getOperands().take_front(2))
      if (succeeded(fuse(op, operand, rewriter)))
        return success();
    return failure();
  }

private:
  static LogicalResult fuse(Operation *op, Value value,
                            PatternRewriter &rewriter) {
    Operation *producer = value.getDefiningOp();
    // With another user the product would be computed twice.
    if (!producer || !value.hasOneUse())
      return failure();
    std::optional<Product> product = getProduct(producer);
    if (!product || product->biasFactor == 0)
      return failure();
    // A MatMul has no bias; making it a Gemm for an Add alone gains nothing.
    if (isa<MatMulOp>(producer) && isa<AddOp, SubOp>(op))
      return failure();
    std::optional<ConstantData> weight = ConstantData::get(product->weight);
    std::optional<SmallVector<double>> bias =
        SmallVector<double>(product->channels, 0.0);
    if (product->bias)
      bias = getPerChannelBias(*product);
    std::optional<ChannelScale> scale =
        getScale(op, value, product->rank, product->channels);
    if (!weight || !bias || !scale || !isFinite(*scale))
      return failure();

    Location loc = rewriter.getFusedLoc({producer->getLoc(), op->getLoc()});
    rewriter.setInsertionPoint(producer);
    Value newWeight = scaleWeight(rewriter, loc, *product, *weight, *scale);
    Value newBias;
    if (product->bias ||
        llvm::any_of(scale->offset, [](double offset) { return offset != 0; }))
      newBias = scaleBias(rewriter, loc, *product, weight->getElementType(),
                          *bias, *scale);
    replace(producer, op, newWeight, newBias, loc, rewriter);
    return success();
  }

  /// A convolution's bias is one number per channel, a Gemm's c may also be a
  /// row or a scalar.
  static std::optional<SmallVector<double>>
  getPerChannelBias(const Product &product) {
    auto type = dyn_cast<RankedTensorType>(product.bias.getType());
    if (!type || !type.hasStaticShape() || type.getRank() > 2 ||
        (type.getRank() == 2 && type.getDimSize(0) != 1))
      return std::nullopt;
    return getNumbers(product.bias, product.channels);
  }

  static void replace(Operation *producer, Operation *op, Value weight,
                      Value bias, Location loc, PatternRewriter &rewriter) {
    Operation *fused;
    if (isa<MatMulOp>(producer) && bias) {
      fused = createInferred<GemmOp>(
          rewriter, loc, producer->getOperand(0), weight, bias,
          /*alpha=*/APFloat(1.0f), /*beta=*/APFloat(1.0f), /*trans_a=*/0,
          /*trans_b=*/0);
    } else {
      fused = rewriter.clone(*producer);
      fused->setLoc(loc);
      SmallVector<Value> operands = {producer->getOperand(0), weight};
      if (bias)
        operands.push_back(bias);
      fused->setOperands(operands);
    }
    rewriter.replaceAllUsesWith(op->getResult(0), fused->getResult(0));
    rewriter.eraseOp(op);
    rewriter.eraseOp(producer);
  }
};

// Pattern: BatchNormalization(x) of constants -> Add(Mul(x, factor), offset)
struct DecomposeBatchNorm : OpRewritePattern<BatchNormalizationOp> {
  // Only where the rewrite above found no weights.
  DecomposeBatchNorm(MLIRContext *context)
      : OpRewritePattern(context, /*benefit=*/0) {}
  LogicalResult matchAndRewrite(BatchNormalizationOp op,
                                PatternRewriter &rewriter) const override {
    auto type = dyn_cast<RankedTensorType>(op.getX().getType());
    if (!type || type.getRank() < 2 || type.isDynamicDim(1))
      return failure();
    int64_t channels = type.getDimSize(1);
    std::optional<ChannelScale> scale = getBatchNorm(op, channels);
    if (!scale || !isFinite(*scale))
      return failure();
    SmallVector<int64_t> shape(type.getRank() - 1, 1);
    shape[0] = channels;
    Location loc = op.getLoc();
    auto create = [&](ArrayRef<double> numbers) {
      ConstantBuilder builder(
          RankedTensorType::get(shape, type.getElementType()));
      for (auto [index, number] : llvm::enumerate(numbers))
        builder.setFloat(index, number);
      return createConstant(rewriter, loc, builder.finish());
    };
    Value scaled =
        createInferred<MulOp>(rewriter, loc, op.getX(), create(scale->factor));
    Value shifted =
        createInferred<AddOp>(rewriter, loc, scaled, create(scale->offset));
    rewriter.replaceAllUsesWith(op.getY(), shifted);
    rewriter.eraseOp(op);
    return success();
  }
};

// Pattern: BatchNormalization(x) {training_mode} -> its formula, written as its
// gradient writes it, which then shares all statistics
struct ExpandBatchNorm : OpRewritePattern<BatchNormalizationOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(BatchNormalizationOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.getTrainingMode() || !hasOneShapeAndType(op))
      return failure();
    Location loc = op.getLoc();
    Value x = op.getX();
    int64_t rank = *getRank(x);
    SmallVector<int64_t> others{0}, spatial;
    for (int64_t axis = 2; axis < rank; ++axis) {
      others.push_back(axis);
      spatial.push_back(axis - 1);
    }
    auto add = [&](Value a, Value b) -> Value {
      return createInferred<AddOp>(rewriter, loc, a, b);
    };
    auto mul = [&](Value a, Value b) -> Value {
      return createInferred<MulOp>(rewriter, loc, a, b);
    };
    auto mean = [&](Value value) -> Value {
      return createInferred<ReduceMeanOp>(
          rewriter, loc, value, createIntegers(rewriter, loc, others),
          /*keepdims=*/1, /*noop_with_empty_axes=*/0);
    };
    auto scalar = [&](double value) {
      return createScalar(rewriter, loc, value, getElementType(x));
    };
    auto channel = [&](Value value) -> Value {
      return createInferred<UnsqueezeOp>(
          rewriter, loc, value, createIntegers(rewriter, loc, spatial));
    };
    double momentum = op.getMomentum().convertToFloat();
    auto blend = [&](Value running, Value batch) {
      Value kept = createInferred<SqueezeOp>(
          rewriter, loc, batch, createIntegers(rewriter, loc, others));
      return add(mul(running, scalar(momentum)),
                 mul(kept, scalar(1 - momentum)));
    };
    Value average = mean(x);
    Value centered = createInferred<SubOp>(rewriter, loc, x, average);
    Value variance = mean(mul(centered, centered));
    Value shifted = add(variance, scalar(op.getEpsilon().convertToFloat()));
    Value inverse = createInferred<ReciprocalOp>(
        rewriter, loc, createInferred<SqrtOp>(rewriter, loc, shifted));
    Value scaled = mul(mul(centered, inverse), channel(op.getScale()));
    Value y = add(scaled, channel(op.getB()));
    rewriter.replaceOp(op, {y, blend(op.getInputMean(), average),
                            blend(op.getInputVar(), variance)});
    return success();
  }

private:
  /// Parameters that certainly have one element for each channel, and a type in
  /// which everything can be computed.
  static bool hasOneShapeAndType(BatchNormalizationOp op) {
    auto type = dyn_cast<RankedTensorType>(op.getX().getType());
    if (!type || type.getRank() < 3 || type.isDynamicDim(1) ||
        !(type.getElementType().isF32() || type.getElementType().isF64()))
      return false;
    return llvm::all_of(op->getOperands().drop_front(), [&](Value parameter) {
      auto own = dyn_cast<RankedTensorType>(parameter.getType());
      return own && own.getElementType() == type.getElementType() &&
             own.getShape() == ArrayRef(type.getDimSize(1));
    });
  }
};

struct FuseConvBatchNorm
    : onnx_aot::impl::FuseConvBatchNormBase<FuseConvBatchNorm> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<FuseScale, DecomposeBatchNorm, ExpandBatchNorm>(&getContext());
    (void)applyPatternsGreedily(getOperation(), std::move(patterns));
    if (failed(inferAllTypes(getOperation())))
      signalPassFailure();
  }
};
} // namespace

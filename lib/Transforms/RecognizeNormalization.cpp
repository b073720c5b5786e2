//===- RecognizeNormalization.cpp - normalizations as exporters write them ===//

#include "ConstantData.h"
#include "TransformUtils.h"
#include "onnx-aot/Transforms/Passes.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace onnx_aot;
using namespace onnx_aot::onnx;

namespace onnx_aot {
#define GEN_PASS_DEF_RECOGNIZENORMALIZATION
#include "onnx-aot/Transforms/Passes.h.inc"
} // namespace onnx_aot

/// The first of the trailing dimensions that a reduction with kept dimensions
/// reduces; nothing for any other op or axes.
template <typename OpTy>
static std::optional<int64_t> getTrailingAxis(OpTy op) {
  std::optional<int64_t> rank = getRank(op.getData());
  auto axes = op.getAxes() ? getConstantIntegers(op.getAxes()) : std::nullopt;
  if (!rank || !axes || axes->empty() || !op.getKeepdims())
    return std::nullopt;
  for (int64_t &axis : *axes) {
    FailureOr<int64_t> normalized = normalizeAxis(axis, *rank);
    if (failed(normalized))
      return std::nullopt;
    axis = *normalized;
  }
  llvm::sort(*axes);
  for (auto [index, axis] : llvm::enumerate(llvm::reverse(*axes)))
    if (axis != *rank - 1 - static_cast<int64_t>(index))
      return std::nullopt;
  return axes->front();
}

/// x, where the value is x * x.
static Value getSquareRoot(Value value) {
  auto mul = value.getDefiningOp<MulOp>();
  return mul && mul.getA() == mul.getB() ? mul.getA() : Value();
}

namespace {
/// mean(x * x) + epsilon over the dimensions from axis on.
struct MeanSquare {
  Value x;
  int64_t axis;
  double epsilon;
};
} // namespace

static std::optional<MeanSquare> matchMeanSquare(Value value) {
  auto add = value.getDefiningOp<AddOp>();
  if (!add)
    return std::nullopt;
  for (unsigned side : {0, 1}) {
    std::optional<double> epsilon = getSplatNumber(add->getOperand(side));
    auto mean = add->getOperand(1 - side).getDefiningOp<ReduceMeanOp>();
    if (!epsilon || !mean)
      continue;
    Value x = getSquareRoot(mean.getData());
    std::optional<int64_t> axis = getTrailingAxis(mean);
    if (x && axis)
      return MeanSquare{x, *axis, *epsilon};
  }
  return std::nullopt;
}

/// d / sqrt(mean(d * d) + epsilon), also as a product with the reciprocal.
static std::optional<MeanSquare> matchNormalized(Operation *op) {
  Value x, root;
  if (auto div = dyn_cast<DivOp>(op)) {
    x = div.getA();
    root = div.getB();
  } else if (auto mul = dyn_cast<MulOp>(op)) {
    for (unsigned side : {0, 1}) {
      Operation *inverse = mul->getOperand(side).getDefiningOp();
      if (auto reciprocal = dyn_cast_or_null<ReciprocalOp>(inverse))
        root = reciprocal.getX();
      else if (auto div = dyn_cast_or_null<DivOp>(inverse);
               div && getSplatNumber(div.getA()) == 1.0)
        root = div.getB();
      if (root) {
        x = mul->getOperand(1 - side);
        break;
      }
    }
  }
  auto sqrt = root ? root.getDefiningOp<SqrtOp>() : SqrtOp();
  auto square = sqrt ? matchMeanSquare(sqrt.getX()) : std::nullopt;
  return square && square->x == x ? square : std::nullopt;
}

/// x, where the value is x - mean(x) over the dimensions from axis on.
static Value matchCentred(Value value, int64_t axis) {
  auto sub = value.getDefiningOp<SubOp>();
  auto mean = sub ? sub.getB().getDefiningOp<ReduceMeanOp>() : ReduceMeanOp();
  if (!mean || mean.getData() != sub.getA() || getTrailingAxis(mean) != axis)
    return {};
  return sub.getA();
}

/// A constant 1 (or 0) of the sizes from axis on; null where they are not
/// known.
static Value createFilled(OpBuilder &builder, Location loc, Value x,
                          int64_t axis, double number) {
  auto type = cast<RankedTensorType>(x.getType());
  ArrayRef<int64_t> shape = type.getShape().drop_front(axis);
  auto filled = RankedTensorType::get(shape, type.getElementType());
  ConstantBuilder one(RankedTensorType::get({}, type.getElementType()));
  one.setFloat(0, number);
  return createConstant(builder, loc, makeSplat(filled, one[0]));
}

/// Whether the value has exactly the sizes of x from axis on.
static bool hasNormalizedShape(Value value, Value x, int64_t axis) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  auto whole = cast<RankedTensorType>(x.getType());
  return type && type.getElementType() == whole.getElementType() &&
         type.getShape() == whole.getShape().drop_front(axis);
}

namespace {

// Pattern: d / Sqrt(ReduceMean(d * d) + epsilon), d = x - ReduceMean(x)
//          -> LayerNormalization(x, 1); without the centring ->
//          RMSNormalization
struct RecognizeNormalized : RewritePattern {
  RecognizeNormalized(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/1, context) {}
  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    if (!isa<DivOp, MulOp>(op))
      return failure();
    std::optional<MeanSquare> square = matchNormalized(op);
    auto type = square ? dyn_cast<RankedTensorType>(square->x.getType())
                       : RankedTensorType();
    // Smaller types accumulate in float there, but not here.
    if (!type || !type.getElementType().isF32() ||
        ShapedType::isDynamicShape(type.getShape().drop_front(square->axis)))
      return failure();
    Location loc = op->getLoc();
    auto epsilon = APFloat(static_cast<float>(square->epsilon));
    Value centred = matchCentred(square->x, square->axis);
    Value x = centred ? centred : square->x;
    Value scale = createFilled(rewriter, loc, x, square->axis, 1);
    if (!centred) {
      rewriter.replaceOp(op, RMSNormalizationOp::create(
                                 rewriter, loc, type, x, scale, square->axis,
                                 epsilon, /*stash_type=*/1));
      return success();
    }
    Shape reduced = *getShape(x);
    for (Dim &dim : MutableArrayRef<Dim>(reduced).drop_front(square->axis))
      dim = Dim::constant(getContext(), 1);
    Type statistics = getTensorType(reduced, type.getElementType());
    auto norm = LayerNormalizationOp::create(
        rewriter, loc, type, statistics, statistics, x, scale, /*b=*/Value(),
        square->axis, epsilon, /*stash_type=*/1);
    rewriter.replaceOp(op, norm.getY());
    return success();
  }
};

// Pattern: LayerNormalization(x, 1) * scale -> LayerNormalization(x, scale);
// the same for RMSNormalization
template <typename OpTy>
struct MergeScale : OpRewritePattern<MulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MulOp op,
                                PatternRewriter &rewriter) const override {
    for (unsigned side : {0, 1}) {
      auto norm = op->getOperand(side).template getDefiningOp<OpTy>();
      Value scale = op->getOperand(1 - side);
      if (!norm || !norm->getResult(0).hasOneUse() ||
          norm->getNumOperands() != 2 ||
          getSplatNumber(norm.getScale()) != 1.0 ||
          !hasNormalizedShape(
              scale, norm.getX(),
              *normalizeAxis(norm.getAxis(), *getRank(norm.getX()))))
        continue;
      rewriter.setInsertionPoint(op);
      Operation *merged = rewriter.clone(*norm);
      merged->setOperand(1, scale);
      rewriter.replaceOp(op, merged->getResult(0));
      return success();
    }
    return failure();
  }
};

// Pattern: LayerNormalization(x, scale) + b -> LayerNormalization(x, scale, b)
struct MergeBias : OpRewritePattern<AddOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AddOp op,
                                PatternRewriter &rewriter) const override {
    for (unsigned side : {0, 1}) {
      auto norm = op->getOperand(side).getDefiningOp<LayerNormalizationOp>();
      Value bias = op->getOperand(1 - side);
      if (!norm || !norm.getY().hasOneUse() || norm.getB() ||
          !hasNormalizedShape(
              bias, norm.getX(),
              *normalizeAxis(norm.getAxis(), *getRank(norm.getX()))))
        continue;
      rewriter.setInsertionPoint(op);
      auto merged = cast<LayerNormalizationOp>(rewriter.clone(*norm));
      merged.getBMutable().assign(bias);
      rewriter.replaceOp(op, merged.getY());
      return success();
    }
    return failure();
  }
};

// Pattern: e / ReduceSum(e), e = Exp(x - ReduceMax(x)), along one axis
//          -> Softmax(x)
struct RecognizeSoftmax : OpRewritePattern<DivOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(DivOp op,
                                PatternRewriter &rewriter) const override {
    auto exp = op.getA().getDefiningOp<ExpOp>();
    auto sum = op.getB().getDefiningOp<ReduceSumOp>();
    auto sub = exp ? exp.getX().getDefiningOp<SubOp>() : SubOp();
    auto max = sub ? sub.getB().getDefiningOp<ReduceMaxOp>() : ReduceMaxOp();
    if (!sum || !max || sum.getData() != op.getA() ||
        max.getData() != sub.getA() || !sum.getKeepdims() ||
        !max.getKeepdims() || !haveSameType(sub.getA(), op.getResult()))
      return failure();
    std::optional<int64_t> axis = getOnlyAxis(sum.getAxes(), sub.getA());
    if (!axis || axis != getOnlyAxis(max.getAxes(), sub.getA()))
      return failure();
    rewriter.replaceOp(op, createInferred<SoftmaxOp>(rewriter, op.getLoc(),
                                                     sub.getA(), *axis));
    return success();
  }

private:
  static std::optional<int64_t> getOnlyAxis(Value axes, Value data) {
    auto constant = axes ? getConstantIntegers(axes) : std::nullopt;
    std::optional<int64_t> rank = getRank(data);
    if (!constant || constant->size() != 1 || !rank)
      return std::nullopt;
    FailureOr<int64_t> axis = normalizeAxis(constant->front(), *rank);
    return failed(axis) ? std::nullopt : std::optional<int64_t>(*axis);
  }
};

struct RecognizeNormalization
    : onnx_aot::impl::RecognizeNormalizationBase<RecognizeNormalization> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<RecognizeNormalized, MergeScale<LayerNormalizationOp>,
                 MergeScale<RMSNormalizationOp>, MergeBias, RecognizeSoftmax>(
        &getContext());
    (void)applyPatternsGreedily(getOperation(), std::move(patterns));
    if (failed(inferAllTypes(getOperation())))
      signalPassFailure();
  }
};
} // namespace

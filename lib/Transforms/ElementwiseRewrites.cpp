//===- ElementwiseRewrites.cpp - pointwise ops that do nothing ------------===//

#include "ConstantData.h"
#include "Rewrites.h"

#include <cmath>

using namespace mlir;
using namespace onnx_aot;
using namespace onnx_aot::onnx;

//===--- Neutral elements -------------------------------------------------===//

/// Whether x + value is x for every x, -0.0 and NaN included.
static bool isNeutralForAdd(Value value) {
  std::optional<double> number = getSplatNumber(value);
  if (!number || *number != 0)
    return false;
  return !isa<FloatType>(getElementType(value)) || std::signbit(*number);
}

/// Whether x - value is x for every x: a positive zero.
static bool isNeutralForSub(Value value) {
  std::optional<double> number = getSplatNumber(value);
  return number && *number == 0 && !std::signbit(*number);
}

static bool isOne(Value value) {
  std::optional<double> number = getSplatNumber(value);
  return number && *number == 1;
}

namespace {

/// Replaces op(x, neutral) by x where the neutral operand does not enlarge it.
template <typename OpTy, bool (*IsNeutral)(Value), bool Commutes>
struct DropNeutral : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    for (unsigned side : {1, 0}) {
      if (side == 0 && !Commutes)
        continue;
      Value kept = op->getOperand(1 - side);
      if (!IsNeutral(op->getOperand(side)) ||
          !haveSameType(kept, op.getResult()))
        continue;
      rewriter.replaceOp(op, kept);
      return success();
    }
    return failure();
  }
};

// Pattern: Add(x, -0.0) -> x; for integers Add(x, 0) -> x
using DropAddOfZero = DropNeutral<AddOp, isNeutralForAdd, true>;
// Pattern: Sub(x, +0.0) -> x
using DropSubOfZero = DropNeutral<SubOp, isNeutralForSub, false>;
// Pattern: Mul(x, 1) -> x
using DropMulOfOne = DropNeutral<MulOp, isOne, true>;
// Pattern: Div(x, 1) -> x
using DropDivOfOne = DropNeutral<DivOp, isOne, false>;
// Pattern: Pow(x, 1) -> x
using DropPowOfOne = DropNeutral<PowOp, isOne, false>;

//===--- Cheaper forms ----------------------------------------------------===//

// Pattern: Pow(x, 2) -> Mul(x, x); Pow(x, 3) -> Mul(Mul(x, x), x)
// The cube rounds twice (at most 1 ULP more than a perfect power).
struct ExpandSmallPower : OpRewritePattern<PowOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(PowOp op,
                                PatternRewriter &rewriter) const override {
    std::optional<double> exponent = getSplatNumber(op.getY());
    if (!exponent || (*exponent != 2 && *exponent != 3) ||
        !haveSameType(op.getX(), op.getResult()))
      return failure();
    Value square =
        createInferred<MulOp>(rewriter, op.getLoc(), op.getX(), op.getX());
    if (*exponent == 2)
      rewriter.replaceOp(op, square);
    else
      rewriter.replaceOp(
          op, createInferred<MulOp>(rewriter, op.getLoc(), square, op.getX()));
    return success();
  }
};

// Pattern: Div(x, c) -> Mul(x, 1 / c), for c a power of two (exact)
struct DivideByMultiplying : OpRewritePattern<DivOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(DivOp op,
                                PatternRewriter &rewriter) const override {
    auto type = dyn_cast<FloatType>(getElementType(op.getB()));
    std::optional<double> divisor = getSplatNumber(op.getB());
    if (!type || !divisor)
      return failure();
    APFloat number(*divisor), inverse(0.0);
    bool losesInfo;
    number.convert(type.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                   &losesInfo);
    if (!number.getExactInverse(&inverse))
      return failure();
    auto constant = DenseElementsAttr::get(
        cast<RankedTensorType>(op.getB().getType()), inverse);
    rewriter.replaceOpWithNewOp<MulOp>(
        op, op.getType(), op.getA(),
        createConstant(rewriter, op.getLoc(), constant));
    return success();
  }
};

//===--- Twice the same ---------------------------------------------------===//

// Pattern: Neg(Neg(x)) -> x; Not(Not(x)) -> x
template <typename OpTy>
struct DropInvolution : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    auto inner = op.getX().template getDefiningOp<OpTy>();
    if (!inner)
      return failure();
    rewriter.replaceOp(op, inner.getX());
    return success();
  }
};

// Pattern: Relu(Relu(x)) -> Relu(x); the same for Abs, Floor, Ceil, Round, Sign
template <typename OpTy>
struct DropRepetition : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    if (!op.getX().template getDefiningOp<OpTy>())
      return failure();
    rewriter.replaceOp(op, op.getX());
    return success();
  }
};

// Pattern: Max(x) -> x; the same for Min, Sum, Mean
template <typename OpTy>
struct DropSingleOperand : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    if (op.getInputs().size() != 1)
      return failure();
    rewriter.replaceOp(op, op.getInputs()[0]);
    return success();
  }
};

// Pattern: Clip(x) without bounds -> x
struct DropUnboundedClip : OpRewritePattern<ClipOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ClipOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getMin() || op.getMax())
      return failure();
    rewriter.replaceOp(op, op.getX());
    return success();
  }
};

//===--- Casts ------------------------------------------------------------===//

/// Whether every value of `from` is one of `to`.
bool preservesValues(Type from, Type to) {
  if (from == to)
    return true;
  if (auto fromFloat = dyn_cast<FloatType>(from)) {
    auto toFloat = dyn_cast<FloatType>(to);
    return toFloat && fromFloat.getWidth() >= 16 &&
           APFloat::isRepresentableBy(fromFloat.getFloatSemantics(),
                                      toFloat.getFloatSemantics());
  }
  auto fromInteger = dyn_cast<IntegerType>(from);
  auto toInteger = dyn_cast<IntegerType>(to);
  if (!fromInteger || !toInteger)
    return false;
  bool fromUnsigned = fromInteger.isUnsigned() || fromInteger.getWidth() == 1;
  if (toInteger.getWidth() <= fromInteger.getWidth())
    return false;
  return fromUnsigned || !toInteger.isUnsigned();
}

// Pattern: Cast(x) to x's own type -> x
struct DropSameCast : OpRewritePattern<CastOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(CastOp op,
                                PatternRewriter &rewriter) const override {
    if (getElementType(op.getInput()) != getElementType(op.getResult()))
      return failure();
    rewriter.replaceOp(op, op.getInput());
    return success();
  }
};

// Pattern: Cast(Cast(x, wide), to) -> Cast(x, to), where `wide` holds every
// value of x. Kinds may not mix on the way: integers wrap where floats
// saturate.
struct MergeCasts : OpRewritePattern<CastOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(CastOp op,
                                PatternRewriter &rewriter) const override {
    auto inner = op.getInput().getDefiningOp<CastOp>();
    if (!inner || !preservesValues(getElementType(inner.getInput()),
                                   getElementType(inner.getResult())))
      return failure();
    rewriter.modifyOpInPlace(
        op, [&] { op.getInputMutable().assign(inner.getInput()); });
    return success();
  }
};

//===--- Selection --------------------------------------------------------===//

// Pattern: Where(constant, x, y) -> x or y
struct DecideWhere : OpRewritePattern<WhereOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(WhereOp op,
                                PatternRewriter &rewriter) const override {
    std::optional<double> condition = getSplatNumber(op.getCondition());
    if (!condition)
      return failure();
    Value chosen = *condition != 0 ? op.getX() : op.getY();
    if (!haveSameType(chosen, op.getResult()))
      return failure();
    rewriter.replaceOp(op, chosen);
    return success();
  }
};

} // namespace

void onnx_aot::populateElementwiseRewrites(RewritePatternSet &patterns) {
  patterns.add<DropAddOfZero, DropSubOfZero, DropMulOfOne, DropDivOfOne,
               DropPowOfOne, ExpandSmallPower, DivideByMultiplying,
               DropInvolution<NegOp>, DropInvolution<NotOp>,
               DropRepetition<ReluOp>, DropRepetition<AbsOp>,
               DropRepetition<FloorOp>, DropRepetition<CeilOp>,
               DropRepetition<RoundOp>, DropRepetition<SignOp>,
               DropSingleOperand<MaxOp>, DropSingleOperand<MinOp>,
               DropSingleOperand<SumOp>, DropSingleOperand<MeanOp>,
               DropUnboundedClip, DropSameCast, MergeCasts, DecideWhere>(
      patterns.getContext());
}

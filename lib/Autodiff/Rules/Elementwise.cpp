//===- Elementwise.cpp - gradients of pointwise arithmetic ----------------===//

#include "Rules.h"

#include <cmath>

using namespace mlir;
using namespace onnx_aot;
using namespace onnx_aot::onnx;

//===--- Arithmetic -------------------------------------------------------===//

/// c = a + b
static LogicalResult gradAdd(AddOp op, GradientBuilder &b) {
  Value dc = b.getGradient(op.getC());
  b.accumulateBroadcast(op.getA(), dc);
  b.accumulateBroadcast(op.getB(), dc);
  return success();
}

/// c = a - b
static LogicalResult gradSub(SubOp op, GradientBuilder &b) {
  Value dc = b.getGradient(op.getC());
  b.accumulateBroadcast(op.getA(), dc);
  b.accumulateBroadcast(op.getB(), b.neg(dc));
  return success();
}

/// c = a * b
static LogicalResult gradMul(MulOp op, GradientBuilder &b) {
  Value dc = b.getGradient(op.getC());
  b.accumulateBroadcast(op.getA(), b.mul(dc, op.getB()));
  b.accumulateBroadcast(op.getB(), b.mul(dc, op.getA()));
  return success();
}

/// c = a / b
static LogicalResult gradDiv(DivOp op, GradientBuilder &b) {
  Value da = b.div(b.getGradient(op.getC()), op.getB());
  b.accumulateBroadcast(op.getA(), da);
  b.accumulateBroadcast(op.getB(), b.neg(b.mul(da, op.getC())));
  return success();
}

/// y = -x
static LogicalResult gradNeg(NegOp op, GradientBuilder &b) {
  b.accumulate(op.getX(), b.neg(b.getGradient(op.getY())));
  return success();
}

/// y = 1 / x
static Value gradReciprocal(ReciprocalOp op, GradientBuilder &b) {
  return b.neg(b.square(op.getY()));
}

/// c = a mod b: the integer quotient stays what it is between its jumps.
static LogicalResult gradMod(ModOp op, GradientBuilder &b) {
  Value dc = b.getGradient(op.getC());
  Value quotient = b.div(b.sub(op.getA(), op.getC()), op.getB());
  Value rounded = b.create<train::StopGradientOp>(b.create<RoundOp>(quotient));
  b.accumulateBroadcast(op.getA(), dc);
  b.accumulateBroadcast(op.getB(), b.neg(b.mul(dc, rounded)));
  return success();
}

/// z = x ^ y. Where y is 0 nothing flows to x; where x is 0 nothing flows to a
/// y that is not negative.
static LogicalResult gradPow(PowOp op, GradientBuilder &b) {
  Value x = op.getX(), dz = b.getGradient(op.getZ());
  Value y = b.castLike(op.getY(), x), zero = b.scalar(0.0, x);
  if (b.isActive(x)) {
    Value power = b.create<PowOp>(x, b.add(y, -1.0));
    Value isZero = b.create<EqualOp>(y, zero);
    b.accumulateBroadcast(x, b.where(isZero, zero, b.mul(dz, b.mul(y, power))));
  }
  if (!b.isActive(op.getY()))
    return success();
  Value isFlat = b.create<AndOp>(b.create<EqualOp>(x, zero),
                                 b.create<GreaterOrEqualOp>(y, zero));
  Value logarithm = b.create<LogOp>(b.where(isFlat, b.scalar(1.0, x), x));
  b.accumulateBroadcast(op.getY(), b.mul(dz, b.mul(op.getZ(), logarithm)));
  return success();
}

/// y = x_0 + x_1 + ...
static LogicalResult gradSum(SumOp op, GradientBuilder &b) {
  for (Value input : op.getInputs())
    b.accumulateBroadcast(input, b.getGradient(op.getY()));
  return success();
}

/// y = (x_0 + x_1 + ...) / n
static LogicalResult gradMean(MeanOp op, GradientBuilder &b) {
  Value share = b.mul(b.getGradient(op.getY()), 1.0 / op.getInputs().size());
  for (Value input : op.getInputs())
    b.accumulateBroadcast(input, share);
  return success();
}

/// Max and Min: the inputs that are equal to the result share its gradient
/// evenly.
template <typename OpTy>
static LogicalResult gradExtremum(OpTy op, GradientBuilder &b) {
  Value y = op.getY(), ties;
  SmallVector<Value> isTie;
  for (Value input : op.getInputs()) {
    isTie.push_back(b.create<EqualOp>(input, y));
    Value one = b.castLike(isTie.back(), y);
    ties = ties ? b.add(ties, one) : one;
  }
  Value share = b.div(b.getGradient(y), ties);
  for (auto [input, condition] : llvm::zip_equal(op.getInputs(), isTie))
    b.accumulateBroadcast(input, b.select(condition, share));
  return success();
}

/// y = |x|; 0 at the kink
static Value gradAbs(AbsOp op, GradientBuilder &b) {
  // Sign itself is differentiated straight through.
  return b.create<train::StopGradientOp>(b.create<SignOp>(op.getX()));
}

/// Sign, Round: straight through, as quantization-aware training wants it.
template <typename OpTy>
static LogicalResult passThrough(OpTy op, GradientBuilder &b) {
  b.accumulate(op.getX(), b.getGradient(op.getY()));
  return success();
}

/// y = min(max, max(x, min)); at a bound the gradient is that of x.
static LogicalResult gradClip(ClipOp op, GradientBuilder &b) {
  Value x = op.getX(), dy = b.getGradient(op.getY()), raised = x;
  if (Value low = op.getMin())
    raised = b.create<MaxOp>(ValueRange{x, low});
  if (Value high = op.getMax()) {
    Value isAbove = b.create<GreaterOp>(raised, high);
    b.accumulateBroadcast(high, b.select(isAbove, dy));
    dy = b.where(isAbove, b.scalar(0.0, dy), dy);
  }
  if (Value low = op.getMin()) {
    Value isBelow = b.create<LessOp>(x, low);
    b.accumulateBroadcast(low, b.select(isBelow, dy));
    dy = b.where(isBelow, b.scalar(0.0, dy), dy);
  }
  b.accumulate(x, dy);
  return success();
}

//===--- Functions --------------------------------------------------------===//

/// y = sqrt x
static LogicalResult gradSqrt(SqrtOp op, GradientBuilder &b) {
  Value dy = b.getGradient(op.getY());
  b.accumulate(op.getX(), b.div(dy, b.mul(op.getY(), 2.0)));
  return success();
}

/// y = e ^ x
static Value gradExp(ExpOp op, GradientBuilder &) { return op.getY(); }

/// y = log x
static LogicalResult gradLog(LogOp op, GradientBuilder &b) {
  b.accumulate(op.getX(), b.div(b.getGradient(op.getY()), op.getX()));
  return success();
}

/// y = erf x
static Value gradErf(ErfOp op, GradientBuilder &b) {
  Value bell = b.create<ExpOp>(b.neg(b.square(op.getX())));
  return b.mul(bell, 2.0 / std::sqrt(M_PI));
}

/// 1 / sqrt(x)
static Value inverseSqrt(Value x, GradientBuilder &b) {
  return b.create<ReciprocalOp>(b.create<SqrtOp>(x));
}

static Value gradSin(SinOp op, GradientBuilder &b) {
  return b.create<CosOp>(op.getX());
}
static Value gradCos(CosOp op, GradientBuilder &b) {
  return b.neg(b.create<SinOp>(op.getX()));
}
static Value gradTan(TanOp op, GradientBuilder &b) {
  return b.add(b.square(op.getY()), 1.0);
}
static Value gradAsin(AsinOp op, GradientBuilder &b) {
  return inverseSqrt(b.sub(1.0, b.square(op.getX())), b);
}
static Value gradAcos(AcosOp op, GradientBuilder &b) {
  return b.neg(inverseSqrt(b.sub(1.0, b.square(op.getX())), b));
}
static Value gradAtan(AtanOp op, GradientBuilder &b) {
  return b.create<ReciprocalOp>(b.add(b.square(op.getX()), 1.0));
}
static Value gradSinh(SinhOp op, GradientBuilder &b) {
  return b.create<CoshOp>(op.getX());
}
static Value gradCosh(CoshOp op, GradientBuilder &b) {
  return b.create<SinhOp>(op.getX());
}
static Value gradTanh(TanhOp op, GradientBuilder &b) {
  return b.sub(1.0, b.square(op.getY()));
}
static Value gradAsinh(AsinhOp op, GradientBuilder &b) {
  return inverseSqrt(b.add(b.square(op.getX()), 1.0), b);
}
static Value gradAcosh(AcoshOp op, GradientBuilder &b) {
  Value x = op.getX();
  return inverseSqrt(b.mul(b.add(x, -1.0), b.add(x, 1.0)), b);
}
static Value gradAtanh(AtanhOp op, GradientBuilder &b) {
  return b.create<ReciprocalOp>(b.sub(1.0, b.square(op.getX())));
}

//===--- Types ------------------------------------------------------------===//

/// Another element type; an integer on the way stops the gradient.
static LogicalResult gradCast(CastOp op, GradientBuilder &b) {
  b.accumulate(op.getInput(), b.getGradient(op.getOutput()));
  return success();
}
static LogicalResult gradCastLike(CastLikeOp op, GradientBuilder &b) {
  b.accumulate(op.getInput(), b.getGradient(op.getOutput()));
  return success();
}

/// output = input
static LogicalResult gradIdentity(IdentityOp op, GradientBuilder &b) {
  b.accumulate(op.getInput(), b.getGradient(op.getOutput()));
  return success();
}

void onnx_aot::populateElementwiseGradientRules(MLIRContext *context) {
  attachRule<AddOp, gradAdd>(context);
  attachRule<SubOp, gradSub>(context);
  attachRule<MulOp, gradMul>(context);
  attachRule<DivOp, gradDiv>(context);
  attachRule<ModOp, gradMod>(context);
  attachRule<PowOp, gradPow>(context);
  attachRule<MaxOp, gradExtremum<MaxOp>>(context);
  attachRule<MinOp, gradExtremum<MinOp>>(context);
  attachRule<SumOp, gradSum>(context);
  attachRule<MeanOp, gradMean>(context);
  attachRule<NegOp, gradNeg>(context);
  attachDerivative<AbsOp, gradAbs>(context);
  attachRule<SignOp, passThrough<SignOp>>(context);
  attachRule<RoundOp, passThrough<RoundOp>>(context);
  attachRule<FloorOp, stopGradient<FloorOp>>(context);
  attachRule<CeilOp, stopGradient<CeilOp>>(context);
  attachDerivative<ReciprocalOp, gradReciprocal>(context);
  attachRule<ClipOp, gradClip>(context);

  attachRule<SqrtOp, gradSqrt>(context);
  attachDerivative<ExpOp, gradExp>(context);
  attachRule<LogOp, gradLog>(context);
  attachDerivative<ErfOp, gradErf>(context);
  attachDerivative<SinOp, gradSin>(context);
  attachDerivative<CosOp, gradCos>(context);
  attachDerivative<TanOp, gradTan>(context);
  attachDerivative<AsinOp, gradAsin>(context);
  attachDerivative<AcosOp, gradAcos>(context);
  attachDerivative<AtanOp, gradAtan>(context);
  attachDerivative<SinhOp, gradSinh>(context);
  attachDerivative<CoshOp, gradCosh>(context);
  attachDerivative<TanhOp, gradTanh>(context);
  attachDerivative<AsinhOp, gradAsinh>(context);
  attachDerivative<AcoshOp, gradAcosh>(context);
  attachDerivative<AtanhOp, gradAtanh>(context);

  attachRule<CastOp, gradCast>(context);
  attachRule<CastLikeOp, gradCastLike>(context);
  attachMovingRule<IdentityOp, gradIdentity>(context);
  attachRule<train::StopGradientOp, stopGradient<train::StopGradientOp>>(
      context);
}

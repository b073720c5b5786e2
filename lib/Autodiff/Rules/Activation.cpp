//===- Activation.cpp - gradients of activations --------------------------===//
//
// Where the branches of an activation meet, the derivative is that of the
// branch that ONNX takes there; docs/RationaleAutodiff.md lists them. Branches
// that are not taken stay finite, so that a second differentiation meets no 0 *
// inf.
//
//===----------------------------------------------------------------------===//

#include "Rules.h"

#include <cmath>

using namespace mlir;
using namespace onnx_aot;
using namespace onnx_aot::onnx;

/// x > number, x >= number, x < number
static Value isAbove(Value x, double number, GradientBuilder &b) {
  return b.create<GreaterOp>(x, b.scalar(number, x));
}
static Value isAtLeast(Value x, double number, GradientBuilder &b) {
  return b.create<GreaterOrEqualOp>(x, b.scalar(number, x));
}
static Value isBelow(Value x, double number, GradientBuilder &b) {
  return b.create<LessOp>(x, b.scalar(number, x));
}
static double toDouble(const APFloat &number) {
  return number.convertToFloat();
}

//===--- Of two or three pieces -------------------------------------------===//

/// y = max(x, 0). What comes after keeps y anyway, x need not be kept.
static LogicalResult gradRelu(ReluOp op, GradientBuilder &b) {
  Value positive = isAbove(op.getY(), 0.0, b);
  b.accumulate(op.getX(), b.select(positive, b.getGradient(op.getY())));
  return success();
}

/// y = x if x >= 0 else alpha x
static LogicalResult gradLeakyRelu(LeakyReluOp op, GradientBuilder &b) {
  Value dy = b.getGradient(op.getY());
  b.accumulate(op.getX(), b.where(isAtLeast(op.getX(), 0.0, b), dy,
                                  b.mul(dy, toDouble(op.getAlpha()))));
  return success();
}

/// y = x if x >= 0 else slope x
static LogicalResult gradPRelu(PReluOp op, GradientBuilder &b) {
  Value x = op.getX(), dy = b.getGradient(op.getY());
  Value condition = isAtLeast(x, 0.0, b);
  b.accumulate(x, b.where(condition, dy, b.mul(dy, op.getSlope())));
  Value scaled = b.mul(dy, x);
  b.accumulateBroadcast(op.getSlope(),
                        b.where(condition, b.scalar(0.0, x), scaled));
  return success();
}

/// y = x if x > alpha else 0
static LogicalResult gradThresholdedRelu(ThresholdedReluOp op,
                                         GradientBuilder &b) {
  Value condition = isAbove(op.getX(), toDouble(op.getAlpha()), b);
  b.accumulate(op.getX(), b.select(condition, b.getGradient(op.getY())));
  return success();
}

/// factor e ^ (x / alpha) where x <= 0. From x rather than from y, which would
/// cancel; finite where it is not taken.
static Value gradExponentialUnit(Value x, double alpha, double factor,
                                 double slope, GradientBuilder &b) {
  Value negative = b.create<MinOp>(ValueRange{x, b.scalar(0.0, x)});
  Value power = b.create<ExpOp>(b.mul(negative, 1.0 / alpha));
  return b.where(isAbove(x, 0.0, b), b.scalar(slope, x), b.mul(power, factor));
}

/// y = x if x > 0 else alpha (e ^ x - 1)
static Value gradElu(EluOp op, GradientBuilder &b) {
  return gradExponentialUnit(op.getX(), 1.0, toDouble(op.getAlpha()), 1.0, b);
}

/// y = x if x > 0 else alpha (e ^ (x / alpha) - 1)
static Value gradCelu(CeluOp op, GradientBuilder &b) {
  return gradExponentialUnit(op.getX(), toDouble(op.getAlpha()), 1.0, 1.0, b);
}

/// y = gamma x if x > 0 else gamma alpha (e ^ x - 1)
static Value gradSelu(SeluOp op, GradientBuilder &b) {
  double gamma = toDouble(op.getGamma()), alpha = toDouble(op.getAlpha());
  return gradExponentialUnit(op.getX(), 1.0, gamma * alpha, gamma, b);
}

/// y = max(0, min(1, alpha x + beta))
static LogicalResult gradHardSigmoid(HardSigmoidOp op, GradientBuilder &b) {
  Value y = op.getY();
  Value inside = b.create<AndOp>(isAbove(y, 0.0, b), isBelow(y, 1.0, b));
  b.accumulate(op.getX(), b.select(inside, b.mul(b.getGradient(y),
                                                 toDouble(op.getAlpha()))));
  return success();
}

/// y = x max(0, min(1, x / 6 + 1 / 2))
static Value gradHardSwish(HardSwishOp op, GradientBuilder &b) {
  Value x = op.getX();
  Value slope = b.add(b.mul(x, 1.0 / 3.0), 0.5);
  slope = b.where(isAtLeast(x, 3.0, b), b.scalar(1.0, x), slope);
  return b.select(isAbove(x, -3.0, b), slope);
}

/// y = x + bias if x < -lambd, x - bias if x > lambd, else 0
static LogicalResult gradShrink(ShrinkOp op, GradientBuilder &b) {
  double lambda = toDouble(op.getLambd());
  Value outside = b.create<OrOp>(isBelow(op.getX(), -lambda, b),
                                 isAbove(op.getX(), lambda, b));
  b.accumulate(op.getX(), b.select(outside, b.getGradient(op.getY())));
  return success();
}

//===--- Smooth -----------------------------------------------------------===//

/// y = 1 / (1 + e ^ -x)
static Value gradSigmoid(SigmoidOp op, GradientBuilder &b) {
  return b.mul(op.getY(), b.sub(1.0, op.getY()));
}

/// y = x / 2 (1 + erf(x / sqrt 2)), or its tanh approximation
static Value gradGelu(GeluOp op, GradientBuilder &b) {
  Value x = op.getX(), square = b.square(x);
  if (op.getApproximate() == "none") {
    Value half = b.mul(b.create<ErfOp>(b.mul(x, std::sqrt(0.5))), 0.5);
    Value bell = b.create<ExpOp>(b.mul(square, -0.5));
    bell = b.mul(bell, std::sqrt(0.5 / M_PI));
    return b.add(b.add(half, 0.5), b.mul(x, bell));
  }
  const double scale = std::sqrt(2.0 / M_PI), cubic = 0.044715;
  Value inner = b.mul(x, b.add(b.mul(square, scale * cubic), scale));
  Value t = b.create<TanhOp>(inner);
  Value slope = b.add(b.mul(square, 3 * scale * cubic), scale);
  Value bend = b.mul(b.mul(x, b.sub(1.0, b.square(t))), slope);
  return b.mul(b.add(b.add(t, 1.0), bend), 0.5);
}

/// y = x sigmoid(alpha x)
static Value gradSwish(SwishOp op, GradientBuilder &b) {
  double alpha = toDouble(op.getAlpha());
  Value s = b.create<SigmoidOp>(b.mul(op.getX(), alpha));
  return b.add(s, b.mul(b.mul(op.getY(), alpha), b.sub(1.0, s)));
}

/// y = x tanh(softplus x)
static Value gradMish(MishOp op, GradientBuilder &b) {
  Value x = op.getX();
  Value t = b.create<TanhOp>(b.create<SoftplusOp>(x));
  Value bend = b.mul(b.sub(1.0, b.square(t)), b.create<SigmoidOp>(x));
  return b.add(t, b.mul(x, bend));
}

/// y = log(1 + e ^ x)
static Value gradSoftplus(SoftplusOp op, GradientBuilder &b) {
  return b.create<SigmoidOp>(op.getX());
}

/// y = x / (1 + |x|)
static Value gradSoftsign(SoftsignOp op, GradientBuilder &b) {
  Value size = b.add(b.create<AbsOp>(op.getX()), 1.0);
  return b.create<ReciprocalOp>(b.square(size));
}

void onnx_aot::populateActivationGradientRules(MLIRContext *context) {
  attachRule<ReluOp, gradRelu>(context);
  attachRule<LeakyReluOp, gradLeakyRelu>(context);
  attachRule<PReluOp, gradPRelu>(context);
  attachRule<ThresholdedReluOp, gradThresholdedRelu>(context);
  attachDerivative<EluOp, gradElu>(context);
  attachDerivative<CeluOp, gradCelu>(context);
  attachDerivative<SeluOp, gradSelu>(context);
  attachRule<HardSigmoidOp, gradHardSigmoid>(context);
  attachDerivative<HardSwishOp, gradHardSwish>(context);
  attachRule<ShrinkOp, gradShrink>(context);
  attachDerivative<SigmoidOp, gradSigmoid>(context);
  attachDerivative<GeluOp, gradGelu>(context);
  attachDerivative<SwishOp, gradSwish>(context);
  attachDerivative<MishOp, gradMish>(context);
  attachDerivative<SoftplusOp, gradSoftplus>(context);
  attachDerivative<SoftsignOp, gradSoftsign>(context);
}

//===- Elementwise.cpp - gradients of pointwise arithmetic ----------------===//

#include "Rules.h"

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

/// y = sin x
static Value gradSin(SinOp op, GradientBuilder &b) {
  return b.create<CosOp>(op.getX());
}

/// y = cos x
static Value gradCos(CosOp op, GradientBuilder &b) {
  return b.neg(b.create<SinOp>(op.getX()));
}

/// y = tanh x
static Value gradTanh(TanhOp op, GradientBuilder &b) {
  return b.sub(1.0, b.square(op.getY()));
}

/// y = 1 / (1 + e ^ -x)
static Value gradSigmoid(SigmoidOp op, GradientBuilder &b) {
  return b.mul(op.getY(), b.sub(1.0, op.getY()));
}

//===--- Activations ------------------------------------------------------===//

/// y = max(x, 0); 0 at the kink
static LogicalResult gradRelu(ReluOp op, GradientBuilder &b) {
  Value positive = b.create<GreaterOp>(op.getX(), b.scalar(0.0, op.getX()));
  b.accumulate(op.getX(), b.select(positive, b.getGradient(op.getY())));
  return success();
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
  attachRule<NegOp, gradNeg>(context);
  attachDerivative<ReciprocalOp, gradReciprocal>(context);
  attachRule<SqrtOp, gradSqrt>(context);
  attachDerivative<ExpOp, gradExp>(context);
  attachRule<LogOp, gradLog>(context);
  attachDerivative<SinOp, gradSin>(context);
  attachDerivative<CosOp, gradCos>(context);
  attachDerivative<TanhOp, gradTanh>(context);
  attachDerivative<SigmoidOp, gradSigmoid>(context);
  attachRule<ReluOp, gradRelu>(context);
  attachRule<CastOp, gradCast>(context);
  attachRule<CastLikeOp, gradCastLike>(context);
  attachMovingRule<IdentityOp, gradIdentity>(context);
  attachRule<train::StopGradientOp, stopGradient<train::StopGradientOp>>(
      context);
}

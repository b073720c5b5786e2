//===- GradientRule.h - how a gradient rule is written ----------*- C++ -*-===//
//
// A rule is a static function in lib/Autodiff/Rules/<Category>.cpp, 15 lines at
// most, of the form
//
//   /// c = a * b
//   static LogicalResult gradMul(MulOp op, GradientBuilder &b) {
//     Value dc = b.getGradient(op.getC());
//     b.accumulateBroadcast(op.getA(), b.mul(dc, op.getB()));
//     b.accumulateBroadcast(op.getB(), b.mul(dc, op.getA()));
//     return success();
//   }
//
// attached by attachRule<MulOp, gradMul>(context) in the populate function at
// the end of the file. It emits onnx and train ops only, all of which have
// rules in turn. What it may rely on:
//  - all tensors of the op are ranked, and types are inferred;
//  - at least one result has a gradient; an op of one result has it for sure;
//  - an operand that is not active is ignored by accumulate. Where its gradient
//    would cost much, or would be refused, ask isActive first;
//  - results of the forward op may be used: y = tanh x has dx = dy (1 - y^2).
// What it cannot do it refuses by `return b.unsupported(op, "mode 'x' ...")`.
// Nothing from a model may reach an assert.
//
// A pointwise op of one operand needs only its derivative:
//
//   /// y = sin x
//   static Value gradSin(SinOp op, GradientBuilder &b) {
//     return b.create<CosOp>(op.getX());
//   }
//   attachDerivative<SinOp, gradSin>(context);
//
// Each rule has rows in test/Integration/gradients, without which the coverage
// check fails.
//
//===----------------------------------------------------------------------===//

#ifndef ONNX_AOT_AUTODIFF_GRADIENTRULE_H
#define ONNX_AOT_AUTODIFF_GRADIENTRULE_H

#include "onnx-aot/Autodiff/GradientBuilder.h"

namespace onnx_aot {

/// The interface of OpTy, given by a function.
template <typename OpTy, auto rule, bool anyType>
struct GradientRule
    : GradientOpInterface::ExternalModel<GradientRule<OpTy, rule, anyType>,
                                         OpTy> {
  llvm::LogicalResult differentiate(mlir::Operation *op,
                                    GradientBuilder &builder) const {
    return rule(mlir::cast<OpTy>(op), builder);
  }
  bool carriesGradient(mlir::Operation *, mlir::OpResult result) const {
    return anyType || isDifferentiable(result.getType());
  }
};

/// Gives OpTy the rule `LogicalResult rule(OpTy, GradientBuilder &)`.
template <typename OpTy, auto rule>
void attachRule(mlir::MLIRContext *context) {
  OpTy::template attachInterface<GradientRule<OpTy, rule, false>>(*context);
}

/// The same for an op that moves elements without looking at them, which passes
/// gradients whatever the element type.
template <typename OpTy, auto rule>
void attachMovingRule(mlir::MLIRContext *context) {
  OpTy::template attachInterface<GradientRule<OpTy, rule, true>>(*context);
}

/// The rule of an op whose only differentiable operand is the first, of the
/// shape of its only result, from dy/dx.
template <typename OpTy, auto derivative>
llvm::LogicalResult differentiatePointwise(OpTy op, GradientBuilder &b) {
  mlir::Value dy = b.getGradient(op->getResult(0));
  b.accumulate(op->getOperand(0), b.mul(dy, derivative(op, b)));
  return mlir::success();
}

/// Gives OpTy the derivative `Value derivative(OpTy, GradientBuilder &)`.
template <typename OpTy, auto derivative>
void attachDerivative(mlir::MLIRContext *context) {
  attachRule<OpTy, differentiatePointwise<OpTy, derivative>>(context);
}

/// The rule of an op without influence on gradients, such as a step function:
/// nothing is handed over.
template <typename OpTy>
llvm::LogicalResult stopGradient(OpTy, GradientBuilder &) {
  return mlir::success();
}

} // namespace onnx_aot

#endif // ONNX_AOT_AUTODIFF_GRADIENTRULE_H

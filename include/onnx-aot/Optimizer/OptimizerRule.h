//===- OptimizerRule.h - how an optimizer is written ------------*- C++ -*-===//
//
// One file in lib/Optimizer/Rules for each optimizer: a class whose constructor
// reads its options from the spec, under PyTorch's names and defaults, and
// whose `update` writes the formula of one step with onnx ops. What is
// pointwise in it becomes one kernel for each parameter, which updates all
// state in place.
//
//===----------------------------------------------------------------------===//

#ifndef ONNX_AOT_OPTIMIZER_OPTIMIZERRULE_H
#define ONNX_AOT_OPTIMIZER_OPTIMIZERRULE_H

#include "onnx-aot/Optimizer/OpMaker.h"
#include "onnx-aot/Support/Spec.h"

#include <memory>

namespace onnx_aot {

/// One parameter's state before and after a step.
struct ParameterUpdate {
  mlir::Value parameter, gradient;
  /// In the order of `getSlots`; all zeros before the first step.
  llvm::SmallVector<mlir::Value> slots;
  /// Scalars of the parameter's type and of int64; steps are counted from 1.
  mlir::Value learningRate, step;
  /// A bool scalar that says whether there is a step at all; null for always.
  mlir::Value isValid;
  /// Whether the parameter's group has weight decay.
  bool decays = true;

  /// Gives a slot its new value, which is its old one where there is no step.
  /// All that follows from the slot then reads what is stored: one kernel makes
  /// both.
  mlir::Value set(OpMaker &maker, unsigned slot, mlir::Value value) {
    slots[slot] = isValid ? maker.where(isValid, value, slots[slot]) : value;
    return slots[slot];
  }
};

/// The formula of an optimizer.
class OptimizerRule {
public:
  virtual ~OptimizerRule() = default;

  /// Names of the tensors kept for each parameter.
  virtual llvm::SmallVector<llvm::StringRef> getSlots() const = 0;

  /// Replaces parameter and slots by their new values.
  virtual void update(OpMaker &maker, ParameterUpdate &state) const = 0;

protected:
  /// The weight decay of a parameter, 0 where its group has none.
  double getDecay(const ParameterUpdate &state) const {
    return state.decays ? weightDecay : 0.0;
  }
  /// 1 - beta ^ step, computed in double precision, of the parameter's type.
  static mlir::Value biasCorrection(OpMaker &maker,
                                    const ParameterUpdate &state, double beta);
  /// beta average + (1 - beta) value.
  static mlir::Value average(OpMaker &maker, mlir::Value average,
                             mlir::Value value, double beta);
  /// Adds the gradient of the penalty decay / 2 w^2, as Adam, SGD and others do
  /// whose decay is not decoupled.
  void addPenalty(OpMaker &maker, ParameterUpdate &state) const;

  double weightDecay = 0;
};

/// The rule that a spec names; errors go to the spec, null then.
std::unique_ptr<OptimizerRule> createOptimizerRule(Spec &spec);

/// Names of all optimizers.
llvm::ArrayRef<llvm::StringRef> getOptimizerNames();

} // namespace onnx_aot

#endif // ONNX_AOT_OPTIMIZER_OPTIMIZERRULE_H

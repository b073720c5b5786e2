//===- Activity.cpp - which values need gradients -------------------------===//

#include "Activity.h"
#include "onnx-aot/Autodiff/GradientBuilder.h"

#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace onnx_aot;

SetVector<Value> onnx_aot::getInputs(Operation *op) {
  SetVector<Value> inputs;
  inputs.insert_range(op->getOperands());
  getUsedValuesDefinedAbove(op->getRegions(), inputs);
  return inputs;
}

/// Whether a result depends on the active inputs of its op as far as gradients
/// are concerned.
static bool carriesGradient(OpResult result, ArrayRef<Value> activeInputs) {
  if (auto rule = dyn_cast<GradientOpInterface>(result.getOwner()))
    return rule.carriesGradient(result);
  // An integer that carries a gradient is a quantized value. An op without a
  // rule that computes with such values must not drop the gradient silently.
  return isDifferentiable(result.getType()) ||
         llvm::any_of(activeInputs, [&](Value input) {
           return onnx::getElementType(input) == onnx::getElementType(result) &&
                  !isa<FloatType>(onnx::getElementType(input));
         });
}

Activity onnx_aot::findActivity(Block *block, Block::iterator end,
                                ArrayRef<Value> ys, ArrayRef<Value> xs) {
  // Forward: what depends on an x.
  DenseSet<Value> varied(llvm::from_range, xs);
  SmallVector<std::pair<Operation *, SmallVector<Value>>> variedOps;
  for (Operation &op : llvm::make_range(block->begin(), end)) {
    SmallVector<Value> inputs;
    for (Value input : getInputs(&op))
      if (varied.contains(input))
        inputs.push_back(input);
    if (inputs.empty())
      continue;
    for (OpResult result : op.getResults())
      if (carriesGradient(result, inputs))
        varied.insert(result);
    variedOps.emplace_back(&op, std::move(inputs));
  }
  // Backward: what of that a y depends on.
  Activity activity;
  for (Value y : ys)
    if (varied.contains(y))
      activity.values.insert(y);
  for (auto &[op, inputs] : llvm::reverse(variedOps)) {
    if (llvm::none_of(op->getResults(), [&](Value result) {
          return activity.values.contains(result);
        }))
      continue;
    activity.values.insert_range(inputs);
    activity.ops.push_back(op);
  }
  std::reverse(activity.ops.begin(), activity.ops.end());
  return activity;
}

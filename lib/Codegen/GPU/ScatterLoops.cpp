//===- ScatterLoops.cpp - loops that update computed places ---------------===//

#include "ScatterLoops.h"
#include "KernelAnalysis.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace onnx_aot::gpu_kernel {

/// Ops that a thread evaluates wherever it needs their results.
static bool isEvaluable(Operation *op, Operation *nest) {
  if (auto load = dyn_cast<memref::LoadOp>(op))
    return !nest->isAncestor(
               load.getMemRef().getParentRegion()->getParentOp()) &&
           isDeviceType(load.getType());
  return op->getNumRegions() == 0 && isPure(op) && isDeviceOp(op);
}

/// A loop from 0 on in steps of 1 to a bound that `nest` does not change.
static bool isCounting(scf::ForOp loop, Operation *nest) {
  return loop.getInitArgs().empty() &&
         isConstantIntValue(loop.getLowerBound(), 0) &&
         isConstantIntValue(loop.getStep(), 1) &&
         loop.getUpperBound().getType().isIndex() &&
         !nest->isAncestor(
             loop.getUpperBound().getParentRegion()->getParentOp());
}

/// Collects the loops, and the one store; false where the nest has another
/// form.
static bool collect(ScatterLoops &found, scf::ForOp outermost,
                    SmallVectorImpl<memref::LoadOp> &loads) {
  for (scf::ForOp loop = outermost, next; loop; loop = next, next = {}) {
    if (!isCounting(loop, outermost))
      return false;
    found.loops.push_back(loop);
    for (Operation &op : loop.getBody()->without_terminator()) {
      if (auto inner = dyn_cast<scf::ForOp>(op)) {
        if (next || found.store)
          return false;
        next = inner;
      } else if (auto store = dyn_cast<memref::StoreOp>(op)) {
        if (next || found.store)
          return false;
        found.store = store;
      } else if (!isEvaluable(&op, outermost)) {
        return false;
      }
      if (auto load = dyn_cast<memref::LoadOp>(op))
        loads.push_back(load);
    }
    if (next && found.store)
      return false;
  }
  return bool(found.store);
}

std::optional<ScatterLoops> ScatterLoops::find(scf::ForOp outermost) {
  ScatterLoops found;
  SmallVector<memref::LoadOp> loads;
  if (!collect(found, outermost, loads))
    return std::nullopt;
  Value target = found.getTarget();
  if (outermost->isAncestor(target.getParentRegion()->getParentOp()) ||
      !isDeviceType(found.store.getValue().getType()))
    return std::nullopt;
  for (memref::LoadOp load : loads) {
    if (load.getMemRef() != target)
      continue;
    // What other points have written is never read.
    if (found.current || load->getBlock() != found.store->getBlock() ||
        load.getIndices() != found.store.getIndices())
      return std::nullopt;
    found.current = load;
  }
  for (auto [number, loop] : llvm::enumerate(found.loops)) {
    bool isStraight =
        llvm::is_contained(found.store.getIndices(), loop.getInductionVar());
    (isStraight ? found.straight : found.scanned).push_back(number);
  }
  return found;
}

SmallVector<Value> ScatterLoops::getOperands() {
  llvm::SetVector<Value> used;
  Operation *nest = loops.front();
  nest->walk([&](Operation *op) {
    for (Value operand : op->getOperands()) {
      Operation *definer = operand.getDefiningOp();
      if (nest->isAncestor(operand.getParentRegion()->getParentOp()) ||
          (definer && definer->hasTrait<OpTrait::ConstantLike>()))
        continue;
      used.insert(operand);
    }
  });
  used.remove(getTarget());
  SmallVector<Value> operands = used.takeVector();
  operands.push_back(getTarget());
  return operands;
}

} // namespace onnx_aot::gpu_kernel

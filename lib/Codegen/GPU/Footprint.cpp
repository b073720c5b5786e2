//===- Footprint.cpp - the memory that launches touch ---------------------===//

#include "Footprint.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;

namespace onnx_aot::gpu_kernel {

Extent Extent::of(Value buffer) {
  Extent extent;
  while (auto source = buffer.getDefiningOp<ViewLikeOpInterface>()) {
    // The planned places of buffers in the arena.
    auto view = dyn_cast<memref::ViewOp>(*source);
    if (view && view.getType().hasStaticShape()) {
      std::optional<int64_t> begin = getConstantIntValue(view.getByteShift());
      if (begin && extent.end == INT64_MAX) {
        extent.begin = *begin;
        extent.end = *begin + DataLayout::closest(view).getTypeSize(
                                  view.getType().getElementType()) *
                                  view.getType().getNumElements();
      } else {
        extent.begin = 0;
        extent.end = INT64_MAX;
      }
    }
    buffer = source.getViewSource();
  }
  // Arguments of the entry do not overlap, nor do allocations with anything.
  auto argument = dyn_cast<BlockArgument>(buffer);
  if (argument ? isa<func::FuncOp>(argument.getOwner()->getParentOp())
               : isa<memref::AllocOp, memref::AllocaOp>(buffer.getDefiningOp()))
    extent.base = buffer;
  return extent;
}

bool Extent::overlaps(const Extent &other) const {
  if (!base || !other.base)
    return true;
  return base == other.base && begin < other.end && other.begin < end;
}

Footprint Footprint::of(kernel::LaunchOp launch) {
  Footprint footprint;
  for (OpOperand &operand : launch->getOpOperands())
    if (isa<MemRefType>(operand.get().getType()))
      (launch.isDpsInit(&operand) ? footprint.writes : footprint.reads)
          .push_back(Extent::of(operand.get()));
  return footprint;
}

void Footprint::add(const Footprint &other) {
  reads.append(other.reads);
  writes.append(other.writes);
}

bool Footprint::conflictsWith(const Footprint &other) const {
  auto overlap = [](ArrayRef<Extent> some, ArrayRef<Extent> others) {
    return llvm::any_of(some, [&](const Extent &one) {
      return llvm::any_of(
          others, [&](const Extent &extent) { return one.overlaps(extent); });
    });
  };
  return overlap(writes, other.writes) || overlap(writes, other.reads) ||
         overlap(reads, other.writes);
}

} // namespace onnx_aot::gpu_kernel

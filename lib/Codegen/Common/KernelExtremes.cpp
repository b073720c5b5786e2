//===- KernelExtremes.cpp - maxima and minima of what kernels make --------===//

#include "onnx-aot/Codegen/Common/KernelExtremes.h"
#include "onnx-aot/Codegen/Common/StructuredOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace onnx_aot::codegen {

bool isExtreme(linalg::GenericOp op) {
  std::optional<Combiner> combiner = getCombiner(op);
  if (!combiner || !op.hasPureTensorSemantics() || op.getNumDpsInputs() != 1 ||
      op.getNumReductionLoops() != op.getNumLoops() ||
      !isa<arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp,
           arith::MinNumFOp, arith::MaxSIOp, arith::MinSIOp, arith::MaxUIOp,
           arith::MinUIOp>(combiner->op))
    return false;
  OpOperand *input = op.getDpsInputOperand(0);
  Type type = getElementTypeOrSelf(op.getResult(0).getType());
  Value initial = getInitialScalar(op);
  return combiner->op->getOperand(1 - combiner->accumulator) ==
             op.getMatchingBlockArgument(input) &&
         op.getMatchingIndexingMap(input).isPermutation() &&
         llvm::is_contained({32u, 64u}, type.getIntOrFloatBitWidth()) &&
         initial && initial.getDefiningOp() &&
         initial.getDefiningOp()->hasTrait<OpTrait::ConstantLike>();
}

SmallVector<linalg::GenericOp> getExtremes(func::FuncOp kernel) {
  SmallVector<linalg::GenericOp> found;
  for (auto op : kernel.getBody().front().getOps<linalg::GenericOp>())
    if (op->hasAttr(kExtremeAttr))
      found.push_back(op);
  return found;
}

SmallVector<linalg::GenericOp> getOtherOps(func::FuncOp kernel) {
  SmallVector<linalg::GenericOp> found;
  for (auto op : kernel.getBody().front().getOps<linalg::GenericOp>())
    if (!op->hasAttr(kExtremeAttr))
      found.push_back(op);
  return found;
}

} // namespace onnx_aot::codegen

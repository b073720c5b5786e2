//===- StructuredOps.cpp - what a linalg.generic computes -----------------===//

#include "onnx-aot/Codegen/Common/StructuredOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace onnx_aot::codegen {

bool isPointwise(linalg::GenericOp op) {
  if (op.getNumParallelLoops() != op.getNumLoops())
    return false;
  return llvm::all_of(op.getIndexingMapsArray(),
                      [&](AffineMap map) {
                        return map.getNumDims() == op.getNumLoops();
                      }) &&
         llvm::all_of(op.getDpsInitsMutable(), [&](OpOperand &init) {
           return op.getMatchingIndexingMap(&init).isPermutation();
         });
}

static linalg::YieldOp getYield(linalg::GenericOp op) {
  return cast<linalg::YieldOp>(op.getBody()->getTerminator());
}

bool isDataMovement(linalg::GenericOp op) {
  if (op->getNumResults() != 1)
    return false;
  auto argument = dyn_cast<BlockArgument>(getYield(op).getOperand(0));
  return argument && argument.getOwner() == op.getBody() &&
         argument.getArgNumber() < op.getNumDpsInputs();
}

bool isPermutation(linalg::GenericOp op) {
  return llvm::all_of(op.getIndexingMapsArray(),
                      [](AffineMap map) { return map.isPermutation(); });
}

std::optional<Combiner> getCombiner(linalg::GenericOp op) {
  if (op->getNumResults() != 1 || op.getNumReductionLoops() == 0)
    return std::nullopt;
  Operation *combiner = getYield(op).getOperand(0).getDefiningOp();
  if (!combiner || combiner->getNumOperands() != 2 ||
      !isa<arith::AddFOp, arith::AddIOp, arith::MulFOp, arith::MulIOp,
           arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp,
           arith::MinNumFOp, arith::MaxSIOp, arith::MinSIOp, arith::MaxUIOp,
           arith::MinUIOp, arith::AndIOp, arith::OrIOp, arith::XOrIOp>(
          combiner))
    return std::nullopt;
  BlockArgument accumulator =
      op.getMatchingBlockArgument(op.getDpsInitOperand(0));
  if (!accumulator.hasOneUse())
    return std::nullopt;
  for (unsigned i : {0u, 1u})
    if (combiner->getOperand(i) == accumulator)
      return Combiner{combiner, i};
  return std::nullopt;
}

bool isContraction(linalg::GenericOp op) {
  std::optional<Combiner> combiner = getCombiner(op);
  if (!combiner || (op.getNumDpsInputs() != 2 && !op->hasAttr(kPackedAttr)) ||
      !isa<arith::AddFOp, arith::AddIOp>(combiner->op))
    return false;
  Operation *product =
      combiner->op->getOperand(1 - combiner->accumulator).getDefiningOp();
  return isa_and_nonnull<arith::MulFOp, arith::MulIOp>(product);
}

Value getInitialScalar(linalg::GenericOp op) {
  auto fill = op.getDpsInits()[0].getDefiningOp<linalg::FillOp>();
  return fill ? fill.getInputs()[0] : Value();
}

} // namespace onnx_aot::codegen

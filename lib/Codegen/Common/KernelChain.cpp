//===- KernelChain.cpp - kernels that run block by block ------------------===//

#include "onnx-aot/Codegen/Common/KernelChain.h"
#include "onnx-aot/Codegen/Common/KernelDomain.h"
#include "onnx-aot/Codegen/Common/StructuredOps.h"

using namespace mlir;

namespace onnx_aot::codegen {

SmallVector<SmallVector<linalg::GenericOp>> getStages(func::FuncOp kernel) {
  SmallVector<SmallVector<linalg::GenericOp>> stages;
  for (auto op : kernel.getBody().front().getOps<linalg::GenericOp>()) {
    auto stage = op->getAttrOfType<IntegerAttr>(kStageAttr);
    if (!stage)
      return {};
    stages.resize(std::max<size_t>(stages.size(), stage.getInt() + 1));
    stages[stage.getInt()].push_back(op);
  }
  return stages;
}

/// Only these ops read the tensor, and at their own points.
static bool isReadInPlaceBy(Value tensor, ArrayRef<linalg::GenericOp> ops) {
  return llvm::all_of(tensor.getUses(), [&](OpOperand &use) {
    auto op = dyn_cast<linalg::GenericOp>(use.getOwner());
    return op && llvm::is_contained(ops, op) && op.isDpsInput(&use) &&
           op.getMatchingIndexingMap(&use).isIdentity();
  });
}

/// The use of a tensor by one of these ops; null unless it is the only one.
static OpOperand *getOnlyUse(Value tensor, ArrayRef<linalg::GenericOp> ops) {
  if (!tensor.hasOneUse())
    return nullptr;
  OpOperand *use = &*tensor.use_begin();
  auto op = dyn_cast<linalg::GenericOp>(use->getOwner());
  return op && llvm::is_contained(ops, op) && op.isDpsInput(use) ? use
                                                                 : nullptr;
}

bool canChain(ArrayRef<linalg::GenericOp> products,
              ArrayRef<linalg::GenericOp> rows,
              ArrayRef<linalg::GenericOp> sums) {
  if (products.back()->getNumResults() != 1 ||
      rows.back()->getNumResults() != 1)
    return false;
  Value scores = products.back()->getResult(0);
  Value weights = rows.back()->getResult(0);
  auto type = cast<RankedTensorType>(scores.getType());
  if (weights.getType() != type || type.getRank() < 2 ||
      !isa<FloatType>(type.getElementType()) ||
      type.getDimSize(type.getRank() - 2) == 1)
    return false;
  // Scores and weights share memory.
  if (!isReadInPlaceBy(scores, rows) || !getOnlyUse(weights, sums))
    return false;
  FailureOr<KernelDomain> first = KernelDomain::analyze(products),
                          second = KernelDomain::analyze(rows),
                          third = KernelDomain::analyze(sums);
  if (failed(first) || failed(second) || failed(third) || first->isRowwise() ||
      !second->isRowwise() || third->isRowwise() || !isPointwise(rows.back()))
    return false;
  // Every axis is a dimension of each stage.
  SmallVector<int> made(first->getAxisDims(scores)),
      read(second->getAxisDims(scores)), written(second->getAxisDims(weights)),
      summed(third->getAxisDims(weights));
  if (llvm::is_contained(made, -1) || llvm::is_contained(read, -1) ||
      llvm::is_contained(summed, -1) || read != written ||
      made.size() != first->getParallelDims().size() ||
      read.size() != second->getNumDims())
    return false;
  // The last one alone is reduced, by the rows and by the sums.
  SmallVector<unsigned> reduced{static_cast<unsigned>(read.back())},
      contracted{static_cast<unsigned>(summed.back())};
  return second->getReductionDims() == reduced &&
         third->getReductionDims() == contracted;
}

int64_t getBlockRows(int64_t rows, int64_t columns, int64_t elementBytes,
                     int64_t bytes) {
  constexpr int64_t kMost = 32, kLeast = 4, kTypical = 16;
  if (ShapedType::isDynamic(columns))
    return kTypical;
  int64_t block = kMost;
  while (block > kLeast && block * columns * elementBytes > bytes)
    block /= 2;
  // No larger than needed.
  while (!ShapedType::isDynamic(rows) && block > kLeast && block / 2 >= rows)
    block /= 2;
  return block;
}

} // namespace onnx_aot::codegen

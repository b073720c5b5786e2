//===- KernelDomain.cpp - the iteration space a kernel's ops share --------===//

#include "onnx-aot/Codegen/Common/KernelDomain.h"
#include "onnx-aot/Codegen/Common/StructuredOps.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace onnx_aot::codegen {

bool hasVectorizableBody(linalg::GenericOp op) {
  return llvm::all_of(op.getBody()->without_terminator(), [](Operation &inner) {
    return OpTrait::hasElementwiseMappableTraits(&inner) ||
           isa<linalg::IndexOp, tensor::ExtractOp>(inner) ||
           inner.hasTrait<OpTrait::ConstantLike>();
  });
}

SmallVector<unsigned> KernelDomain::dims(bool reduction) const {
  SmallVector<unsigned> result;
  for (auto [dim, kind] : llvm::enumerate(isReduction))
    if (kind == reduction)
      result.push_back(dim);
  return result;
}

/// Finds the dimension of each loop from the tensors the op shares with earlier
/// ops. The first op's loops are the dimensions.
bool KernelDomain::alignLoops(linalg::GenericOp op) {
  SmallVector<int> found(op.getNumLoops(), -1);
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  bool first = loopDims.empty();
  if (first)
    for (unsigned loop = 0; loop < op.getNumLoops(); ++loop) {
      found[loop] = loop;
      isReduction.push_back(false);
      sizes.push_back(ranges[loop]);
    }
  SmallVector<OpOperand *> inputs = op.getDpsInputOperands();
  for (OpOperand *operand : inputs) {
    auto known = tensorDims.find(operand->get());
    if (known == tensorDims.end())
      continue;
    AffineMap map = op.getMatchingIndexingMap(operand);
    for (auto [axis, expr] : llvm::enumerate(map.getResults())) {
      auto loop = dyn_cast<AffineDimExpr>(expr);
      int dim = known->second[axis];
      if (!loop || dim < 0)
        continue;
      int &place = found[loop.getPosition()];
      if (place >= 0 && place != dim)
        return false;
      place = dim;
    }
  }
  // Loops that no shared tensor names are the dimensions not named yet, if
  // there is only one way to pair them and their sizes agree.
  SmallVector<unsigned> free;
  for (unsigned dim = 0; dim < getNumDims(); ++dim)
    if (!llvm::is_contained(found, (int)dim))
      free.push_back(dim);
  for (auto [loop, dim] : llvm::enumerate(found)) {
    if (dim < 0) {
      if (free.size() != 1 || ShapedType::isDynamic(ranges[loop]))
        return false;
      dim = free.pop_back_val();
    }
    // An axis of one element may be read by a longer loop: that is a broadcast,
    // not the same dimension.
    if (sizes[dim] != ranges[loop])
      return false;
  }
  SmallVector<unsigned> dimsOfLoops(found.begin(), found.end());
  // Two loops cannot run over one dimension.
  if (llvm::SmallDenseSet<unsigned>(dimsOfLoops.begin(), dimsOfLoops.end())
          .size() != dimsOfLoops.size())
    return false;
  // Note what the op's tensors say of the dimensions.
  for (OpOperand &operand : op->getOpOperands()) {
    AffineMap map = op.getMatchingIndexingMap(&operand);
    SmallVector<int> axes;
    for (AffineExpr expr : map.getResults()) {
      auto loop = dyn_cast<AffineDimExpr>(expr);
      axes.push_back(loop ? (int)dimsOfLoops[loop.getPosition()] : -1);
      if (!loop && !isa<AffineConstantExpr>(expr))
        windows = true;
    }
    Value tensor =
        op.isDpsInit(&operand) ? op.getTiedOpResult(&operand) : operand.get();
    tensorDims.try_emplace(tensor, axes);
  }
  loopDims[op] = dimsOfLoops;
  return true;
}

KernelDomain KernelDomain::ofOne(linalg::GenericOp op) {
  KernelDomain domain;
  SmallVector<unsigned> loops;
  for (auto [loop, kind] : llvm::enumerate(op.getIteratorTypesArray())) {
    domain.isReduction.push_back(kind == utils::IteratorType::reduction);
    loops.push_back(loop);
  }
  domain.sizes = op.getStaticLoopRanges();
  domain.loopDims[op] = loops;
  return domain;
}

FailureOr<KernelDomain> KernelDomain::analyze(ArrayRef<linalg::GenericOp> ops) {
  KernelDomain domain;
  std::optional<SmallVector<unsigned>> reduced;
  for (linalg::GenericOp op : ops) {
    // Strings, 16 bytes each, are no lanes.
    bool isWide = llvm::any_of(op->getOperandTypes(), [](Type type) {
      return getElementTypeOrSelf(type).isInteger(128);
    });
    if (isWide || !hasVectorizableBody(op) || !domain.alignLoops(op))
      return failure();
    ArrayRef<unsigned> loops = domain.getLoopDims(op);
    if (isPointwise(op)) {
      if (reduced && llvm::any_of(*reduced, [&](unsigned dim) {
            return llvm::is_contained(loops, dim);
          }))
        domain.rowwise = true;
      continue;
    }
    if (!getCombiner(op) || !getInitialScalar(op))
      return failure();
    SmallVector<unsigned> own;
    for (auto [loop, kind] : llvm::enumerate(op.getIteratorTypesArray()))
      if (kind == utils::IteratorType::reduction)
        own.push_back(loops[loop]);
    llvm::sort(own);
    if (reduced && *reduced != own)
      return failure();
    if (reduced)
      domain.rowwise = true;
    reduced = own;
    for (unsigned dim : own)
      domain.isReduction[dim] = true;
  }
  // Every op runs over all parallel dimensions.
  for (linalg::GenericOp op : ops)
    for (unsigned dim : domain.getParallelDims())
      if (!llvm::is_contained(domain.getLoopDims(op), dim))
        return failure();
  if (domain.rowwise && domain.windows)
    return failure();
  return domain;
}

bool KernelDomain::append(const KernelDomain &stage, Value handed) {
  auto read = stage.tensorDims.find(handed);
  if (read == stage.tensorDims.end())
    return false;
  SmallVector<int> here(stage.getNumDims(), -1);
  for (auto [made, used] : llvm::zip_equal(getAxisDims(handed), read->second))
    if (used >= 0)
      here[used] = made;
  for (auto [dim, place] : llvm::enumerate(here)) {
    if (place < 0) {
      place = getNumDims();
      isReduction.push_back(false);
      sizes.push_back(stage.sizes[dim]);
    }
    isReduction[place] = isReduction[place] || stage.isReduction[dim];
  }
  for (auto &[op, loops] : stage.loopDims)
    for (unsigned loop : loops)
      loopDims[op].push_back(here[loop]);
  for (auto &[tensor, axes] : stage.tensorDims) {
    SmallVector<int> dims;
    for (int axis : axes)
      dims.push_back(axis < 0 ? -1 : here[axis]);
    tensorDims.try_emplace(tensor, dims);
  }
  rowwise = true;
  windows |= stage.windows;
  return true;
}

FailureOr<KernelDomain>
KernelDomain::analyzeStages(ArrayRef<SmallVector<linalg::GenericOp>> stages) {
  FailureOr<KernelDomain> domain = analyze(stages.front());
  Value handed = stages.front().back()->getResult(0);
  for (ArrayRef<linalg::GenericOp> ops : stages.drop_front()) {
    FailureOr<KernelDomain> stage = analyze(ops);
    if (failed(domain) || failed(stage) || !domain->append(*stage, handed))
      return failure();
    handed = ops.back()->getResult(0);
  }
  return domain;
}

} // namespace onnx_aot::codegen

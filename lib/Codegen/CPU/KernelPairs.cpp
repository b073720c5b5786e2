//===- KernelPairs.cpp - sums of products of integer pairs
//------------------===//

#include "KernelEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace onnx_aot;
using namespace onnx_aot::cpu;
using namespace onnx_aot::codegen;

static bool hasUnitStride(Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  return succeeded(type.getStridesAndOffset(strides, offset)) &&
         !strides.empty() && strides.back() == 1;
}

std::optional<unsigned> KernelEmitter::getPairLoop(linalg::GenericOp op) {
  unsigned loop = op.getNumLoops() - 1;
  if (!isContraction(op) || tiling.laneDim < 0 ||
      domain->isReductionDim(tiling.laneDim) ||
      !getElementTypeOrSelf(op.getResult(0).getType()).isInteger(32))
    return std::nullopt;
  AffineExpr pair = getAffineDimExpr(loop, op.getContext());
  Value rows = op.getDpsInputs()[0], columns = op.getDpsInputs()[1];
  AffineMap rowMap = op.getMatchingIndexingMap(op.getDpsInputOperand(0)),
            columnMap = op.getMatchingIndexingMap(op.getDpsInputOperand(1));
  if (rowMap.getNumResults() == 0 || columnMap.getNumResults() == 0 ||
      !getElementTypeOrSelf(rows.getType()).isInteger(16) ||
      producers.lookup(rows) || producers.lookup(columns) ||
      !hasUnitStride(getArgument(rows)) || !hasUnitStride(getArgument(columns)))
    return std::nullopt;
  // The pair is the last axis of the rows, and within a column of the panels:
  // `(n mod W) * 2 + pair`.
  auto last = dyn_cast<AffineBinaryOpExpr>(
      columnMap.getResult(columnMap.getNumResults() - 1));
  unsigned lane = 0;
  for (auto [index, dim] : llvm::enumerate(domain->getLoopDims(op)))
    if ((int)dim == tiling.laneDim)
      lane = index;
  bool isPaired =
      rowMap.getResult(rowMap.getNumResults() - 1) == pair &&
      op.getStaticLoopRanges()[loop] == 2 && last &&
      last.getKind() == AffineExprKind::Add && last.getRHS() == pair &&
      last.getLHS().isFunctionOfDim(lane) && !rowMap.isFunctionOfDim(lane);
  return isPaired ? std::optional(domain->getLoopDims(op)[loop]) : std::nullopt;
}

Value KernelEmitter::loadPairs(Value source, ArrayRef<LinearIndex> indices,
                               bool isUnsigned) {
  for (Scope &scope : scopes)
    for (Scope::Load &load : scope.loads)
      if (load.source == source && ArrayRef(load.indices) == indices)
        return load.value;
  SmallVector<Value> start;
  for (LinearIndex index : indices) {
    index.lane = 0;
    start.push_back(materialize(index));
  }
  Type elementType = cast<MemRefType>(source.getType()).getElementType();
  int64_t count = tiling.lanes * 2;
  auto wide = VectorType::get({count}, builder.getI32Type());
  Value numbers;
  if (indices.back().lane) {
    numbers = vector::LoadOp::create(
        builder, loc, VectorType::get({count}, elementType), source, start);
  } else {
    // One pair for all lanes, moved as the 32 bits that it is.
    Value pair = vector::LoadOp::create(
        builder, loc, VectorType::get({2}, elementType), source, start);
    Value word = vector::ExtractOp::create(
        builder, loc,
        vector::BitCastOp::create(
            builder, loc, VectorType::get({1}, builder.getI32Type()), pair),
        int64_t(0));
    Value words = vector::BroadcastOp::create(
        builder, loc, VectorType::get({tiling.lanes}, builder.getI32Type()),
        word);
    numbers = vector::BitCastOp::create(
        builder, loc, VectorType::get({count}, elementType), words);
  }
  Value value =
      isUnsigned
          ? arith::ExtUIOp::create(builder, loc, wide, numbers).getResult()
          : arith::ExtSIOp::create(builder, loc, wide, numbers).getResult();
  scopes.back().loads.push_back(
      {source, SmallVector<LinearIndex>(indices), Value(), value});
  return value;
}

void KernelEmitter::accumulatePairs(linalg::GenericOp op, Point at,
                                    SmallVector<Value> &accumulators) {
  Block *body = op.getBody();
  bool isUnsigned =
      llvm::any_of(body->getArgument(1).getUsers(),
                   [](Operation *user) { return isa<arith::ExtUIOp>(user); });
  for (auto [row, tilePoint] : llvm::enumerate(getTilePoints())) {
    Point point = at;
    for (unsigned dim : tiling.order)
      point[dim] = tilePoint[dim];
    Value factors[2];
    for (unsigned index : {0u, 1u}) {
      OpOperand *operand = op.getDpsInputOperand(index);
      factors[index] =
          loadPairs(getArgument(operand->get()),
                    getIndices(op.getMatchingIndexingMap(operand), op, point),
                    index == 1 && isUnsigned);
    }
    // Targets have this as one instruction: vpmaddwd, vpdpwssd, smlad.
    Value products =
        arith::MulIOp::create(builder, loc, factors[0], factors[1]);
    auto halves = vector::DeinterleaveOp::create(builder, loc, products);
    Value sums = arith::AddIOp::create(builder, loc, halves.getResult(0),
                                       halves.getResult(1));
    accumulators[row] =
        arith::AddIOp::create(builder, loc, accumulators[row], sums);
  }
}

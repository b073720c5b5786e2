//===- KernelPairs.cpp - sums of products of integer pairs ----------------===//

#include "KernelEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
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
      producers.lookup(rows) || producers.lookup(columns) ||
      !hasUnitStride(getArgument(rows)) || !hasUnitStride(getArgument(columns)))
    return std::nullopt;
  // Two 16-bit numbers, or four bytes.
  unsigned bits = getElementTypeOrSelf(rows.getType()).getIntOrFloatBitWidth();
  if (op.getStaticLoopRanges()[loop] * bits != 32 || bits < 8)
    return std::nullopt;
  // The group is the last axis of the rows, and within a column of the panels:
  // `(n mod W) * 2 + pair`.
  auto last = dyn_cast<AffineBinaryOpExpr>(
      columnMap.getResult(columnMap.getNumResults() - 1));
  unsigned lane = 0;
  for (auto [index, dim] : llvm::enumerate(domain->getLoopDims(op)))
    if ((int)dim == tiling.laneDim)
      lane = index;
  bool isPaired =
      rowMap.getResult(rowMap.getNumResults() - 1) == pair && last &&
      last.getKind() == AffineExprKind::Add && last.getRHS() == pair &&
      last.getLHS().isFunctionOfDim(lane) && !rowMap.isFunctionOfDim(lane);
  return isPaired ? std::optional(domain->getLoopDims(op)[loop]) : std::nullopt;
}

Value KernelEmitter::loadGroups(Value source, ArrayRef<LinearIndex> indices,
                                int64_t count) {
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
  auto numbersType = VectorType::get({tiling.lanes * count}, elementType);
  Value numbers;
  if (indices.back().lane) {
    numbers = vector::LoadOp::create(builder, loc, numbersType, source, start);
  } else {
    // One group for all lanes, moved as the 32 bits that it is.
    Value group = vector::LoadOp::create(
        builder, loc, VectorType::get({count}, elementType), source, start);
    Value word = vector::ExtractOp::create(
        builder, loc,
        vector::BitCastOp::create(
            builder, loc, VectorType::get({1}, builder.getI32Type()), group),
        int64_t(0));
    Value words = vector::BroadcastOp::create(
        builder, loc, VectorType::get({tiling.lanes}, builder.getI32Type()),
        word);
    numbers = vector::BitCastOp::create(builder, loc, numbersType, words);
  }
  scopes.back().loads.push_back(
      {source, SmallVector<LinearIndex>(indices), Value(), numbers});
  return numbers;
}

/// Adds the four products of each lane: one instruction of x86 with VNNI.
static Value addByteProducts(OpBuilder &builder, Location loc,
                             Value accumulator, Value bytes,
                             Value signedBytes) {
  int64_t bits = cast<VectorType>(accumulator.getType()).getNumElements() * 32;
  std::string name = ("llvm.x86.avx512.vpdpbusd." + Twine(bits)).str();
  return LLVM::CallIntrinsicOp::create(
             builder, loc, accumulator.getType(), builder.getStringAttr(name),
             ValueRange{accumulator, bytes, signedBytes})
      .getResult(0);
}

/// Adds the two products of each lane. Targets have this as one instruction:
/// vpmaddwd, vpdpwssd, smlad.
static Value addPairProducts(OpBuilder &builder, Location loc,
                             Value accumulator, Value rows, Value columns,
                             bool isUnsigned) {
  auto wide = VectorType::get(cast<VectorType>(rows.getType()).getShape(),
                              builder.getI32Type());
  Value left = arith::ExtSIOp::create(builder, loc, wide, rows);
  Value right =
      isUnsigned
          ? arith::ExtUIOp::create(builder, loc, wide, columns).getResult()
          : arith::ExtSIOp::create(builder, loc, wide, columns).getResult();
  Value products = arith::MulIOp::create(builder, loc, left, right);
  auto halves = vector::DeinterleaveOp::create(builder, loc, products);
  Value sums = arith::AddIOp::create(builder, loc, halves.getResult(0),
                                     halves.getResult(1));
  return arith::AddIOp::create(builder, loc, accumulator, sums);
}

void KernelEmitter::accumulatePairs(linalg::GenericOp op, Point at,
                                    SmallVector<Value> &accumulators) {
  Block *body = op.getBody();
  bool isUnsigned =
      llvm::any_of(body->getArgument(1).getUsers(),
                   [](Operation *user) { return isa<arith::ExtUIOp>(user); });
  int64_t count = op.getStaticLoopRanges().back();
  for (auto [row, tilePoint] : llvm::enumerate(getTilePoints())) {
    Point point = at;
    for (unsigned dim : tiling.order)
      point[dim] = tilePoint[dim];
    Value factors[2];
    for (unsigned index : {0u, 1u}) {
      OpOperand *operand = op.getDpsInputOperand(index);
      factors[index] = loadGroups(
          getArgument(operand->get()),
          getIndices(op.getMatchingIndexingMap(operand), op, point), count);
    }
    accumulators[row] =
        count == 4 ? addByteProducts(builder, loc, accumulators[row],
                                     factors[0], factors[1])
                   : addPairProducts(builder, loc, accumulators[row],
                                     factors[0], factors[1], isUnsigned);
  }
}

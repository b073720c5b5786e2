//===- ChainEmitter.cpp - code for kernels that run block by block --------===//

#include "ChainEmitter.h"

#include "onnx-aot/Codegen/Common/KernelChain.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace onnx_aot;
using namespace onnx_aot::cpu;
using namespace onnx_aot::codegen;

ChainEmitter::ChainEmitter(func::FuncOp kernel, ValueRange arguments,
                           const Target &target)
    : kernel(kernel), scratch(arguments.back()) {
  DenseMap<Value, Value> buffers;
  for (auto [argument, value] :
       llvm::zip_equal(kernel.getArguments(), arguments))
    buffers[argument] = value;
  SmallVector<SmallVector<linalg::GenericOp>> split = getStages(kernel);
  for (auto [index, ops] : llvm::enumerate(split)) {
    bool isLast = index + 1 == split.size();
    Value result = ops.back()->getResult(0);
    Value output = isLast ? arguments[arguments.size() - 2] : scratch;
    Value rows = isLast ? split[index - 1].back()->getResult(0) : result;
    stages.push_back(
        {std::make_unique<KernelEmitter>(kernel, ops, buffers, output, target),
         rows});
    buffers[result] = output;
  }
}

LogicalResult ChainEmitter::prepare() {
  int64_t rows = cast<MemRefType>(scratch.getType()).getDimSize(1);
  for (Stage &stage : stages)
    if (failed(stage.emitter->prepareBlock(stage.rows, rows)))
      return failure();
  return success();
}

SmallVector<OpFoldResult> ChainEmitter::emitSizes(OpBuilder &builder,
                                                  Location loc) {
  Stage &first = stages.front();
  SmallVector<OpFoldResult> sizes;
  int64_t rank = cast<RankedTensorType>(first.rows.getType()).getRank();
  for (int64_t axis = 0; axis + 1 < rank; ++axis)
    sizes.push_back(
        first.emitter->emitAxisSize(builder, loc, first.rows, axis));
  return sizes;
}

/// Quotient, rounded up, of a size and a block's rows.
static Value emitRowBlocks(OpBuilder &builder, Location loc, Value size,
                           int64_t rows) {
  auto constant = [&](int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  Value padded =
      builder.createOrFold<arith::AddIOp>(loc, size, constant(rows - 1));
  return builder.createOrFold<arith::DivUIOp>(loc, padded, constant(rows));
}

Value ChainEmitter::emitBlockCount(OpBuilder &builder, Location loc,
                                   ArrayRef<OpFoldResult> sizes) {
  int64_t rows = cast<MemRefType>(scratch.getType()).getDimSize(1);
  Value count = emitRowBlocks(
      builder, loc, getValueOrCreateConstantIndexOp(builder, loc, sizes.back()),
      rows);
  for (OpFoldResult size : sizes.drop_back())
    count = builder.createOrFold<arith::MulIOp>(
        loc, count, getValueOrCreateConstantIndexOp(builder, loc, size));
  return count;
}

Value ChainEmitter::emitTaskCount(OpBuilder &builder, Location loc) {
  int64_t slots = cast<MemRefType>(scratch.getType()).getDimSize(0);
  return builder.createOrFold<arith::MinUIOp>(
      loc, emitBlockCount(builder, loc, emitSizes(builder, loc)),
      arith::ConstantIndexOp::create(builder, loc, slots));
}

void ChainEmitter::emitTasks(OpBuilder &builder, Location loc, Value begin,
                             Value end) {
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  SmallVector<OpFoldResult> sizes = emitSizes(builder, loc);
  Value blocks = emitBlockCount(builder, loc, sizes);
  Value tasks = emitTaskCount(builder, loc);
  int64_t rows = cast<MemRefType>(scratch.getType()).getDimSize(1);
  SmallVector<Value> lengths;
  for (OpFoldResult size : sizes)
    lengths.push_back(getValueOrCreateConstantIndexOp(builder, loc, size));

  auto loop = scf::ForOp::create(builder, loc, begin, end, constant(1));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  Value task = loop.getInductionVar();
  // Each task has its slot of the scratch memory and as many blocks as others.
  auto firstOf = [&](Value index) -> Value {
    Value scaled = builder.createOrFold<arith::MulIOp>(loc, index, blocks);
    return builder.createOrFold<arith::DivUIOp>(loc, scaled, tasks);
  };
  Value first = firstOf(task);
  Value next = builder.createOrFold<arith::AddIOp>(loc, task, constant(1));
  auto blockLoop =
      scf::ForOp::create(builder, loc, first, firstOf(next), constant(1));
  builder.setInsertionPointToStart(blockLoop.getBody());

  // Rows run fastest: what the blocks share stays in cache.
  Value rest = blockLoop.getInductionVar();
  SmallVector<Range> axes(lengths.size());
  for (int64_t axis = lengths.size() - 1; axis >= 0; --axis) {
    bool isRow = axis + 1 == (int64_t)lengths.size();
    Value count = isRow ? emitRowBlocks(builder, loc, lengths[axis], rows)
                        : lengths[axis];
    Value number = builder.createOrFold<arith::RemUIOp>(loc, rest, count);
    rest = builder.createOrFold<arith::DivUIOp>(loc, rest, count);
    int64_t step = isRow ? rows : 1;
    Value lower =
        builder.createOrFold<arith::MulIOp>(loc, number, constant(step));
    Value upper =
        builder.createOrFold<arith::AddIOp>(loc, lower, constant(step));
    std::optional<int64_t> known = getConstantIntValue(sizes[axis]);
    if (step == 1 || (known && *known % step == 0))
      axes[axis] = {lower, upper, step};
    else
      axes[axis] = {
          lower,
          builder.createOrFold<arith::MinUIOp>(loc, upper, lengths[axis]),
          std::nullopt};
  }
  for (Stage &stage : stages)
    stage.emitter->emitBlock(builder, loc, stage.rows, axes,
                             {scratch, task, axes.back().lower});
}

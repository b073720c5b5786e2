//===- KernelLoops.cpp - tasks and loops over the tiles of a kernel -------===//

#include "KernelEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace onnx_aot;
using namespace onnx_aot::cpu;
using namespace onnx_aot::codegen;

/// Rows of a tile up to which there is code for each smaller height.
static constexpr int64_t kMaxBalanced = 7;

Value KernelEmitter::constant(int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}

static Value ceilDiv(OpBuilder &b, Location loc, Value a, int64_t divisor) {
  Value padded = b.createOrFold<arith::AddIOp>(
      loc, a, arith::ConstantIndexOp::create(b, loc, divisor - 1));
  return b.createOrFold<arith::DivUIOp>(
      loc, padded, arith::ConstantIndexOp::create(b, loc, divisor));
}

Value KernelEmitter::emitTaskCount(OpBuilder &outer, Location where) {
  OpBuilder saved = builder;
  builder = outer;
  loc = where;
  Value count = constant(1);
  for (unsigned dim : tiling.order)
    if (tiling.blocks[dim])
      count = builder.createOrFold<arith::MulIOp>(
          loc, count,
          ceilDiv(builder, loc, getSizeValue(dim), tiling.blocks[dim]));
  builder = saved;
  return count;
}

void KernelEmitter::emitTasks(OpBuilder &outer, Location where, Value begin,
                              Value end) {
  builder = outer;
  loc = where;
  scopes.emplace_back();
  extents.assign(domain->getNumDims(), Extent());
  auto loop = scf::ForOp::create(builder, loc, begin, end, constant(1));
  OpBuilder::InsertionGuard guard(builder);
  // Sizes are wanted before the loop.
  builder.setInsertionPoint(loop);
  startExtremes();
  SmallVector<Value> sizes(domain->getNumDims());
  for (unsigned dim : tiling.order)
    sizes[dim] = getSizeValue(dim);
  builder.setInsertionPointToStart(loop.getBody());
  SmallVector<Range> ranges(sizes.size());
  Value rest = loop.getInductionVar();
  for (unsigned dim : llvm::reverse(tiling.order)) {
    int64_t block = tiling.blocks[dim], size = getStaticSize(dim);
    bool isStatic = !ShapedType::isDynamic(size);
    if (!block) {
      ranges[dim] = {constant(0), sizes[dim],
                     isStatic ? std::optional(size) : std::nullopt};
      continue;
    }
    Value blocks = ceilDiv(builder, loc, sizes[dim], block);
    Value number = builder.createOrFold<arith::RemUIOp>(loc, rest, blocks);
    rest = builder.createOrFold<arith::DivUIOp>(loc, rest, blocks);
    Value lower =
        builder.createOrFold<arith::MulIOp>(loc, number, constant(block));
    Value end =
        builder.createOrFold<arith::AddIOp>(loc, lower, constant(block));
    if (isStatic && size % block == 0)
      ranges[dim] = {lower, end, block};
    else
      ranges[dim] = {lower,
                     builder.createOrFold<arith::MinUIOp>(loc, end, sizes[dim]),
                     std::nullopt};
  }
  scopes.emplace_back();
  SmallVector<unsigned> cut;
  for (unsigned dim : domain->getReductionDims())
    if (tiling.steps[dim])
      cut.push_back(dim);
  emitStretches(cut, [&] { emitLoops(0, ranges); });
  scopes.pop_back();
  builder.setInsertionPointAfter(loop);
  finishExtremes();
  scopes.pop_back();
}

void KernelEmitter::emitStretches(ArrayRef<unsigned> dims,
                                  function_ref<void()> body) {
  if (dims.empty())
    return body();
  unsigned dim = dims.front();
  int64_t steps = tiling.steps[dim], size = getStaticSize(dim);
  auto loop = scf::ForOp::create(builder, loc, constant(0), constant(size),
                                 constant(steps));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  Value from = loop.getInductionVar(),
        to = builder.createOrFold<arith::AddIOp>(loc, from, constant(steps));
  if (size % steps != 0)
    to = arith::MinUIOp::create(builder, loc, to, constant(size));
  stretches[dim] = {from, to, std::nullopt};
  Value outer = isFirstStretch;
  isFirstStretch = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                         from, constant(0));
  if (outer)
    isFirstStretch = arith::AndIOp::create(builder, loc, outer, isFirstStretch);
  scopes.emplace_back();
  emitStretches(dims.drop_front(), body);
  scopes.pop_back();
  isFirstStretch = outer;
  stretches.erase(dim);
}

OpFoldResult KernelEmitter::emitAxisSize(OpBuilder &outer, Location where,
                                         Value tensor, unsigned axis) {
  builder = outer;
  loc = where;
  unsigned dim = domain->getAxisDims(tensor)[axis];
  int64_t size = getStaticSize(dim);
  if (!ShapedType::isDynamic(size))
    return builder.getIndexAttr(size);
  return getSizeValue(dim);
}

void KernelEmitter::emitBlock(OpBuilder &outer, Location where, Value tensor,
                              ArrayRef<Range> axes, BlockBuffer buffer) {
  builder = outer;
  loc = where;
  held = buffer;
  scopes.emplace_back();
  extents.assign(domain->getNumDims(), Extent());
  SmallVector<Range> ranges(domain->getNumDims());
  ArrayRef<int> dims = domain->getAxisDims(tensor);
  for (unsigned dim : tiling.order) {
    const auto *axis = llvm::find(dims.drop_back(), (int)dim);
    if (axis != dims.end() - 1) {
      ranges[dim] = axes[axis - dims.begin()];
      continue;
    }
    int64_t size = getStaticSize(dim);
    ranges[dim] = {constant(0), getSizeValue(dim),
                   ShapedType::isDynamic(size) ? std::nullopt
                                               : std::optional(size)};
  }
  emitLoops(0, ranges);
  scopes.pop_back();
}

void KernelEmitter::emitLoops(unsigned level, ArrayRef<Range> ranges) {
  if (level == tiling.order.size())
    return emitTile();
  unsigned dim = tiling.order[level];
  const Range &range = ranges[dim];
  if (packed && (int)dim == tiling.rowDim)
    return emitPackedRows(range);
  emitSteps(dim, range.lower, range.upper, range.span, [&](Extent extent) {
    extents[dim] = extent;
    emitLoops(level + 1, ranges);
  });
}

/// Tiles of two heights that differ by one, none higher than `most`: so few and
/// so high that no short one waits for its own sums.
void KernelEmitter::emitBalanced(
    Value lower, Value upper, int64_t most,
    function_ref<void(Value, Value, int64_t)> loopOver) {
  Value length = builder.createOrFold<arith::SubIOp>(loc, upper, lower);
  Value tiles = ceilDiv(builder, loc, length, most);
  Value some = builder.createOrFold<arith::MaxUIOp>(loc, tiles, constant(1));
  Value height = builder.createOrFold<arith::DivUIOp>(loc, length, some);
  Value higher = builder.createOrFold<arith::RemUIOp>(loc, length, some);
  Value others = builder.createOrFold<arith::SubIOp>(loc, tiles, higher);
  Value from = lower;
  for (int64_t count = most; count > 0; --count) {
    auto when = [&](int64_t wanted, Value number) -> Value {
      Value is = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                       height, constant(wanted));
      return arith::SelectOp::create(builder, loc, is, number, constant(0));
    };
    Value number = arith::AddIOp::create(builder, loc, when(count - 1, higher),
                                         when(count, others));
    Value rows =
        builder.createOrFold<arith::MulIOp>(loc, number, constant(count));
    Value to = builder.createOrFold<arith::AddIOp>(loc, from, rows);
    loopOver(from, to, count);
    from = to;
  }
}

/// Runs `body` over a range in tiles: full tiles in a loop, then what is left
/// in smaller tiles of constant size; along the lanes the very last one is
/// masked.
void KernelEmitter::emitSteps(unsigned dim, Value lower, Value upper,
                              std::optional<int64_t> span,
                              function_ref<void(Extent)> body) {
  bool isLane = (int)dim == tiling.laneDim;
  int64_t unit = isLane ? tiling.lanes : 1;
  int64_t units = isLane                      ? tiling.vectors
                  : (int)dim == tiling.rowDim ? tiling.rows
                  : llvm::is_contained(tiling.unrolled, dim)
                      ? std::max<int64_t>(getStaticSize(dim), 1)
                      : 1;
  auto inScope = [&](Extent extent) {
    scopes.emplace_back();
    body(extent);
    scopes.pop_back();
  };
  auto loopOver = [&](Value from, Value to, int64_t count) {
    auto loop =
        scf::ForOp::create(builder, loc, from, to, constant(count * unit));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    inScope({loop.getInductionVar(), count, {}, 0});
  };
  auto advance = [&](Value from, int64_t by) {
    return builder.createOrFold<arith::AddIOp>(loc, from, constant(by));
  };

  if (span) {
    int64_t step = units * unit, full = *span / step * step,
            rest = *span - full;
    if (full == step)
      inScope({lower, units, {}, 0});
    else if (full)
      loopOver(lower, advance(lower, full), units);
    if (!rest)
      return;
    Extent last;
    last.base = advance(lower, full);
    last.count = llvm::divideCeil(rest, unit);
    if (rest % unit) {
      last.staticRest = rest;
      last.rest = constant(rest);
    }
    inScope(last);
    return;
  }

  Value from = lower;
  if (tiling.balanced && (int)dim == tiling.rowDim && units <= kMaxBalanced) {
    emitBalanced(lower, upper, units, loopOver);
    return;
  }
  SmallVector<int64_t> counts{units};
  if (tiling.balanced && (int)dim == tiling.rowDim)
    counts.append({7, 4, 2, 1});
  else if (units > 4)
    counts.append({4, 1});
  else if (units > 1)
    counts.push_back(1);
  for (int64_t count : counts) {
    int64_t step = count * unit;
    Value left = builder.createOrFold<arith::SubIOp>(loc, upper, from);
    Value whole =
        builder.createOrFold<arith::DivUIOp>(loc, left, constant(step));
    Value length =
        builder.createOrFold<arith::MulIOp>(loc, whole, constant(step));
    Value to = builder.createOrFold<arith::AddIOp>(loc, from, length);
    loopOver(from, to, count);
    from = to;
  }
  if (unit == 1)
    return;
  Value rest = arith::SubIOp::create(builder, loc, upper, from);
  Value some = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ugt,
                                     rest, constant(0));
  auto branch = scf::IfOp::create(builder, loc, some, /*withElse=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  inScope({from, 1, rest, 0});
}

//===- KernelWeights.cpp - products with packed weights -------------------===//
//
// Few rows make floats of the weights where they multiply them. For many that
// would take longer than the products: a part of a panel becomes floats on the
// stack, as much as stays in the first-level cache, and a stretch of the
// reduction runs over it for all of these rows before the next part follows.
//
//===----------------------------------------------------------------------===//

#include "KernelEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace onnx_aot;
using namespace onnx_aot::cpu;
using namespace onnx_aot::codegen;

/// Rows up to which weights are not unpacked before; bytes of floats that stay
/// in the first-level cache.
static constexpr int64_t kFewRows = 4, kUnpackedBytes = 32768;

void KernelEmitter::findPacked() {
  for (linalg::GenericOp op : ops)
    if (op->hasAttr(kPackedAttr))
      packed = op;
}

unsigned KernelEmitter::getBlockDim() {
  AffineMap words = packed.getMatchingIndexingMap(packed.getDpsInputOperand(1));
  return domain->getLoopDims(packed)[words.getDimPosition(1)];
}

Value KernelEmitter::evaluateWeight(const Point &point) {
  IRMapping mapping;
  for (unsigned input : {1u, 2u, 3u}) {
    OpOperand *operand = packed.getDpsInputOperand(input);
    mapping.map(packed.getMatchingBlockArgument(operand),
                load(getArgument(operand->get()),
                     getIndices(packed.getMatchingIndexingMap(operand), packed,
                                point)));
  }
  Combiner combiner = *getCombiner(packed);
  Operation *product =
      combiner.op->getOperand(1 - combiner.accumulator).getDefiningOp();
  evaluateBody(packed, point, mapping, [&](Operation *inner) {
    return inner == combiner.op || inner == product;
  });
  bool isFirst = product->getOperand(0) != packed.getBody()->getArgument(0);
  return toVector(mapping.lookup(product->getOperand(isFirst ? 0 : 1)));
}

void KernelEmitter::accumulatePacked(Point at,
                                     SmallVector<Value> &accumulators) {
  int64_t vectors = extents[tiling.laneDim].count;
  // Panels are padded: what lies beyond the last column may be read.
  currentMask = {};
  SmallVector<Value> weights(vectors);
  for (auto [index, tilePoint] : llvm::enumerate(getTilePoints())) {
    Point point = at;
    for (unsigned dim : tiling.order)
      point[dim] = tilePoint[dim];
    Value &weight = weights[index % vectors];
    if (!weight && unpacked.buffer) {
      LinearIndex lane = LinearIndex::of(index % vectors * tiling.lanes);
      lane.lane = 1;
      weight =
          load(unpacked.buffer, {point[domain->getLoopDims(packed).back()] +
                                     LinearIndex::of(unpacked.from) * -1,
                                 lane});
    } else if (!weight) {
      weight = evaluateWeight(point);
    }
    OpOperand *rows = packed.getDpsInputOperand(0);
    Value element =
        load(getArgument(rows->get()),
             getIndices(packed.getMatchingIndexingMap(rows), packed, point));
    accumulators[index] = vector::FMAOp::create(builder, loc, toVector(element),
                                                weight, accumulators[index]);
  }
}

void KernelEmitter::emitUnpacking(Value from, Value to) {
  ArrayRef<unsigned> loops = domain->getLoopDims(packed);
  unsigned blockDim = getBlockDim(), wordDim = loops[loops.size() - 2],
           nibbleDim = loops.back();
  int64_t nibbles = getStaticSize(nibbleDim),
          perBlock = nibbles * getStaticSize(wordDim);
  laneExtent = extents[tiling.laneDim];
  currentMask = {};
  auto loopOver = [&](Value lower, Value upper,
                      function_ref<void(Value)> body) {
    auto loop = scf::ForOp::create(builder, loc, lower, upper, constant(1));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    scopes.emplace_back();
    body(loop.getInductionVar());
    scopes.pop_back();
  };
  loopOver(from, to, [&](Value block) {
    loopOver(constant(0), getSizeValue(wordDim), [&](Value word) {
      Point point(domain->getNumDims());
      point[blockDim] = LinearIndex::of(block);
      point[wordDim] = LinearIndex::of(word);
      LinearIndex place =
          (LinearIndex::of(block) + LinearIndex::of(from) * -1) * perBlock +
          LinearIndex::of(word) * nibbles;
      for (int64_t nibble = 0; nibble < nibbles; ++nibble)
        for (int64_t vector = 0; vector < laneExtent.count; ++vector) {
          point[nibbleDim] = LinearIndex::of(nibble);
          point[tiling.laneDim] =
              LinearIndex::of(laneExtent.base) + vector * tiling.lanes;
          point[tiling.laneDim].lane = 1;
          vector::StoreOp::create(builder, loc, evaluateWeight(point),
                                  unpacked.buffer,
                                  ValueRange{materialize(place + nibble),
                                             constant(vector * tiling.lanes)});
        }
    });
  });
}

Value KernelEmitter::createOnStack(ArrayRef<int64_t> shape) {
  OpBuilder::InsertionGuard guard(builder);
  Operation *parent = builder.getInsertionBlock()->getParentOp();
  auto function = dyn_cast<func::FuncOp>(parent);
  if (!function)
    function = parent->getParentOfType<func::FuncOp>();
  builder.setInsertionPointToStart(&function.getBody().front());
  return memref::AllocaOp::create(builder, loc,
                                  MemRefType::get(shape, builder.getF32Type()),
                                  builder.getI64IntegerAttr(64));
}

void KernelEmitter::emitPackedRows(const Range &range) {
  auto overTiles = [&](Value lower, Value upper, std::optional<int64_t> span) {
    emitSteps(tiling.rowDim, lower, upper, span, [&](Extent extent) {
      extents[tiling.rowDim] = extent;
      emitTile();
    });
  };
  if (range.span) {
    if (*range.span <= kFewRows)
      overTiles(range.lower, range.upper, range.span);
    else
      emitUnpackedRows(range, overTiles);
    return;
  }
  Value rows =
      builder.createOrFold<arith::SubIOp>(loc, range.upper, range.lower);
  Value areMany = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ugt,
                                        rows, constant(kFewRows));
  auto branch = scf::IfOp::create(builder, loc, areMany, /*withElse=*/true);
  OpBuilder::InsertionGuard guard(builder);
  auto inBlock = [&](Block *block, function_ref<void()> body) {
    builder.setInsertionPointToStart(block);
    scopes.emplace_back();
    body();
    scopes.pop_back();
  };
  inBlock(branch.thenBlock(), [&] { emitUnpackedRows(range, overTiles); });
  // Tiles as high as the few rows there are.
  int64_t height = tiling.rows;
  tiling.rows = std::min(height, kFewRows);
  inBlock(branch.elseBlock(),
          [&] { overTiles(range.lower, range.upper, std::nullopt); });
  tiling.rows = height;
}

void KernelEmitter::emitUnpackedRows(
    const Range &range,
    function_ref<void(Value, Value, std::optional<int64_t>)> overTiles) {
  ArrayRef<unsigned> loops = domain->getLoopDims(packed);
  int64_t width = tiling.vectors * tiling.lanes,
          blocks = getStaticSize(getBlockDim()),
          perBlock = getStaticSize(loops[loops.size() - 2]) *
                     getStaticSize(loops.back());
  int64_t stretch =
      std::clamp<int64_t>(kUnpackedBytes / (perBlock * width * 4), 1, blocks);
  int64_t rows =
      std::max<int64_t>(1, kUnpackedRows / tiling.rows) * tiling.rows;
  unpacked.buffer = createOnStack({stretch * perBlock, width});
  bool isCut = stretch < blocks;
  if (isCut)
    waiting.buffer = createOnStack({rows, width});

  // Parts of about the same height.
  Value length =
      builder.createOrFold<arith::SubIOp>(loc, range.upper, range.lower);
  Value parts =
      arith::CeilDivUIOp::create(builder, loc, length, constant(rows));
  Value tiles = arith::CeilDivUIOp::create(
      builder, loc, arith::CeilDivUIOp::create(builder, loc, length, parts),
      constant(tiling.rows));
  Value step =
      arith::MulIOp::create(builder, loc, tiles, constant(tiling.rows));
  auto rowLoop =
      scf::ForOp::create(builder, loc, range.lower, range.upper, step);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(rowLoop.getBody());
  scopes.emplace_back();
  Value first = rowLoop.getInductionVar();
  Value last = arith::MinUIOp::create(
      builder, loc, arith::AddIOp::create(builder, loc, first, step),
      range.upper);
  std::optional<int64_t> span;
  if (range.span && *range.span <= rows)
    span = range.span;
  auto overStretch = [&](Value from, Value to) {
    auto toElements = [&](Value block) {
      return builder.createOrFold<arith::MulIOp>(loc, block,
                                                 constant(perBlock));
    };
    unpacked.from = toElements(from);
    unpacked.to = toElements(to);
    emitUnpacking(from, to);
    overTiles(first, last, span);
  };
  if (!isCut) {
    overStretch(constant(0), constant(blocks));
  } else {
    waiting.from = first;
    auto stretchLoop = scf::ForOp::create(builder, loc, constant(0),
                                          constant(blocks), constant(stretch));
    builder.setInsertionPointToStart(stretchLoop.getBody());
    scopes.emplace_back();
    Value from = stretchLoop.getInductionVar();
    Value to = arith::MinUIOp::create(
        builder, loc,
        arith::AddIOp::create(builder, loc, from, constant(stretch)),
        constant(blocks));
    auto equals = [&](Value value, int64_t number) {
      return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                   value, constant(number));
    };
    isFirstStretch = equals(from, 0);
    waiting.isLast = equals(to, blocks);
    overStretch(from, to);
    isFirstStretch = {};
    scopes.pop_back();
  }
  scopes.pop_back();
  unpacked = {};
  waiting = {};
}

SmallVector<Value> KernelEmitter::getWaitingPlace(const Point &point,
                                                  int64_t index) {
  Value row =
      materialize(point[tiling.rowDim] + LinearIndex::of(waiting.from) * -1);
  return {row, constant(index % extents[tiling.laneDim].count * tiling.lanes)};
}

void KernelEmitter::storeOrWait(ArrayRef<Value> sums) {
  if (!waiting.buffer)
    return storeResults(ops.back());
  auto branch =
      scf::IfOp::create(builder, loc, waiting.isLast, /*withElse=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  scopes.emplace_back();
  storeResults(ops.back());
  scopes.pop_back();
  builder.setInsertionPointToStart(branch.elseBlock());
  scopes.emplace_back();
  for (auto [index, point] : llvm::enumerate(getTilePoints()))
    vector::StoreOp::create(builder, loc, sums[index], waiting.buffer,
                            getWaitingPlace(point, index));
  scopes.pop_back();
}

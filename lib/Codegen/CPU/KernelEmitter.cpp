//===- KernelEmitter.cpp - sizes, tiles and reductions of a kernel --------===//

#include "KernelEmitter.h"

#include "onnx-aot/Codegen/Common/KernelExtremes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Linalg/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace onnx_aot;
using namespace onnx_aot::cpu;
using namespace onnx_aot::codegen;

KernelEmitter::KernelEmitter(func::FuncOp kernel, ValueRange values,
                             const Target &target)
    : kernel(kernel), target(target), builder(kernel.getContext()),
      loc(kernel.getLoc()) {
  for (auto [argument, value] : llvm::zip_equal(kernel.getArguments(), values))
    arguments[argument] = value;
  ops = getOtherOps(kernel);
  ValueRange written =
      values.take_back(kernel.getFunctionType().getNumResults());
  unsigned numExtremes = getExtremes(kernel).size();
  llvm::append_range(outputs, written.drop_back(numExtremes));
  findExtremes(written.take_back(numExtremes));
}

KernelEmitter::KernelEmitter(func::FuncOp kernel,
                             ArrayRef<linalg::GenericOp> ops,
                             const DenseMap<Value, Value> &buffers,
                             ValueRange outputs, const Target &target)
    : kernel(kernel), arguments(buffers), target(target), ops(ops),
      outputs(outputs), builder(kernel.getContext()), loc(kernel.getLoc()) {}

LogicalResult KernelEmitter::analyze() {
  for (linalg::GenericOp op : ops)
    for (Value result : op->getResults())
      producers[result] = op;
  FailureOr<KernelDomain> analyzed = KernelDomain::analyze(ops);
  if (failed(analyzed))
    return failure();
  domain = *analyzed;
  findPacked();
  return success();
}

LogicalResult KernelEmitter::prepare() {
  if (failed(analyze()))
    return failure();
  SmallVector<int64_t> sizes;
  for (unsigned dim = 0; dim < domain->getNumDims(); ++dim)
    sizes.push_back(getStaticSize(dim));
  tiling = selectTiling({ops, *domain, sizes, !extremes.empty()}, target);
  chooseKept();
  return success();
}

LogicalResult KernelEmitter::prepareBlock(Value tensor, int64_t rows) {
  if (failed(analyze()))
    return failure();
  SmallVector<int64_t> sizes;
  for (unsigned dim = 0; dim < domain->getNumDims(); ++dim)
    sizes.push_back(getStaticSize(dim));
  ArrayRef<int> dims = domain->getAxisDims(tensor);
  for (int dim : dims.drop_back(2))
    sizes[dim] = 1;
  sizes[dims[dims.size() - 2]] = rows;
  tiling = selectTiling({ops, *domain, sizes}, target);
  chooseKept();
  return success();
}

//===--- Sizes ------------------------------------------------------------===//

Value KernelEmitter::getArgument(Value value) {
  auto known = arguments.find(value);
  if (known != arguments.end())
    return known->second;
  Operation *definer = value.getDefiningOp();
  if (definer && definer->hasTrait<OpTrait::ConstantLike>())
    return builder.clone(*definer)->getResult(0);
  return {};
}

/// An operand of the kernel's ops that has `dim` as an axis of its own.
static std::optional<std::pair<Value, int64_t>>
findAxis(ArrayRef<linalg::GenericOp> ops, const KernelDomain &domain,
         unsigned dim, function_ref<bool(Value)> accept) {
  for (linalg::GenericOp op : ops) {
    ArrayRef<unsigned> dims = domain.getLoopDims(op);
    for (OpOperand &operand : op->getOpOperands()) {
      if (!accept(operand.get()))
        continue;
      AffineMap map = op.getMatchingIndexingMap(&operand);
      for (auto [axis, expr] : llvm::enumerate(map.getResults()))
        if (auto loop = dyn_cast<AffineDimExpr>(expr))
          if (dims[loop.getPosition()] == dim)
            return std::make_pair(operand.get(), (int64_t)axis);
    }
  }
  return std::nullopt;
}

int64_t KernelEmitter::getStaticSize(unsigned dim) {
  for (linalg::GenericOp op : ops) {
    SmallVector<int64_t> ranges = op.getStaticLoopRanges();
    for (auto [loop, of] : llvm::enumerate(domain->getLoopDims(op)))
      if (of == dim && !ShapedType::isDynamic(ranges[loop]))
        return ranges[loop];
  }
  return ShapedType::kDynamic;
}

Value KernelEmitter::getSizeValue(unsigned dim) {
  int64_t size = getStaticSize(dim);
  if (!ShapedType::isDynamic(size))
    return constant(size);
  auto axis = findAxis(ops, *domain, dim, [&](Value value) {
    Value buffer = arguments.lookup(value);
    return buffer && isa<MemRefType>(buffer.getType()) && buffer != held.buffer;
  });
  if (axis)
    return memref::DimOp::create(builder, loc, arguments.lookup(axis->first),
                                 axis->second);
  // The output of a kernel whose last op starts from a fill.
  axis = findAxis(ops, *domain, dim, [](Value value) {
    return value.getDefiningOp<linalg::FillOp>() ||
           value.getDefiningOp<tensor::EmptyOp>();
  });
  assert(axis && "a dimension without a size");
  Value source = axis->first;
  if (auto fill = source.getDefiningOp<linalg::FillOp>())
    source = fill.getDpsInits()[0];
  if (Value buffer = arguments.lookup(source))
    return memref::DimOp::create(builder, loc, buffer, axis->second);
  auto empty = source.getDefiningOp<tensor::EmptyOp>();
  return getArgument(empty.getDynamicSize(axis->second));
}

//===--- Tiles ------------------------------------------------------------===//

/// The lane index of vector `j` from `base` on.
static LinearIndex laneIndex(Value base, int64_t vector, int64_t lanes) {
  LinearIndex index = LinearIndex::of(base) + vector * lanes;
  index.lane = 1;
  return index;
}

SmallVector<Point> KernelEmitter::getTilePoints() {
  Point base(domain->getNumDims());
  for (unsigned dim : tiling.order)
    base[dim] = LinearIndex::of(extents[dim].base);
  SmallVector<Point> points{base};
  auto spread = [&](int dim, int64_t count, auto &&at) {
    SmallVector<Point> all;
    for (const Point &point : points)
      for (int64_t i = 0; i < count; ++i) {
        all.push_back(point);
        all.back()[dim] = at(i);
      }
    points = std::move(all);
  };
  SmallVector<unsigned> covered(tiling.unrolled);
  if (tiling.rowDim >= 0)
    covered.push_back(tiling.rowDim);
  for (unsigned dim : covered)
    spread(dim, extents[dim].count, [&](int64_t i) { return base[dim] + i; });
  int lane = tiling.laneDim;
  if (lane >= 0 && !domain->isReductionDim(lane))
    spread(lane, extents[lane].count, [&](int64_t i) {
      return laneIndex(extents[lane].base, i, tiling.lanes);
    });
  return points;
}

void KernelEmitter::emitTile() {
  scopes.emplace_back();
  if (tiling.laneDim >= 0)
    laneExtent = extents[tiling.laneDim];
  keeping = NotKept;
  for (linalg::GenericOp op : ops)
    if (!isPointwise(op)) {
      bool keeps = op == keeper;
      if (keeps)
        keeping = Keeping;
      emitReduction(op);
      if (keeps)
        keeping = Kept;
    }
  SmallVector<Value> sums;
  if (waiting.buffer)
    for (const Scope::Result &result : scopes.back().results)
      llvm::append_range(sums, result.values);
  storeOrWait(sums);
  scopes.pop_back();
}

void KernelEmitter::storeResults(linalg::GenericOp op) {
  SmallVector<unsigned> inner;
  bool lanesInside = false;
  if (isPointwise(op))
    for (unsigned dim : domain->getReductionDims())
      if (llvm::is_contained(domain->getLoopDims(op), dim)) {
        if ((int)dim == tiling.laneDim)
          lanesInside = true;
        else
          inner.push_back(dim);
      }
  if (lanesInside)
    inner.push_back(tiling.laneDim);
  SmallVector<Point> points = getTilePoints();
  if (inner.empty()) {
    for (const Point &point : points)
      storeAt(op, point);
    return;
  }
  // A row-wise op runs over the reduction dimensions once more.
  std::function<void(unsigned)> nest = [&](unsigned level) {
    unsigned dim = inner[level];
    Value size = getSizeValue(dim);
    int64_t known = getStaticSize(dim);
    std::optional<int64_t> span;
    if (!ShapedType::isDynamic(known))
      span = known;
    emitSteps(dim, constant(0), size, span, [&](Extent extent) {
      extents[dim] = extent;
      if (level + 1 < inner.size())
        return nest(level + 1);
      if ((int)dim == tiling.laneDim)
        laneExtent = extent;
      for (Point point : points) {
        for (unsigned other : inner)
          point[other] = LinearIndex::of(extents[other].base);
        for (int64_t vector = 0; vector < extent.count; ++vector) {
          if ((int)dim == tiling.laneDim)
            point[dim] = laneIndex(extent.base, vector, tiling.lanes);
          storeAt(op, point);
        }
      }
    });
  };
  nest(0);
}

void KernelEmitter::storeAt(linalg::GenericOp op, const Point &point) {
  currentMask = tiling.laneDim >= 0 ? getMask(point[tiling.laneDim]) : Value();
  SmallVector<Value> values = evaluateOp(op, point);
  for (auto [index, output] : llvm::enumerate(outputs)) {
    AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(index));
    store(values[index], output, getIndices(map, op, point));
  }
  noteExtremes(values);
}

//===--- Reductions -------------------------------------------------------===//

Value KernelEmitter::combine(const Combiner &combiner, Value accumulator,
                             Value value) {
  Value operands[2] = {value, value};
  operands[combiner.accumulator] = accumulator;
  OperationState state(loc, combiner.op->getName());
  state.addOperands(operands);
  state.addTypes(accumulator.getType());
  state.addAttributes(combiner.op->getAttrs());
  return builder.create(state)->getResult(0);
}

Value KernelEmitter::reduceLanes(const Combiner &combiner, Value vector,
                                 Value initial) {
  std::optional<vector::CombiningKind> kind =
      linalg::getCombinerOpKind(combiner.op);
  auto flags = arith::FastMathFlags::none;
  if (auto math = dyn_cast<arith::ArithFastMathInterface>(combiner.op))
    flags = math.getFastMathFlagsAttr().getValue();
  Value scalar =
      vector::ReductionOp::create(builder, loc, *kind, vector, flags);
  return combine(combiner, initial, scalar);
}

void KernelEmitter::emitReduction(linalg::GenericOp op) {
  Combiner combiner = *getCombiner(op);
  Value initial = getArgument(getInitialScalar(op));
  bool reducesLanes =
      tiling.laneDim >= 0 && domain->isReductionDim(tiling.laneDim);
  SmallVector<Point> points = getTilePoints();
  SmallVector<unsigned> dims;
  // Loops in the op's own order, the lanes innermost.
  for (unsigned dim : domain->getLoopDims(op))
    if (domain->isReductionDim(dim) && (int)dim != tiling.laneDim)
      dims.push_back(dim);
  Point point = points.front();

  SmallVector<Value> accumulators;
  if (!reducesLanes) {
    if (isFirstStretch)
      accumulators = resumeSums(op, points, initial);
    else
      accumulators.assign(points.size(),
                          tiling.laneDim >= 0 ? toVector(initial) : initial);
    emitReductionLoops(dims, point, accumulators, op, combiner);
  } else {
    TypedAttr neutral = *arith::getNeutralElement(combiner.op);
    Value start = toVector(arith::ConstantOp::create(builder, loc, neutral));
    accumulators.assign(points.size() * tiling.vectors, start);
    emitReductionLoops(dims, point, accumulators, op, combiner);
    SmallVector<Value> scalars;
    for (size_t row = 0; row < points.size(); ++row) {
      Value sum = accumulators[row * tiling.vectors];
      for (int64_t i = 1; i < tiling.vectors; ++i)
        sum = combine(combiner, sum, accumulators[row * tiling.vectors + i]);
      scalars.push_back(reduceLanes(combiner, sum, initial));
    }
    accumulators = scalars;
  }
  for (auto [at, value] : llvm::zip_equal(points, accumulators))
    scopes.back().results.push_back({op, at, {value}});
}

SmallVector<Value> KernelEmitter::resumeSums(linalg::GenericOp op,
                                             ArrayRef<Point> points,
                                             Value initial) {
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  SmallVector<Value> starts(points.size(), toVector(initial));
  auto branch = scf::IfOp::create(builder, loc, ValueRange(starts).getTypes(),
                                  isFirstStretch, /*withElse=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(builder, loc, starts);
  builder.setInsertionPointToStart(branch.elseBlock());
  scopes.emplace_back();
  SmallVector<Value> sums;
  for (auto [index, point] : llvm::enumerate(points)) {
    if (waiting.buffer) {
      sums.push_back(vector::LoadOp::create(
          builder, loc, cast<VectorType>(starts[index].getType()),
          waiting.buffer, getWaitingPlace(point, index)));
      continue;
    }
    currentMask = getMask(point[tiling.laneDim]);
    sums.push_back(load(outputs.front(), getIndices(map, op, point)));
  }
  scopes.pop_back();
  scf::YieldOp::create(builder, loc, sums);
  return SmallVector<Value>(branch.getResults());
}

void KernelEmitter::emitReductionLoops(ArrayRef<unsigned> dims, Point point,
                                       SmallVector<Value> &accumulators,
                                       linalg::GenericOp op,
                                       const Combiner &combiner) {
  // One loop that carries the accumulators.
  auto loopOver = [&](Value from, Value to, int64_t step,
                      function_ref<void(Value)> body) {
    auto loop = scf::ForOp::create(builder, loc, from, to, constant(step),
                                   accumulators);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    accumulators.assign(loop.getRegionIterArgs().begin(),
                        loop.getRegionIterArgs().end());
    scopes.emplace_back();
    body(loop.getInductionVar());
    scopes.pop_back();
    scf::YieldOp::create(builder, loc, accumulators);
    accumulators.assign(loop.getResults().begin(), loop.getResults().end());
  };

  if (op == packed && unpacked.buffer) {
    // What was unpacked, and the rows, lie there as if there were no blocks.
    unsigned last = domain->getLoopDims(op).back();
    for (unsigned dim : dims)
      point[dim] = LinearIndex::of(0);
    loopOver(unpacked.from, unpacked.to, 1, [&](Value index) {
      point[last] = LinearIndex::of(index);
      accumulatePacked(point, accumulators);
    });
    return;
  }
  if (dims.size() == 1 && getPairLoop(op) == dims.front()) {
    point[dims.front()] = LinearIndex::of(0);
    accumulatePairs(op, point, accumulators);
    return;
  }
  if (!dims.empty()) {
    unsigned dim = dims.front();
    int64_t size = getStaticSize(dim);
    bool isUnrolled =
        size <= tiling.unrollReduction || (op == packed && dims.size() == 1);
    if (!ShapedType::isDynamic(size) && isUnrolled) {
      for (int64_t i = 0; i < size; ++i) {
        point[dim] = LinearIndex::of(i);
        emitReductionLoops(dims.drop_front(), point, accumulators, op,
                           combiner);
      }
      return;
    }
    auto stretch = stretches.find(dim);
    bool isCut = stretch != stretches.end();
    Value from = isCut ? stretch->second.lower : constant(0),
          to = isCut ? stretch->second.upper : getSizeValue(dim);
    loopOver(from, to, 1, [&](Value index) {
      point[dim] = LinearIndex::of(index);
      emitReductionLoops(dims.drop_front(), point, accumulators, op, combiner);
    });
    return;
  }
  if (tiling.laneDim < 0 || !domain->isReductionDim(tiling.laneDim)) {
    prefetchPanel(op, point);
    accumulate(op, combiner, point, accumulators);
    return;
  }

  // Along the lanes: whole tiles, single vectors, a masked rest.
  unsigned dim = tiling.laneDim;
  int64_t size = getStaticSize(dim);
  Value total = getSizeValue(dim), from = constant(0);
  SmallVector<int64_t> counts{tiling.vectors};
  if (tiling.vectors > 1)
    counts.push_back(1);
  for (int64_t count : counts) {
    int64_t step = count * tiling.lanes;
    Value left = builder.createOrFold<arith::SubIOp>(loc, total, from);
    Value whole =
        builder.createOrFold<arith::DivUIOp>(loc, left, constant(step));
    Value length =
        builder.createOrFold<arith::MulIOp>(loc, whole, constant(step));
    Value to = builder.createOrFold<arith::AddIOp>(loc, from, length);
    loopOver(from, to, step, [&](Value index) {
      laneExtent = {index, count, {}, 0};
      accumulate(op, combiner, point, accumulators);
    });
    from = to;
  }
  if (!ShapedType::isDynamic(size) && size % tiling.lanes == 0)
    return;
  Value rest = builder.createOrFold<arith::SubIOp>(loc, total, from);
  Value end = builder.createOrFold<arith::AddIOp>(loc, from, rest);
  // A loop of at most one turn: nothing is read when there is no rest.
  loopOver(from, end, tiling.lanes, [&](Value index) {
    laneExtent = {index, 1, rest, 0};
    accumulate(op, combiner, point, accumulators);
  });
}

/// Asks for the row of the next panel that lies where the tile now reads the
/// current one: with few rows of the other operand, weights come from memory
/// once per run.
void KernelEmitter::prefetchPanel(linalg::GenericOp op, Point at) {
  if (!tiling.prefetchPanels)
    return;
  for (unsigned dim : tiling.order)
    at[dim] = LinearIndex::of(extents[dim].base);
  at[tiling.laneDim] = at[tiling.laneDim] + tiling.vectors * tiling.lanes;
  for (OpOperand *operand : op.getDpsInputOperands()) {
    AffineMap map = op.getMatchingIndexingMap(operand);
    if (!isPanelMap(map))
      continue;
    Value source = getArgument(operand->get());
    SmallVector<LinearIndex> indices = getIndices(map, op, at);
    int64_t bytes =
        cast<MemRefType>(source.getType()).getElementTypeBitWidth() / 8;
    int64_t perLine = std::max<int64_t>(1, target.cacheLine / bytes);
    for (int64_t column = 0; column < tiling.vectors * tiling.lanes;
         column += perLine) {
      SmallVector<Value> place;
      for (const LinearIndex &index : ArrayRef(indices).drop_back())
        place.push_back(materialize(index));
      place.push_back(constant(column));
      memref::PrefetchOp::create(builder, loc, source, place, /*isWrite=*/false,
                                 /*localityHint=*/2, /*isDataCache=*/true);
    }
  }
}

void KernelEmitter::accumulate(linalg::GenericOp op, const Combiner &combiner,
                               Point at, SmallVector<Value> &accumulators) {
  if (op == packed)
    return accumulatePacked(at, accumulators);
  bool reducesLanes =
      tiling.laneDim >= 0 && domain->isReductionDim(tiling.laneDim);
  Operation *combining = combiner.op;
  Value term = combining->getOperand(1 - combiner.accumulator);
  auto product = term.getDefiningOp<arith::MulFOp>();
  bool fused = isa<arith::AddFOp>(combining) && product && term.hasOneUse() &&
               product->getBlock() == op.getBody();
  auto skip = [&](Operation *inner) {
    return inner == combining || (fused && inner == product);
  };
  SmallVector<Point> points = getTilePoints();
  int64_t vectors = reducesLanes ? laneExtent.count : 1;
  int64_t stride = reducesLanes ? tiling.vectors : 1;
  for (auto [row, tilePoint] : llvm::enumerate(points))
    for (int64_t vector = 0; vector < vectors; ++vector) {
      Point point = at;
      for (unsigned dim : tiling.order)
        point[dim] = tilePoint[dim];
      if (reducesLanes)
        point[tiling.laneDim] =
            laneIndex(laneExtent.base, vector, tiling.lanes);
      currentMask =
          tiling.laneDim >= 0 ? getMask(point[tiling.laneDim]) : Value();
      IRMapping mapping;
      bindInputs(op, point, mapping);
      evaluateBody(op, point, mapping, skip);
      Value &accumulator = accumulators[row * stride + vector];
      bool isVector = isa<VectorType>(accumulator.getType());
      auto operand = [&](Value value) {
        Value mapped = mapping.lookupOrNull(value);
        if (!mapped)
          mapped = getArgument(value);
        return isVector ? toVector(mapped) : mapped;
      };
      Value next;
      if (fused && isVector)
        next = vector::FMAOp::create(builder, loc, operand(product.getLhs()),
                                     operand(product.getRhs()), accumulator);
      else if (fused)
        next = math::FmaOp::create(builder, loc, operand(product.getLhs()),
                                   operand(product.getRhs()), accumulator);
      else
        next = combine(combiner, accumulator, operand(term));
      Value mask = reducesLanes ? currentMask : Value();
      accumulator =
          mask ? arith::SelectOp::create(builder, loc, mask, next, accumulator)
                     .getResult()
               : next;
    }
}

//===- KernelValues.cpp - the values at the points of a kernel's tile -----===//

#include "KernelEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace onnx_aot;
using namespace onnx_aot::cpu;
using namespace onnx_aot::codegen;

//===--- Indices, masks, vectors ------------------------------------------===//

Value KernelEmitter::materialize(const LinearIndex &index) {
  for (Scope &scope : scopes)
    for (auto &[known, value] : scope.indices)
      if (known == index)
        return value;
  Value sum;
  for (auto [term, coefficient] : index.terms) {
    Value scaled = coefficient == 1 ? term
                                    : builder.createOrFold<arith::MulIOp>(
                                          loc, term, constant(coefficient));
    sum = sum ? builder.createOrFold<arith::AddIOp>(loc, sum, scaled) : scaled;
  }
  if (!sum || index.constant)
    sum = sum ? builder.createOrFold<arith::AddIOp>(loc, sum,
                                                    constant(index.constant))
              : constant(index.constant);
  if (index.lane) {
    auto type = VectorType::get({tiling.lanes}, builder.getIndexType());
    Value steps = vector::StepOp::create(builder, loc, type);
    Value factor =
        vector::BroadcastOp::create(builder, loc, type, constant(index.lane));
    steps = arith::MulIOp::create(builder, loc, steps, factor);
    Value start = vector::BroadcastOp::create(builder, loc, type, sum);
    sum = arith::AddIOp::create(builder, loc, start, steps);
  }
  scopes.back().indices.push_back({index, sum});
  return sum;
}

LinearIndex KernelEmitter::divide(const LinearIndex &index, int64_t divisor,
                                  bool remainder) {
  LinearIndex terms = index;
  terms.lane = 0;
  if (terms.isConstant())
    return LinearIndex::of(remainder ? terms.constant % divisor
                                     : terms.constant / divisor);
  // The same quotient is the same SSA value, or shared loads would not be seen.
  for (Scope &scope : scopes)
    for (Scope::Quotient &known : scope.quotients)
      if (known.index == terms && known.divisor == divisor &&
          known.remainder == remainder)
        return LinearIndex::of(known.value);
  Value whole = materialize(terms), by = constant(divisor);
  Value result = remainder
                     ? builder.createOrFold<arith::RemUIOp>(loc, whole, by)
                     : builder.createOrFold<arith::DivUIOp>(loc, whole, by);
  scopes.back().quotients.push_back({terms, divisor, remainder, result});
  return LinearIndex::of(result);
}

Value KernelEmitter::toVector(Value value) {
  if (isa<VectorType>(value.getType()))
    return value;
  for (Scope &scope : scopes)
    for (auto &[scalar, vector] : scope.broadcasts)
      if (scalar == value)
        return vector;
  auto type = VectorType::get({tiling.lanes}, value.getType());
  Value vector = vector::BroadcastOp::create(builder, loc, type, value);
  scopes.back().broadcasts.push_back({value, vector});
  return vector;
}

Value KernelEmitter::getMask(const LinearIndex &index) {
  if (!laneExtent.rest || !index.lane)
    return {};
  int64_t offset = index.constant;
  if (laneExtent.staticRest && offset + tiling.lanes <= laneExtent.staticRest)
    return {};
  for (Scope &scope : scopes)
    for (Scope::Mask &mask : scope.masks)
      if (mask.rest == laneExtent.rest && mask.offset == offset)
        return mask.value;
  auto type = VectorType::get({tiling.lanes}, builder.getI1Type());
  Value left = builder.createOrFold<arith::SubIOp>(loc, laneExtent.rest,
                                                   constant(offset));
  Value mask = vector::CreateMaskOp::create(builder, loc, type, left);
  scopes.back().masks.push_back({laneExtent.rest, offset, mask});
  return mask;
}

int64_t KernelEmitter::countActive(Value mask) {
  if (laneExtent.staticRest)
    for (Scope &scope : scopes)
      for (Scope::Mask &known : scope.masks)
        if (known.value == mask && known.rest == laneExtent.rest)
          return std::min(laneExtent.staticRest - known.offset, tiling.lanes);
  return 0;
}

SmallVector<LinearIndex> KernelEmitter::getIndices(AffineMap map,
                                                   linalg::GenericOp op,
                                                   const Point &point) {
  SmallVector<LinearIndex> loops;
  for (unsigned dim : domain->getLoopDims(op))
    loops.push_back(point[dim]);
  SmallVector<LinearIndex> indices;
  for (AffineExpr expr : map.getResults()) {
    std::optional<LinearIndex> index = cpu::evaluate(
        expr, loops,
        [&](const LinearIndex &terms, int64_t divisor, bool remainder) {
          return divide(terms, divisor, remainder);
        });
    assert(index && "indexing map of a form that forming kernels lets through");
    indices.push_back(*index);
  }
  return indices;
}

//===--- Memory -----------------------------------------------------------===//

static bool hasUnitStride(Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  return succeeded(type.getStridesAndOffset(strides, offset)) &&
         !strides.empty() && strides.back() == 1;
}

static bool hasLanes(ArrayRef<LinearIndex> indices) {
  return llvm::any_of(indices,
                      [](const LinearIndex &i) { return i.lane != 0; });
}

/// Neighbouring lanes lie side by side in memory.
static bool isContiguous(Value buffer, ArrayRef<LinearIndex> indices) {
  return hasUnitStride(buffer) && indices.back().lane == 1 &&
         !hasLanes(indices.drop_back());
}

/// Lanes lie so close to each other that loading all between them pays.
static bool isEvenlySpaced(Value buffer, ArrayRef<LinearIndex> indices,
                           int64_t lanes) {
  constexpr int64_t kMostLoads = 4;
  return hasUnitStride(buffer) && indices.back().lane > 1 &&
         indices.back().lane <= std::min(kMostLoads, lanes - 1) &&
         !hasLanes(indices.drop_back());
}

static LinearIndex withoutLane(LinearIndex index) {
  index.lane = 0;
  return index;
}

SmallVector<LinearIndex>
KernelEmitter::toBuffer(Value buffer, ArrayRef<LinearIndex> indices) {
  if (buffer != held.buffer)
    return SmallVector<LinearIndex>(indices);
  LinearIndex row = indices[indices.size() - 2];
  return {LinearIndex::of(held.slot), row + LinearIndex::of(held.rowBase) * -1,
          indices.back()};
}

Value KernelEmitter::load(Value source, ArrayRef<LinearIndex> tensorIndices) {
  SmallVector<LinearIndex> indices = toBuffer(source, tensorIndices);
  Value mask = hasLanes(indices) ? currentMask : Value();
  for (Scope &scope : scopes)
    for (Scope::Load &load : scope.loads)
      if (load.source == source && load.mask == mask && load.indices == indices)
        return load.value;
  Value value = emitLoad(source, indices, mask);
  scopes.back().loads.push_back({source, indices, mask, value});
  return value;
}

/// Elements 0, spacing, 2 * spacing, ... from as many loads as `spacing`. Those
/// overlap by one element, so that the last ends with the last lane.
Value KernelEmitter::loadSpaced(Value source, ArrayRef<Value> start,
                                int64_t spacing, VectorType type, Value mask) {
  int64_t lanes = tiling.lanes, step = lanes - 1;
  Value result, zero;
  if (mask)
    zero = arith::ConstantOp::create(
        builder, loc, type, cast<TypedAttr>(builder.getZeroAttr(type)));
  for (int64_t load = 0; load < spacing; ++load) {
    SmallVector<Value> at(start);
    at.back() = builder.createOrFold<arith::AddIOp>(loc, at.back(),
                                                    constant(load * step));
    Value part;
    if (mask) {
      // An element is read for the next lane, if that is none of those beyond
      // the end.
      SmallVector<int64_t> next;
      for (int64_t i = 0; i < lanes; ++i)
        next.push_back(llvm::divideCeil(load * step + i, spacing));
      Value active = vector::ShuffleOp::create(builder, loc, mask, mask, next);
      part = vector::MaskedLoadOp::create(builder, loc, type, source, at,
                                          active, zero);
    } else {
      part = vector::LoadOp::create(builder, loc, type, source, at);
    }
    if (!result) {
      result = part;
      continue;
    }
    // The lanes of this load; of those before, what the first shuffle placed.
    SmallVector<int64_t> places;
    for (int64_t lane = 0; lane < lanes; ++lane) {
      int64_t own = lane * spacing - load * step;
      int64_t before = load == 1 ? std::min(lane * spacing, step) : lane;
      places.push_back(own >= 0 ? lanes + std::min(own, step) : before);
    }
    result = vector::ShuffleOp::create(builder, loc, result, part, places);
  }
  return result;
}

Value KernelEmitter::emitLoad(Value source, ArrayRef<LinearIndex> indices,
                              Value mask) {
  Type elementType = cast<MemRefType>(source.getType()).getElementType();
  SmallVector<Value> start;
  for (const LinearIndex &index : indices)
    start.push_back(materialize(withoutLane(index)));
  if (!hasLanes(indices))
    return memref::LoadOp::create(builder, loc, source, start);
  auto type = VectorType::get({tiling.lanes}, elementType);
  // Past the end along the lanes there is nothing to read.
  Value end;
  if (guarded) {
    unsigned axis =
        llvm::find_if(
            indices, [](const LinearIndex &index) { return index.lane != 0; }) -
        indices.begin();
    end = builder.createOrFold<memref::DimOp>(loc, source, (int64_t)axis);
    if (isContiguous(source, indices))
      mask = vector::CreateMaskOp::create(
          builder, loc, VectorType::get({tiling.lanes}, builder.getI1Type()),
          builder.createOrFold<arith::SubIOp>(loc, end, start[axis]));
  }
  if (isContiguous(source, indices)) {
    if (!mask)
      return vector::LoadOp::create(builder, loc, type, source, start);
    Value zero = arith::ConstantOp::create(
        builder, loc, type, cast<TypedAttr>(builder.getZeroAttr(type)));
    return vector::MaskedLoadOp::create(builder, loc, type, source, start, mask,
                                        zero);
  }
  if (!end && isEvenlySpaced(source, indices, tiling.lanes))
    return loadSpaced(source, start, indices.back().lane, type, mask);
  SmallVector<Value> elements;
  int64_t numActive = mask ? countActive(mask) : 0;
  for (int64_t lane = 0; lane < tiling.lanes; ++lane) {
    if (numActive > 0 && lane >= numActive) {
      elements.push_back(elements.front()); // never used
      continue;
    }
    SmallVector<Value> at(start);
    Value active =
        mask && lane && numActive <= 0
            ? vector::ExtractOp::create(builder, loc, mask, lane).getResult()
            : Value();
    for (auto [place, index] : llvm::zip_equal(at, indices)) {
      if (index.lane && end) {
        place = builder.createOrFold<arith::AddIOp>(
            loc, place, constant(index.lane * lane));
        Value last = builder.createOrFold<arith::SubIOp>(loc, end, constant(1));
        place = builder.createOrFold<arith::MinUIOp>(loc, place, last);
        continue;
      }
      if (!index.lane || !lane)
        continue;
      Value offset = constant(index.lane * lane);
      // A lane beyond the end reads what lane 0 reads.
      if (active)
        offset =
            arith::SelectOp::create(builder, loc, active, offset, constant(0));
      place = builder.createOrFold<arith::AddIOp>(loc, place, offset);
    }
    elements.push_back(memref::LoadOp::create(builder, loc, source, at));
  }
  return vector::FromElementsOp::create(builder, loc, type, elements);
}

void KernelEmitter::store(Value value, Value target,
                          ArrayRef<LinearIndex> tensorIndices) {
  SmallVector<LinearIndex> indices = toBuffer(target, tensorIndices);
  SmallVector<Value> start;
  for (const LinearIndex &index : indices)
    start.push_back(materialize(withoutLane(index)));
  if (!hasLanes(indices)) {
    memref::StoreOp::create(builder, loc, value, target, start);
    return;
  }
  value = toVector(value);
  if (isContiguous(target, indices)) {
    if (currentMask)
      vector::MaskedStoreOp::create(builder, loc, target, start, currentMask,
                                    value);
    else
      vector::StoreOp::create(builder, loc, value, target, start);
    return;
  }
  int64_t numActive = currentMask ? countActive(currentMask) : 0,
          numLanes = numActive > 0 ? numActive : tiling.lanes;
  for (int64_t lane = 0; lane < numLanes; ++lane) {
    OpBuilder::InsertionGuard guard(builder);
    if (currentMask && lane && numActive <= 0) {
      Value active = vector::ExtractOp::create(builder, loc, currentMask, lane);
      auto branch = scf::IfOp::create(builder, loc, active, false);
      builder.setInsertionPointToStart(branch.thenBlock());
    }
    SmallVector<Value> at(start);
    for (auto [place, index] : llvm::zip_equal(at, indices))
      if (index.lane)
        place = builder.createOrFold<arith::AddIOp>(
            loc, place, constant(index.lane * lane));
    Value element = vector::ExtractOp::create(builder, loc, value, lane);
    memref::StoreOp::create(builder, loc, element, target, at);
  }
}

//===--- Kept values
//-------------------------------------------------------===//

static bool hasElementaryFunction(linalg::GenericOp op) {
  return llvm::any_of(op.getBody()->without_terminator(), [](Operation &inner) {
    return isa<math::ExpOp, math::ExpM1Op, math::TanhOp, math::ErfOp,
               math::LogOp, math::PowFOp>(inner);
  });
}

/// All uses of the tensor by `op` are at the op's own point.
static bool readsInPlace(linalg::GenericOp op, Value tensor) {
  return llvm::all_of(op.getDpsInputOperands(), [&](OpOperand *operand) {
    return operand->get() != tensor ||
           op.getMatchingIndexingMap(operand).isIdentity();
  });
}

void KernelEmitter::chooseKept() {
  linalg::GenericOp last = ops.back();
  if (tiling.laneDim < 0 || !domain->isReductionDim(tiling.laneDim) ||
      !isPointwise(last) || last->getNumResults() != 1 ||
      !last.getMatchingIndexingMap(last.getDpsInitOperand(0)).isIdentity())
    return;
  for (linalg::GenericOp producer : ops) {
    if (!isPointwise(producer) || producer == last ||
        !hasElementaryFunction(producer) || producer->getNumResults() != 1 ||
        !producer.getMatchingIndexingMap(producer.getDpsInitOperand(0))
             .isIdentity())
      continue;
    Value value = producer->getResult(0);
    if (value.getType() != last->getResult(0).getType() ||
        !llvm::is_contained(last.getDpsInputs(), value))
      continue;
    linalg::GenericOp sum;
    bool isSafe = true;
    for (linalg::GenericOp op : ops) {
      bool reads = llvm::is_contained(op.getDpsInputs(), value);
      // What is kept lies where the results go, and so may what it is made of.
      bool overwritten = llvm::any_of(op.getDpsInputs(), [&](Value input) {
        return arguments.lookup(input) == outputs.front();
      });
      if (isPointwise(op))
        isSafe &= op == producer || (!overwritten && (!reads || op == last));
      else
        isSafe &= !overwritten || !sum;
      isSafe &= readsInPlace(op, value);
      if (reads && !isPointwise(op))
        sum = op;
    }
    if (sum && isSafe) {
      kept = producer;
      keeper = sum;
      return;
    }
  }
}

//===--- Evaluation -------------------------------------------------------===//

/// Equal on the dimensions that the op runs over.
static bool samePoint(const Point &a, const Point &b, ArrayRef<unsigned> dims) {
  return llvm::all_of(dims, [&](unsigned dim) { return a[dim] == b[dim]; });
}

SmallVector<Value> KernelEmitter::evaluateOp(linalg::GenericOp op,
                                             const Point &point) {
  SmallVector<unsigned> dims(domain->getLoopDims(op));
  if (!isPointwise(op))
    llvm::erase_if(dims, [&](unsigned d) { return domain->isReductionDim(d); });
  for (Scope &scope : scopes)
    for (Scope::Result &result : scope.results)
      if (result.op == op && samePoint(result.point, point, dims))
        return result.values;
  assert(isPointwise(op) && "a reduction is computed before it is used");
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  if (op == kept && keeping == Kept)
    return {load(outputs.front(), getIndices(map, op, point))};
  IRMapping mapping;
  bindInputs(op, point, mapping);
  evaluateBody(op, point, mapping, [](Operation *) { return false; });
  SmallVector<Value> values;
  for (Value yielded : op.getBody()->getTerminator()->getOperands()) {
    Value value = mapping.lookupOrNull(yielded);
    values.push_back(value ? value : getArgument(yielded));
  }
  if (op == kept && keeping == Keeping)
    store(values.front(), outputs.front(), getIndices(map, op, point));
  scopes.back().results.push_back({op, point, values});
  return values;
}

void KernelEmitter::bindInputs(linalg::GenericOp op, const Point &point,
                               IRMapping &mapping) {
  for (OpOperand *operand : op.getDpsInputOperands()) {
    BlockArgument argument = op.getMatchingBlockArgument(operand);
    if (argument.use_empty())
      continue;
    Value source = operand->get();
    if (!isa<TensorType>(source.getType())) {
      mapping.map(argument, getArgument(source));
      continue;
    }
    SmallVector<LinearIndex> indices =
        getIndices(op.getMatchingIndexingMap(operand), op, point);
    linalg::GenericOp producer = producers.lookup(source);
    if (!producer) {
      guarded = op->hasAttr(kGuardAttr) && hasLanes(indices);
      mapping.map(argument, load(getArgument(source), indices));
      guarded = false;
      continue;
    }
    unsigned result = cast<OpResult>(source).getResultNumber();
    AffineMap map =
        producer.getMatchingIndexingMap(producer.getDpsInitOperand(result));
    Point at = point;
    AffineMap use = op.getMatchingIndexingMap(operand);
    for (auto [axis, expr] : llvm::enumerate(map.getResults())) {
      // A constant index reads an axis of one element: any point of it will do.
      auto loop = dyn_cast<AffineDimExpr>(expr);
      if (loop && !isa<AffineConstantExpr>(use.getResult(axis)))
        at[domain->getLoopDims(producer)[loop.getPosition()]] = indices[axis];
    }
    mapping.map(argument, evaluateOp(producer, at)[result]);
  }
}

void KernelEmitter::evaluateBody(linalg::GenericOp op, const Point &point,
                                 IRMapping &mapping,
                                 function_ref<bool(Operation *)> skip) {
  for (Operation &inner : op.getBody()->without_terminator()) {
    if (skip(&inner))
      continue;
    if (auto index = dyn_cast<linalg::IndexOp>(inner)) {
      unsigned dim = domain->getLoopDims(op)[index.getDim()];
      mapping.map(index.getResult(), materialize(point[dim]));
      continue;
    }
    if (auto extract = dyn_cast<tensor::ExtractOp>(inner)) {
      mapping.map(extract.getResult(),
                  emitExtract(extract, point, op, mapping));
      continue;
    }
    if (inner.hasTrait<OpTrait::ConstantLike>()) {
      builder.clone(inner, mapping);
      continue;
    }
    SmallVector<Value> operands;
    bool vectors = false;
    for (Value operand : inner.getOperands()) {
      Value value = mapping.lookupOrNull(operand);
      operands.push_back(value ? value : getArgument(operand));
      vectors |= isa<VectorType>(operands.back().getType());
    }
    OperationState state(loc, inner.getName());
    for (Value operand : operands)
      state.operands.push_back(vectors ? toVector(operand) : operand);
    for (Type type : inner.getResultTypes())
      state.types.push_back(
          vectors ? Type(VectorType::get({tiling.lanes}, type)) : type);
    state.addAttributes(inner.getAttrs());
    Operation *created = builder.create(state);
    mapping.map(inner.getResults(), created->getResults());
  }
}

Value KernelEmitter::emitExtract(tensor::ExtractOp op, const Point &point,
                                 linalg::GenericOp parent, IRMapping &mapping) {
  Value source = getArgument(op.getTensor());
  SmallVector<Value> indices;
  bool vectors = false;
  for (Value index : op.getIndices()) {
    Value value = mapping.lookupOrNull(index);
    indices.push_back(value ? value : getArgument(index));
    vectors |= isa<VectorType>(indices.back().getType());
  }
  if (!vectors)
    return memref::LoadOp::create(builder, loc, source, indices);
  Type elementType = cast<MemRefType>(source.getType()).getElementType();
  auto type = VectorType::get({tiling.lanes}, elementType);
  // Whole rows: only the last index runs along the lanes, one by one.
  auto last = op.getIndices().back().getDefiningOp<linalg::IndexOp>();
  if (last && hasUnitStride(source) &&
      llvm::none_of(ArrayRef(indices).drop_back(), [](Value value) {
        return isa<VectorType>(value.getType());
      })) {
    const LinearIndex &lane = point[domain->getLoopDims(parent)[last.getDim()]];
    if (lane.lane == 1) {
      indices.back() = materialize(withoutLane(lane));
      if (!currentMask)
        return vector::LoadOp::create(builder, loc, type, source, indices);
      Value zero = arith::ConstantOp::create(
          builder, loc, type, cast<TypedAttr>(builder.getZeroAttr(type)));
      return vector::MaskedLoadOp::create(builder, loc, type, source, indices,
                                          currentMask, zero);
    }
  }
  SmallVector<Value> elements;
  for (int64_t lane = 0; lane < tiling.lanes; ++lane) {
    SmallVector<Value> at;
    for (Value index : indices) {
      Value scalar = index;
      if (isa<VectorType>(index.getType())) {
        scalar = vector::ExtractOp::create(builder, loc, index, lane);
        // Lanes beyond the end have indices of their own; lane 0 is valid.
        if (currentMask && lane) {
          Value active =
              vector::ExtractOp::create(builder, loc, currentMask, lane);
          Value first =
              vector::ExtractOp::create(builder, loc, index, int64_t(0));
          scalar = arith::SelectOp::create(builder, loc, active, scalar, first);
        }
      }
      at.push_back(scalar);
    }
    elements.push_back(memref::LoadOp::create(builder, loc, source, at));
  }
  return vector::FromElementsOp::create(builder, loc, type, elements);
}

//===- Composites.cpp - sequences and optionals in parts ------------------===//

#include "Composites.h"

#include "onnx-aot/Dialect/Onnx/IR/ShapeInference.h"

using namespace mlir;
using namespace onnx_aot;
using namespace onnx_aot::onnx;

/// A row holds the rank and the sizes.
static constexpr int64_t kColumns = 1 + kMaxEntryRank;

bool onnx_aot::isComposite(Type type) {
  return isa<SequenceType, OptionalType>(type);
}

//===--- Types ------------------------------------------------------------===//

/// Element type of a sequence's entries; null where they are no tensors.
static Type getEntryElement(SequenceType sequence) {
  Type entry = sequence.getElementType();
  if (isa<SequenceType, OptionalType>(entry))
    return {};
  return getElementTypeOrSelf(entry);
}

static Type getFreshType(Operation *module, ArrayRef<int64_t> sizes,
                         Type element) {
  MLIRContext *context = module->getContext();
  Shape shape;
  for (int64_t size : sizes)
    shape.push_back(
        ShapedType::isDynamic(size)
            ? Dim(getAffineSymbolExpr(getOrAddSymbol(module, ""), context))
            : Dim::constant(context, size));
  return getTensorType(shape, element);
}

FailureOr<SmallVector<Type>> onnx_aot::getPartTypes(Operation *module,
                                                    Location loc, Type type) {
  MLIRContext *context = module->getContext();
  constexpr int64_t kDynamic = ShapedType::kDynamic;
  if (auto sequence = dyn_cast<SequenceType>(type)) {
    Type element = getEntryElement(sequence);
    if (!element)
      return emitError(loc) << "a sequence of type " << type
                            << " is not supported (supported: of tensors)";
    return SmallVector<Type>{getFreshType(module, {kDynamic}, element),
                             getFreshType(module, {kDynamic, kColumns},
                                          IntegerType::get(context, 64))};
  }
  auto optional = cast<OptionalType>(type);
  Type inner = optional.getElementType();
  SmallVector<Type> types{
      RankedTensorType::get({}, IntegerType::get(context, 1))};
  if (isa<SequenceType>(inner)) {
    FailureOr<SmallVector<Type>> parts = getPartTypes(module, loc, inner);
    if (failed(parts))
      return failure();
    llvm::append_range(types, *parts);
    return types;
  }
  auto tensor = dyn_cast<RankedTensorType>(inner);
  if (!tensor)
    return emitError(loc)
           << "an optional of type " << type
           << " is not supported (supported: a sequence or a tensor "
              "of known rank)";
  SmallVector<int64_t> sizes(tensor.getRank(), kDynamic);
  types.push_back(getFreshType(module, sizes, tensor.getElementType()));
  return types;
}

//===--- Operators --------------------------------------------------------===//

Value CompositeBuilder::integers(ArrayRef<int64_t> values) {
  return createIntegers(builder, loc, values);
}
Value CompositeBuilder::integer(int64_t value) {
  return createScalar(builder, loc, value, builder.getI64Type());
}
Value CompositeBuilder::add(Value a, Value b) {
  return createInferred<AddOp>(builder, loc, a, b);
}
Value CompositeBuilder::subtract(Value a, Value b) {
  return createInferred<SubOp>(builder, loc, a, b);
}
Value CompositeBuilder::multiply(Value a, Value b) {
  return createInferred<MulOp>(builder, loc, a, b);
}
Value CompositeBuilder::concat(ValueRange values, int64_t axis) {
  if (values.size() == 1)
    return values.front();
  return createInferred<ConcatOp>(builder, loc, values,
                                  static_cast<uint64_t>(axis));
}
Value CompositeBuilder::slice(Value value, Value first, Value last,
                              int64_t axis) {
  return createInferred<SliceOp>(builder, loc, value, first, last,
                                 integers({axis}), Value());
}
Value CompositeBuilder::gather(Value value, Value index, int64_t axis) {
  return createInferred<GatherOp>(builder, loc, value, index,
                                  static_cast<uint64_t>(axis));
}
Value CompositeBuilder::reshape(Value value, Value shape) {
  return createInferred<ReshapeOp>(builder, loc, value, shape, uint64_t(1));
}
Value CompositeBuilder::flatten(Value value) {
  return createInferred<ReshapeOp>(builder, loc, value, integers({-1}),
                                   uint64_t(0));
}
Value CompositeBuilder::toList(Value scalar) { return flatten(scalar); }
Value CompositeBuilder::toScalar(Value list) {
  return reshape(list, integers({}));
}
Value CompositeBuilder::sum(Value value, int64_t axis) {
  return createInferred<ReduceSumOp>(builder, loc, value, integers({axis}),
                                     /*keepdims=*/uint64_t(0));
}
Value CompositeBuilder::product(Value list) {
  return createInferred<ReduceProdOp>(builder, loc, list, integers({-1}),
                                      /*keepdims=*/uint64_t(0));
}
Value CompositeBuilder::shapeOf(Value value) {
  return createInferred<ShapeOp>(builder, loc, value, IntegerAttr());
}
Value CompositeBuilder::unsqueeze(Value value, ArrayRef<int64_t> axes) {
  return createInferred<UnsqueezeOp>(builder, loc, value, integers(axes));
}
Value CompositeBuilder::range(Value limit) {
  return createInferred<RangeOp>(builder, loc, integer(0), limit, integer(1));
}
Value CompositeBuilder::convert(Value value, Type element) {
  return createInferred<CastOp>(builder, loc, value, StringRef("up"),
                                uint64_t(1),
                                static_cast<uint64_t>(*getDataTypeOf(element)));
}
Value CompositeBuilder::guard(Value value, Value excess) {
  // There is nothing at 1 and beyond.
  return gather(unsqueeze(value, {0}), excess);
}

//===--- Tables -----------------------------------------------------------===//

std::optional<int64_t> CompositeBuilder::getKnownPosition(Value position,
                                                          int64_t length) {
  std::optional<SmallVector<Dim>> value = getShapeValue(position);
  if (!value || value->size() != 1 || !(*value)[0].isStatic())
    return std::nullopt;
  int64_t known = (*value)[0].getStatic();
  known += known < 0 ? length : 0;
  return known >= 0 && known < length ? std::optional(known) : std::nullopt;
}

Value CompositeBuilder::normalize(Value position, Value length) {
  Value scalar = toScalar(position);
  if (!getElementType(scalar).isInteger(64))
    scalar = convert(scalar, builder.getI64Type());
  Value isNegative = createInferred<LessOp>(builder, loc, scalar, integer(0));
  Value wrapped = add(scalar, length);
  // One that is still negative must not count from the end again.
  Value isFar = createInferred<LessOp>(builder, loc, wrapped, integer(0));
  wrapped = createInferred<WhereOp>(builder, loc, isFar,
                                    integer(int64_t(1) << 62), wrapped);
  return createInferred<WhereOp>(builder, loc, isNegative, wrapped, scalar);
}

Value CompositeBuilder::getRow(Value tensor) {
  int64_t rank = *getRank(tensor);
  SmallVector<int64_t> ones(kMaxEntryRank - rank, 1);
  SmallVector<Value> pieces{integers({rank})};
  if (rank)
    pieces.push_back(shapeOf(tensor));
  if (!ones.empty())
    pieces.push_back(integers(ones));
  return concat(pieces);
}

Value CompositeBuilder::getCounts(Value table) {
  Value sizes = slice(table, integers({1}), integers({kColumns}), 1);
  return product(sizes);
}

Value CompositeBuilder::getStarts(Value counts) {
  Value ends = createInferred<CumSumOp>(builder, loc, counts, integer(0));
  return concat({integers({0}), ends});
}

Value CompositeBuilder::getEntryOf(Value positions, Value starts) {
  // Starts at or before it, less one: the entry of a position is the last of
  // them that has elements.
  Value begun = createInferred<LessOrEqualOp>(
      builder, loc, unsqueeze(starts, {0}), unsqueeze(positions, {1}));
  return subtract(sum(convert(begun, builder.getI64Type()), 1), integer(1));
}

SmallVector<Value> CompositeBuilder::pack(const Composite &value, Type type) {
  if (!value.list)
    return value.parts;
  Type element = getEntryElement(cast<SequenceType>(type));
  SmallVector<Value> data, rows;
  for (Value entry : *value.list) {
    data.push_back(flatten(entry));
    rows.push_back(unsqueeze(getRow(entry), {0}));
  }
  if (data.empty())
    return getNothing(SequenceType::get(builder.getContext(), element));
  return {concat(data), concat(rows)};
}

//===--- Sequences --------------------------------------------------------===//

Value CompositeBuilder::getLength(const Composite &sequence) {
  if (sequence.list)
    return integer(sequence.list->size());
  return toScalar(
      slice(shapeOf(sequence.parts[1]), integers({0}), integers({1})));
}

FailureOr<Value> CompositeBuilder::getEntry(Operation *op,
                                            const Composite &sequence,
                                            Type sequenceType, Value position,
                                            Type type) {
  if (sequence.list)
    if (auto known = getKnownPosition(position, sequence.list->size()))
      return (*sequence.list)[*known];
  std::optional<Shape> shape = getShape(type);
  if (!shape)
    return op->emitOpError("has an output of unknown rank (")
           << type
           << "); the entries of a sequence that only the run tells apart "
           << "must have the same rank";
  int64_t rank = shape->size();
  Composite packed{std::nullopt, pack(sequence, sequenceType)};
  Value data = packed.parts[0], table = packed.parts[1];
  Value place = normalize(position, getLength(packed));
  Value row = gather(table, place);
  // Another rank than the one that was compiled for ends the run.
  Value ownRank = toScalar(slice(row, integers({0}), integers({1})));
  Value excess =
      createInferred<AbsOp>(builder, loc, subtract(ownRank, integer(rank)));
  row = guard(row, excess);
  Value first = toList(gather(getStarts(getCounts(table)), place));
  Value count = product(slice(row, integers({1}), integers({1 + rank})));
  Value elements = slice(data, first, add(first, toList(count)));
  SmallVector<Value> sizes;
  for (auto [index, dim] : llvm::enumerate(*shape))
    sizes.push_back(
        dim.isStatic() ? integers({dim.getStatic()})
                       : slice(row, integers({static_cast<int64_t>(index) + 1}),
                               integers({static_cast<int64_t>(index) + 2})));
  if (sizes.empty())
    return reshape(elements, integers({}));
  return reshape(elements, concat(sizes));
}

Composite CompositeBuilder::insert(const Composite &sequence, Type sequenceType,
                                   Value entry, Value position) {
  if (sequence.list) {
    size_t length = sequence.list->size();
    std::optional<int64_t> known = length;
    if (position) {
      // The end is a position too, but not one to count from.
      std::optional<SmallVector<int64_t>> constant =
          getConstantIntegers(position);
      known.reset();
      if (constant && constant->size() == 1) {
        int64_t place = constant->front();
        place += place < 0 ? static_cast<int64_t>(length) : 0;
        if (place >= 0 && place <= static_cast<int64_t>(length))
          known = place;
      }
    }
    if (known) {
      Composite longer = sequence;
      longer.list->insert(longer.list->begin() + *known, entry);
      return longer;
    }
  }
  Composite packed{std::nullopt, pack(sequence, sequenceType)};
  Value data = packed.parts[0], table = packed.parts[1];
  Value row = unsqueeze(getRow(entry), {0}), elements = flatten(entry);
  if (!position)
    return {std::nullopt, {concat({data, elements}), concat({table, row})}};
  Value place = normalize(position, getLength(packed));
  Value first = toList(gather(getStarts(getCounts(table)), place));
  Value at = toList(place), begin = integers({0}), end = integers({INT64_MAX});
  return {
      std::nullopt,
      {concat({slice(data, begin, first), elements, slice(data, first, end)}),
       concat({slice(table, begin, at), row, slice(table, at, end)})}};
}

Composite CompositeBuilder::erase(const Composite &sequence, Type sequenceType,
                                  Value position) {
  if (sequence.list && !sequence.list->empty()) {
    int64_t length = sequence.list->size();
    std::optional<int64_t> known = length - 1;
    if (position)
      known = getKnownPosition(position, length);
    if (known) {
      Composite shorter = sequence;
      shorter.list->erase(shorter.list->begin() + *known);
      return shorter;
    }
  }
  Composite packed{std::nullopt, pack(sequence, sequenceType)};
  Value data = packed.parts[0], table = packed.parts[1];
  Value length = getLength(packed);
  Value place = normalize(position ? position : integer(-1), length);
  Value counts = getCounts(table);
  Value first = toList(gather(getStarts(counts), place));
  // This reading ends the run where there is no such entry.
  Value next = add(first, toList(gather(counts, place)));
  Value at = toList(place), begin = integers({0}), end = integers({INT64_MAX});
  return {std::nullopt,
          {concat({slice(data, begin, first), slice(data, next, end)}),
           concat({slice(table, begin, at),
                   slice(table, add(at, integers({1})), end)})}};
}

//===--- Optionals --------------------------------------------------------===//

Value CompositeBuilder::getBool(bool value) {
  return createConstant(
      builder, loc,
      DenseElementsAttr::get(RankedTensorType::get({}, builder.getI1Type()),
                             value));
}

SmallVector<Value> CompositeBuilder::getNothing(Type type) {
  auto empty = [&](ArrayRef<int64_t> shape, Type element) {
    return createConstant(
        builder, loc,
        DenseElementsAttr::get(RankedTensorType::get(shape, element),
                               ArrayRef<Attribute>()));
  };
  if (auto sequence = dyn_cast<SequenceType>(type))
    return {empty({0}, getEntryElement(sequence)),
            empty({0, kColumns}, builder.getI64Type())};
  auto tensor = cast<RankedTensorType>(type);
  if (tensor.getRank() > 0)
    return {empty(SmallVector<int64_t>(tensor.getRank(), 0),
                  tensor.getElementType())};
  // A tensor of rank 0 has an element, whatever it is.
  Value one = createScalar(builder, loc, 0, builder.getI64Type());
  return {convert(one, tensor.getElementType())};
}

Value CompositeBuilder::getPresent(Value present, Value part) {
  Value isAbsent = createInferred<NotOp>(builder, loc, present);
  return guard(part, convert(isAbsent, builder.getI64Type()));
}

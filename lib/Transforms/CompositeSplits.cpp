//===- CompositeSplits.cpp - between a tensor and a sequence of its parts -===//

#include "Composites.h"

#include "onnx-aot/Dialect/Onnx/IR/ShapeInference.h"

using namespace mlir;
using namespace onnx_aot;
using namespace onnx_aot::onnx;

Value CompositeBuilder::minimum(Value a, Value b) {
  return createInferred<MinOp>(builder, loc, ValueRange{a, b});
}

//===--- SplitToSequence --------------------------------------------------===//

/// The parts' lengths where they are known: how many are needed of each.
static std::optional<SmallVector<int64_t>> getKnownLengths(SplitToSequenceOp op,
                                                           Dim size) {
  if (!size.isStatic())
    return std::nullopt;
  int64_t total = size.getStatic(), each = 1;
  if (op.getSplit()) {
    auto split = getConstantIntegers(op.getSplit());
    if (!split)
      return std::nullopt;
    if (getRank(op.getSplit()) != 0)
      return split;
    each = split->front();
  }
  // Longer lists stay tensors: each entry would be ops of its own.
  constexpr int64_t kMaxEntries = 64;
  if (each < 1 || total / each > kMaxEntries)
    return std::nullopt;
  SmallVector<int64_t> lengths;
  for (int64_t rest = total; rest > 0; rest -= each)
    lengths.push_back(std::min(rest, each));
  return lengths;
}

FailureOr<Composite> CompositeBuilder::split(SplitToSequenceOp op) {
  Value input = op.getInput();
  std::optional<Shape> shape = getShape(input);
  if (!shape || static_cast<int64_t>(shape->size()) > kMaxEntryRank)
    return op.emitOpError(
               "needs an input of a rank known at compile time, up to ")
           << kMaxEntryRank;
  int64_t axis = *normalizeAxis(op.getAxis(), shape->size());
  bool dropsAxis = !op.getSplit() && op.getKeepdims() == 0;
  if (auto lengths = getKnownLengths(op, (*shape)[axis])) {
    int64_t total = 0;
    for (int64_t length : *lengths) {
      if (length < 0 || llvm::AddOverflow(total, length, total))
        return op.emitOpError("split has the length ") << length;
    }
    if (total != (*shape)[axis].getStatic())
      return op.emitOpError("the lengths in split sum to ")
             << total << ", the dimension is " << (*shape)[axis].getStatic();
    Composite result;
    result.list.emplace();
    int64_t first = 0;
    for (int64_t length : *lengths) {
      Value part =
          slice(input, integers({first}), integers({first + length}), axis);
      if (dropsAxis)
        part = createInferred<SqueezeOp>(builder, loc, part, integers({axis}));
      result.list->push_back(part);
      first += length;
    }
    return result;
  }
  Value size =
      toScalar(slice(shapeOf(input), integers({axis}), integers({axis + 1})));
  Value lengths;
  if (!op.getSplit()) {
    lengths =
        createInferred<ExpandOp>(builder, loc, integers({1}), toList(size));
  } else if (getRank(op.getSplit()) == 0 || !getRank(op.getSplit())) {
    if (!getRank(op.getSplit()))
      return op.emitOpError("the rank of split must be known at compile time");
    Value each = convert(op.getSplit(), builder.getI64Type());
    // One below 1 ends the run.
    Value lacks = createInferred<LessOp>(builder, loc, each, integer(1));
    each = guard(each, convert(lacks, builder.getI64Type()));
    Value count = createInferred<DivOp>(
        builder, loc, subtract(add(size, each), integer(1)), each);
    Value rest = subtract(size, multiply(range(count), each));
    lengths = minimum(rest, each);
  } else {
    lengths = convert(op.getSplit(), builder.getI64Type());
    Value excess =
        createInferred<AbsOp>(builder, loc, subtract(sum(lengths, 0), size));
    Value least = createInferred<ReduceMinOp>(builder, loc,
                                              concat({lengths, integers({0})}),
                                              integers({0}), uint64_t(0));
    lengths = guard(lengths, subtract(excess, least));
  }
  Composite result = cut(input, axis, lengths);
  if (!dropsAxis)
    return result;
  // The rows without the axis: one rank less, a 1 more at the end.
  Value table = result.parts[1];
  Value rank =
      subtract(slice(table, integers({0}), integers({1}), 1), integer(1));
  Value before = slice(table, integers({1}), integers({1 + axis}), 1);
  Value behind =
      slice(table, integers({2 + axis}), integers({1 + kMaxEntryRank}), 1);
  Value one = slice(table, integers({1 + axis}), integers({2 + axis}), 1);
  result.parts[1] = concat({rank, before, behind, one}, 1);
  return result;
}

Composite CompositeBuilder::cut(Value tensor, int64_t axis, Value lengths) {
  int64_t rank = *getRank(tensor);
  Value shape = shapeOf(tensor);
  Value outer = product(slice(shape, integers({0}), integers({axis})));
  Value size = toScalar(slice(shape, integers({axis}), integers({axis + 1})));
  Value inner = product(slice(shape, integers({axis + 1}), integers({rank})));
  // Element (o, a, i) goes behind all parts before its own, (o, a) within it.
  Value starts = getStarts(lengths), positions = range(size);
  Value part = getEntryOf(positions, starts);
  Value begin = gather(starts, part), length = gather(lengths, part);
  Value within = subtract(positions, begin);
  Value rows = add(multiply(outer, begin), within);
  Value places =
      add(unsqueeze(rows, {0}),
          multiply(unsqueeze(range(outer), {1}), unsqueeze(length, {0})));
  Value view =
      reshape(tensor, concat({toList(multiply(outer, size)), toList(inner)}));
  Value data = createInferred<ScatterNDOp>(builder, loc, view,
                                           unsqueeze(flatten(places), {1}),
                                           view, StringRef("none"));

  Value count = shapeOf(lengths);
  auto column = [&](Value values) {
    Value target = concat({count, shapeOf(values)});
    return createInferred<ExpandOp>(builder, loc, unsqueeze(values, {0}),
                                    target);
  };
  SmallVector<Value> columns{column(integers({rank}))};
  if (axis > 0)
    columns.push_back(column(slice(shape, integers({0}), integers({axis}))));
  columns.push_back(unsqueeze(lengths, {1}));
  if (axis + 1 < rank)
    columns.push_back(
        column(slice(shape, integers({axis + 1}), integers({rank}))));
  if (rank < kMaxEntryRank)
    columns.push_back(
        column(integers(SmallVector<int64_t>(kMaxEntryRank - rank, 1))));
  return {std::nullopt, {flatten(data), concat(columns, 1)}};
}

//===--- ConcatFromSequence -----------------------------------------------===//

FailureOr<Value> CompositeBuilder::concat(ConcatFromSequenceOp op,
                                          const Composite &sequence) {
  bool isNew = op.getNewAxis() != 0;
  if (sequence.list && !sequence.list->empty()) {
    SmallVector<Value> entries(*sequence.list);
    if (isNew)
      for (Value &entry : entries)
        entry = unsqueeze(entry, {static_cast<int64_t>(op.getAxis())});
    auto joined =
        ConcatOp::create(builder, loc, op.getResult().getType(), entries,
                         static_cast<uint64_t>(op.getAxis()));
    if (failed(inferAndSetResultTypes(joined)))
      return failure();
    return joined.getResult();
  }
  std::optional<int64_t> rank = getRank(op.getResult());
  if (!rank)
    return op.emitOpError("the rank of the sequence's entries must be known at "
                          "compile time");
  int64_t axis = *normalizeAxis(op.getAxis(), *rank);
  Composite packed{std::nullopt,
                   pack(sequence, op.getInputSequence().getType())};
  return join(packed, *rank, axis, isNew);
}

Value CompositeBuilder::join(const Composite &sequence, int64_t rank,
                             int64_t axis, bool isNew) {
  Value data = sequence.parts[0], table = sequence.parts[1];
  int64_t entryRank = rank - isNew;
  Value first = gather(table, integer(0)); // ends the run where there is none
  // All columns but that of the axis are the same in each row.
  Value differs = createInferred<AbsOp>(builder, loc,
                                        subtract(table, unsqueeze(first, {0})));
  SmallVector<int64_t> counts(1 + kMaxEntryRank, 1);
  if (!isNew)
    counts[1 + axis] = 0;
  Value excess = createInferred<ReduceMaxOp>(
      builder, loc, multiply(differs, integers(counts)), integers({0, 1}),
      uint64_t(0));
  Value ownRank = toScalar(slice(first, integers({0}), integers({1})));
  excess =
      add(excess, createInferred<AbsOp>(builder, loc,
                                        subtract(ownRank, integer(entryRank))));
  first = guard(first, excess);
  Value before = slice(first, integers({1}), integers({1 + axis}));
  Value behind =
      slice(first, integers({1 + axis + !isNew}), integers({1 + entryRank}));
  Value outer = product(before), inner = product(behind);
  Value lengths = isNew
                      ? createInferred<ExpandOp>(
                            builder, loc, integers({1}),
                            slice(shapeOf(table), integers({0}), integers({1})))
                      : flatten(slice(table, integers({1 + axis}),
                                      integers({2 + axis}), 1));
  Value starts = getStarts(lengths), total = sum(lengths, 0);
  Value positions = range(total), entry = getEntryOf(positions, starts);
  Value base = gather(getStarts(getCounts(table)), entry);
  Value length = gather(lengths, entry);
  Value within = subtract(positions, gather(starts, entry));
  // Element (o, a, i) of the result: entry's base + (o * length + within) *
  // inner + i.
  Value rows =
      add(multiply(unsqueeze(range(outer), {1}), unsqueeze(length, {0})),
          unsqueeze(within, {0}));
  Value places = add(unsqueeze(base, {0}), multiply(rows, inner));
  Value all = add(unsqueeze(places, {2}), range(inner));
  return reshape(gather(data, all), concat({before, toList(total), behind}));
}

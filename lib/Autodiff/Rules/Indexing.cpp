//===- Indexing.cpp - gradients of elements chosen by indices -------------===//
//
// What was read several times gets the sum. Of several updates of one element
// the one that stays gets the gradient; equal extremes share it.
//
//===----------------------------------------------------------------------===//

#include "RuleUtils.h"
#include "Rules.h"

using namespace mlir;
using namespace onnx_aot;
using namespace onnx_aot::onnx;

//===--- Gather -----------------------------------------------------------===//

/// The adjoint of Gather: the slices of dy added where they came from. The
/// indexed dimensions are brought to the front and back again.
static Value gatherAdjoint(Value like, Value indices, Value dy, int64_t axis,
                           GradientBuilder &b) {
  int64_t rank = b.getRank(like), count = b.getRank(indices);
  Value address = b.unsqueeze(indices, {count});
  if (axis == 0)
    return b.create<ScatterNDOp>(b.zerosLike(like), address, dy, "add");
  SmallVector<int64_t> front, back(rank);
  for (int64_t i = 0; i < count; ++i)
    front.push_back(axis + i);
  for (int64_t i = 0; i < rank - 1 + count; ++i)
    if (i < axis || i >= axis + count)
      front.push_back(i);
  SmallVector<Value> shape{b.sizeOf(like, axis)};
  for (int64_t i = 0, next = 1; i < rank; ++i)
    if (i != axis) {
      shape.push_back(b.sizeOf(like, i));
      back[i] = next++;
    }
  Value sums = b.create<ScatterNDOp>(createFilled(b, b.concat(shape), 0.0, dy),
                                     address, b.transpose(dy, front), "add");
  return b.transpose(sums, back);
}

/// An axis that may count from the end.
static int64_t normalize(int64_t axis, Value x, GradientBuilder &b) {
  return axis < 0 ? axis + b.getRank(x) : axis;
}

/// y[.., i.., ..] = x[.., indices[i..], ..]
static LogicalResult gradGather(GatherOp op, GradientBuilder &b) {
  int64_t axis = normalize(op.getAxis(), op.getData(), b);
  b.accumulate(op.getData(),
               gatherAdjoint(op.getData(), op.getIndices(),
                             b.getGradient(op.getOutput()), axis, b));
  return success();
}

/// y[i][j] = x[indices[i][j]][j]
static LogicalResult gradGatherElements(GatherElementsOp op,
                                        GradientBuilder &b) {
  b.accumulate(op.getData(),
               b.create<ScatterElementsOp>(
                   b.zerosLike(op.getData()), op.getIndices(),
                   b.getGradient(op.getOutput()), op.getAxis(), "add"));
  return success();
}

/// y[i] = x[indices[i]]. Batch dimensions become one, whose number is put
/// before each address.
static LogicalResult gradGatherND(GatherNDOp op, GradientBuilder &b) {
  Value x = op.getData(), indices = op.getIndices();
  Value dy = b.getGradient(op.getOutput());
  int64_t batch = op.getBatchDims();
  if (batch == 0) {
    b.accumulate(x, b.create<ScatterNDOp>(b.zerosLike(x), indices, dy, "add"));
    return success();
  }
  Value count = b.create<ReduceProdOp>(getSizes(b, x, 0, batch), Value(), 1, 0);
  auto merged = [&](Value tensor) {
    if (b.getRank(tensor) == batch)
      return count;
    return b.concat({count, getSizes(b, tensor, batch)});
  };
  Value address =
      b.reshape(b.cast(indices, b.getBuilder().getI64Type()), merged(indices));
  int64_t rank = b.getRank(address);
  SmallVector<int64_t> others;
  for (int64_t axis = 1; axis < rank; ++axis)
    others.push_back(axis);
  Value places = b.concat({getSizes(b, address, 0, rank - 1), b.integers({1})});
  Value entry =
      b.create<ExpandOp>(b.unsqueeze(createIota(b, count), others), places);
  address = b.create<ConcatOp>(ValueRange{entry, address}, rank - 1);
  Value sums = b.create<ScatterNDOp>(createFilled(b, merged(x), 0.0, dy),
                                     address, b.reshape(dy, merged(dy)), "add");
  b.accumulate(x, b.reshapeLike(sums, x));
  return success();
}

//===--- Scatter ----------------------------------------------------------===//

namespace {

/// y = data with updates at some places, however these are given.
struct Scattering {
  Value data, updates, y;
  StringRef reduction;
  /// Elements of a tensor like y at the places of the updates.
  llvm::function_ref<Value(Value)> gather;
  llvm::function_ref<Value(Value data, Value updates, StringRef)> scatter;
};

/// The update that stays is the one whose number is found at its place.
Value findLast(const Scattering &s, GradientBuilder &b) {
  Type type = b.getBuilder().getI64Type();
  Value count = b.reshape(b.create<SizeOp>(s.updates), b.integers({1}));
  Value numbers = b.reshapeLike(createIota(b, count), s.updates);
  Value none = b.cast(b.zerosLike(s.data), type);
  return b.create<EqualOp>(s.gather(s.scatter(none, numbers, "none")), numbers);
}

/// y = data * updates: every factor gets the product of all others, for which
/// factors of 0 are counted.
void gradProduct(const Scattering &s, Value dy, GradientBuilder &b) {
  auto isZero = [&](Value x) -> Value {
    return b.create<EqualOp>(x, b.scalar(0.0, x));
  };
  auto orOne = [&](Value x) { return b.where(isZero(x), b.scalar(1.0, x), x); };
  Value product = s.scatter(orOne(s.data), orOne(s.updates), "mul");
  Value zeros = s.scatter(b.castLike(isZero(s.data), dy),
                          b.castLike(isZero(s.updates), dy), "add");
  auto others = [&](Value factor, Value all, Value zeroCount, Value gradient) {
    Value rest = b.sub(zeroCount, b.castLike(isZero(factor), dy));
    return b.select(isZero(rest), b.mul(gradient, b.div(all, orOne(factor))));
  };
  b.accumulate(s.data, others(s.data, product, zeros, dy));
  if (b.isActive(s.updates))
    b.accumulate(s.updates, others(s.updates, s.gather(product),
                                   s.gather(zeros), s.gather(dy)));
}

/// y = max or min of data and updates
void gradExtremum(const Scattering &s, Value dy, GradientBuilder &b) {
  auto isTie = [&](Value x, Value y) {
    return b.castLike(b.create<EqualOp>(x, y), dy);
  };
  Value ofData = isTie(s.data, s.y),
        ofUpdates = isTie(s.updates, s.gather(s.y));
  Value share = b.div(dy, s.scatter(ofData, ofUpdates, "add"));
  b.accumulate(s.data, b.mul(share, ofData));
  b.accumulate(s.updates, b.mul(s.gather(share), ofUpdates));
}

LogicalResult gradScattering(const Scattering &s, GradientBuilder &b) {
  Value dy = b.getGradient(s.y);
  if (s.reduction == "mul") {
    gradProduct(s, dy, b);
  } else if (s.reduction == "max" || s.reduction == "min") {
    gradExtremum(s, dy, b);
  } else if (s.reduction == "add") {
    b.accumulate(s.data, dy);
    b.accumulate(s.updates, s.gather(dy));
  } else {
    if (b.isActive(s.data))
      b.accumulate(s.data, s.scatter(dy, b.zerosLike(s.updates), "none"));
    if (b.isActive(s.updates))
      b.accumulate(s.updates, b.select(findLast(s, b), s.gather(dy)));
  }
  return success();
}

} // namespace

/// y = x; y[indices[i][j]][j] = updates[i][j]
static LogicalResult gradScatterElements(ScatterElementsOp op,
                                         GradientBuilder &b) {
  auto gather = [&](Value tensor) -> Value {
    return b.create<GatherElementsOp>(tensor, op.getIndices(), op.getAxis());
  };
  auto scatter = [&](Value data, Value updates, StringRef reduction) -> Value {
    return b.create<ScatterElementsOp>(data, op.getIndices(), updates,
                                       op.getAxis(), reduction);
  };
  return gradScattering({op.getData(), op.getUpdates(), op.getOutput(),
                         op.getReduction(), gather, scatter},
                        b);
}

/// y = x; y[indices[i]] = updates[i]
static LogicalResult gradScatterND(ScatterNDOp op, GradientBuilder &b) {
  auto gather = [&](Value tensor) -> Value {
    return b.create<GatherNDOp>(tensor, op.getIndices(), 0);
  };
  auto scatter = [&](Value data, Value updates, StringRef reduction) -> Value {
    return b.create<ScatterNDOp>(data, op.getIndices(), updates, reduction);
  };
  return gradScattering({op.getData(), op.getUpdates(), op.getOutput(),
                         op.getReduction(), gather, scatter},
                        b);
}

/// present = past; present[b, .., write_indices[b] + i, ..] = update[b, .., i,
/// ..]
static LogicalResult gradTensorScatter(TensorScatterOp op, GradientBuilder &b) {
  Value past = op.getPastCache(), update = op.getUpdate();
  Value dy = b.getGradient(op.getPresentCache());
  int64_t rank = b.getRank(update), axis = normalize(op.getAxis(), past, b);
  if (b.isActive(past)) {
    Value written = b.create<TensorScatterOp>(
        b.zerosLike(past), b.onesLike(update), op.getWriteIndices(),
        op.getAxisAttr(), op.getModeAttr());
    b.accumulate(past, b.mul(dy, b.sub(1.0, written)));
  }
  if (!b.isActive(update))
    return success();
  SmallVector<int64_t> behind, around;
  for (int64_t i = 1; i < rank; ++i)
    around.push_back(i);
  for (int64_t i = axis + 1; i < rank; ++i)
    behind.push_back(i - axis);
  Value at = b.unsqueeze(createIota(b, b.sizeOf(update, axis)), behind);
  if (Value first = op.getWriteIndices())
    at = b.add(at,
               b.unsqueeze(b.cast(first, b.getBuilder().getI64Type()), around));
  if (op.getMode() == "circular")
    at = b.create<ModOp>(at, b.sizeOf(past, axis), 0);
  at = b.create<ExpandOp>(at, b.shapeOf(update));
  b.accumulate(update, b.create<GatherElementsOp>(dy, at, axis));
  return success();
}

//===--- Search -----------------------------------------------------------===//

/// values = x[indices] along an axis
static LogicalResult gradTopK(TopKOp op, GradientBuilder &b) {
  b.accumulate(op.getX(), b.create<ScatterElementsOp>(
                              b.zerosLike(op.getX()), op.getIndices(),
                              b.getGradientOrZeros(op.getValues()),
                              static_cast<int64_t>(op.getAxis()), "add"));
  return success();
}

/// y = the slices of x, or its elements, where the condition holds
static LogicalResult gradCompress(CompressOp op, GradientBuilder &b) {
  Value x = op.getInput(), dy = b.getGradient(op.getOutput());
  Value at = b.squeeze(b.create<NonZeroOp>(op.getCondition()), {0});
  if (IntegerAttr axis = op.getAxisAttr()) {
    int64_t dim = normalize(axis.getInt(), x, b);
    b.accumulate(x, gatherAdjoint(x, at, dy, dim, b));
    return success();
  }
  Value size = b.reshape(b.create<SizeOp>(x), b.integers({1}));
  Value flat = b.create<ScatterElementsOp>(createFilled(b, size, 0.0, dy), at,
                                           dy, 0, "add");
  b.accumulate(x, b.reshapeLike(flat, x));
  return success();
}

/// y = values[1] at the indices, else values[0]
static LogicalResult gradOneHot(OneHotOp op, GradientBuilder &b) {
  Value dy = b.getGradient(op.getOutput());
  Value zero = b.reshape(b.scalar(0.0, dy), b.integers({1}));
  Value one = b.reshape(b.scalar(1.0, dy), b.integers({1}));
  Value isOn = b.create<OneHotOp>(op.getIndices(), op.getDepth(),
                                  b.concat({zero, one}), op.getAxisAttr());
  auto total = [&](Value x) {
    SmallVector<int64_t> all;
    for (int64_t axis = 0; axis < b.getRank(x); ++axis)
      all.push_back(axis);
    return b.reshape(b.sum(x, all, /*keepDims=*/false), b.integers({1}));
  };
  Value on = total(b.mul(dy, isOn));
  Value off = total(b.mul(dy, b.sub(1.0, isOn)));
  b.accumulate(op.getValues(), b.concat({off, on}));
  return success();
}

void onnx_aot::populateIndexingGradientRules(MLIRContext *context) {
  attachRule<GatherOp, gradGather>(context);
  attachRule<GatherElementsOp, gradGatherElements>(context);
  attachRule<GatherNDOp, gradGatherND>(context);
  attachRule<ScatterElementsOp, gradScatterElements>(context);
  attachRule<ScatterNDOp, gradScatterND>(context);
  attachRule<TensorScatterOp, gradTensorScatter>(context);
  attachRule<TopKOp, gradTopK>(context);
  attachRule<CompressOp, gradCompress>(context);
  attachRule<OneHotOp, gradOneHot>(context);
}

//===- Pooling.cpp - gradients of pooling ---------------------------------===//
//
// A window that reads what another reads, too, adds to its gradient. Of equal
// maxima the first one gets all of it, the one that `indices` names.
//
//===----------------------------------------------------------------------===//

#include "RuleUtils.h"
#include "Rules.h"
#include "onnx-aot/Dialect/Onnx/IR/Window.h"

using namespace mlir;
using namespace onnx_aot;
using namespace onnx_aot::onnx;

//===--- Shapes -----------------------------------------------------------===//

/// (n, c, spatial...) as (n, c, elements) or as (n c, 1, spatial...).
static Value flattenSpatial(Value x, GradientBuilder &b) {
  Value count = b.create<ReduceProdOp>(getSizes(b, x, 2), Value(), 1, 0);
  return b.reshape(x, b.concat({b.sizeOf(x, 0), b.sizeOf(x, 1), count}));
}
static Value mergedShape(Value x, GradientBuilder &b) {
  auto type = cast<RankedTensorType>(x.getType());
  if (type.hasStaticShape()) {
    SmallVector<int64_t> shape(type.getShape());
    shape[0] *= shape[1];
    shape[1] = 1;
    return b.integers(shape);
  }
  return b.concat({b.mul(b.sizeOf(x, 0), b.sizeOf(x, 1)), b.integers({1}),
                   getSizes(b, x, 2)});
}

/// Puts values at positions of the flattened x, where equal positions add up.
static Value scatterFlat(Value positions, Value values, Value like,
                         GradientBuilder &b) {
  Value all = b.integers({-1});
  Value size = b.reshape(b.create<SizeOp>(like), b.integers({1}));
  Value flat = b.create<ScatterElementsOp>(
      createFilled(b, size, 0.0, like), b.create<ReshapeOp>(positions, all),
      b.create<ReshapeOp>(values, all), 0, "add");
  return b.reshapeLike(flat, like);
}

//===--- Windows ----------------------------------------------------------===//

/// The adjoint of the sum over each window: dx[o * stride + k * dilation - pad]
/// += dy[o].
template <typename OpTy>
static Value spreadWindows(OpTy op, Value dy, GradientBuilder &b) {
  OpBuilder &builder = b.getBuilder();
  SmallVector<int64_t> shape{1, 1}, pads;
  shape.append(op.getKernelShape().begin(), op.getKernelShape().end());
  int64_t rank = op.getKernelShape().size();
  if (op.getPads())
    pads.assign(op.getPads()->begin(), op.getPads()->end());
  pads.resize(2 * rank);
  if (op.getCeilMode() && op.getStrides())
    for (int64_t i = 0; i < rank; ++i)
      pads[rank + i] += (*op.getStrides())[i] - 1;
  Value ones = createFilled(b, b.integers(shape), 1.0, dy);
  Value dx = b.create<train::ConvBackwardDataOp>(
      b.reshape(dy, mergedShape(dy, b)), ones, mergedShape(op.getX(), b),
      op.getAutoPadAttr(), op.getDilationsAttr(), IntegerAttr(),
      op.getKernelShapeAttr(), builder.getDenseI64ArrayAttr(pads),
      op.getStridesAttr(), UnitAttr());
  return b.reshapeLike(dx, op.getX());
}

/// How many elements of x each window of an average counts, (1, 1, windows...).
static FailureOr<Value> countWindows(AveragePoolOp op, GradientBuilder &b) {
  auto pool = [&](Value sizes, DenseI64ArrayAttr pads) -> Value {
    Value shape = b.concat({b.integers({1, 1}), sizes});
    return b.create<LpPoolOp>(createFilled(b, shape, 1.0, op.getX()),
                              op.getAutoPadAttr(), op.getCeilModeAttr(),
                              op.getDilationsAttr(), op.getKernelShapeAttr(),
                              b.getBuilder().getI64IntegerAttr(1), pads,
                              op.getStridesAttr(), UnitAttr());
  };
  Value sizes = getSizes(b, op.getX(), 2);
  if (!op.getCountIncludePad())
    return pool(sizes, op.getPadsAttr());
  int64_t rank = op.getKernelShape().size();
  // SAME pads only what a window reads: all of it counts.
  double elements = 1;
  for (int64_t size : op.getKernelShape())
    elements *= size;
  if (!op.getCeilMode())
    return b.scalar(elements, op.getX());
  if (op.getAutoPad() != "NOTSET" && op.getAutoPad() != "VALID")
    return b.scalar(elements, op.getX());
  if (!op.getPads())
    return pool(sizes, {});
  // The padded x, without what rounding up adds.
  SmallVector<int64_t> more(rank);
  for (int64_t i = 0; i < rank; ++i)
    more[i] = (*op.getPads())[i] + (*op.getPads())[rank + i];
  Value counts = pool(b.add(sizes, b.integers(more)), {});
  SmallVector<int64_t> zeros(rank, 0),
      axes = llvm::to_vector(llvm::seq<int64_t>(2, rank + 2));
  return Value(b.create<SliceOp>(counts, b.integers(zeros),
                                 getSizes(b, op.getY(), 2), b.integers(axes),
                                 Value()));
}

/// The derivative of a norm: dx = sign(x) |x|^(p-1) spread(dy y^(1-p)), and 0
/// where all elements are 0.
template <typename OpTy>
static Value gradNorm(OpTy op, Value x, Value y, Value dy, GradientBuilder &b,
                      function_ref<Value(Value)> spread) {
  double p = op.getP();
  Value exponent = b.scalar(1 - p, y);
  Value isZero = b.create<EqualOp>(y, b.scalar(0.0, y));
  Value safe = b.where(isZero, b.scalar(1.0, y), y);
  Value scaled = p == 1 ? dy : b.mul(dy, b.create<PowOp>(safe, exponent));
  if (p == 1)
    return b.mul(createSign(b, x), spread(scaled));
  if (p == 2)
    return b.mul(x, spread(scaled));
  Value power = b.create<PowOp>(b.create<AbsOp>(x), b.scalar(p - 1, x));
  return b.mul(b.mul(createSign(b, x), power), spread(scaled));
}

//===--- Rules ------------------------------------------------------------===//

template <typename OpTy>
static LogicalResult checkLayout(OpTy op, GradientBuilder &b) {
  if (op.getChannelsLast())
    return b.unsupported(op, "with channels_last has no gradient");
  return success();
}

/// All sizes but the batch and the channels are known, and there is something
/// in them.
static bool hasKnownWindows(Value image) {
  auto type = cast<RankedTensorType>(image.getType());
  return llvm::all_of(type.getShape().drop_front(2),
                      [](int64_t size) { return size > 0; });
}

/// y = max of each window
static LogicalResult gradMaxPool(MaxPoolOp op, GradientBuilder &b) {
  Value dy = b.getGradient(op.getY());
  if (failed(checkLayout(op, b)))
    return failure();
  if (hasKnownWindows(op.getX()) && hasKnownWindows(op.getY())) {
    b.accumulate(op.getX(),
                 b.create<train::MaxPoolBackwardOp>(
                     dy, op.getX(), op.getY(), op.getKernelShapeAttr(),
                     op.getAutoPadAttr(), op.getCeilModeAttr(),
                     op.getDilationsAttr(), op.getPadsAttr(),
                     op.getStridesAttr(), UnitAttr()));
    return success();
  }
  Value indices = op.getIndices();
  if (op.getStorageOrder() != 0) {
    MaxPoolOp rowMajor = b.createMulti<MaxPoolOp>(
        2, op.getX(), op.getAutoPadAttr(), op.getCeilModeAttr(),
        op.getDilationsAttr(), op.getKernelShapeAttr(), op.getPadsAttr(),
        b.getBuilder().getI64IntegerAttr(0), op.getStridesAttr(), UnitAttr());
    indices = rowMajor.getIndices();
  }
  b.accumulate(op.getX(), scatterFlat(indices, dy, op.getX(), b));
  return success();
}

/// dx = dy, each at the maximum of its window: linear in dy, whose gradient is
/// what lies at the maximum; x and y only say where that is.
static LogicalResult gradMaxPoolBackward(train::MaxPoolBackwardOp op,
                                         GradientBuilder &b) {
  if (failed(checkLayout(op, b)))
    return failure();
  if (!b.isActive(op.getDy()))
    return success();
  MaxPoolOp pool = b.createMulti<MaxPoolOp>(
      2, op.getX(), op.getAutoPadAttr(), op.getCeilModeAttr(),
      op.getDilationsAttr(), op.getKernelShapeAttr(), op.getPadsAttr(),
      b.getBuilder().getI64IntegerAttr(0), op.getStridesAttr(), UnitAttr());
  Value all = b.integers({-1}), dx = b.getGradient(op.getDx());
  Value taken = b.create<GatherElementsOp>(
      b.create<ReshapeOp>(dx, all), b.create<ReshapeOp>(pool.getIndices(), all),
      0);
  b.accumulate(op.getDy(), b.reshapeLike(taken, op.getDy()));
  return success();
}

/// y = sum of each window / its count
static LogicalResult gradAveragePool(AveragePoolOp op, GradientBuilder &b) {
  FailureOr<Value> counts = failure();
  if (failed(checkLayout(op, b)) || failed(counts = countWindows(op, b)))
    return failure();
  Value dy = b.div(b.getGradient(op.getY()), *counts);
  b.accumulate(op.getX(), spreadWindows(op, dy, b));
  return success();
}

/// y = (sum |x|^p of each window)^(1/p)
static LogicalResult gradLpPool(LpPoolOp op, GradientBuilder &b) {
  if (failed(checkLayout(op, b)))
    return failure();
  b.accumulate(op.getX(),
               gradNorm(op, op.getX(), op.getY(), b.getGradient(op.getY()), b,
                        [&](Value dy) { return spreadWindows(op, dy, b); }));
  return success();
}

/// y = mean of all spatial elements
static LogicalResult gradGlobalAveragePool(GlobalAveragePoolOp op,
                                           GradientBuilder &b) {
  if (failed(checkLayout(op, b)))
    return failure();
  Value count =
      b.create<ReduceProdOp>(getSizes(b, op.getX(), 2), Value(), 0, 0);
  Value dy = b.getGradient(op.getY());
  b.accumulate(op.getX(),
               b.expandLike(b.div(dy, b.castLike(count, dy)), op.getX()));
  return success();
}

/// y = maximum of all spatial elements
static LogicalResult gradGlobalMaxPool(GlobalMaxPoolOp op, GradientBuilder &b) {
  if (failed(checkLayout(op, b)))
    return failure();
  Value x = flattenSpatial(op.getX(), b);
  Value at = b.create<ArgMaxOp>(x, 2, 1, 0);
  Value dy = b.reshapeLike(b.getGradient(op.getY()), at);
  b.accumulate(op.getX(), b.reshapeLike(b.create<ScatterElementsOp>(
                                            b.zerosLike(x), at, dy, 2, "add"),
                                        op.getX()));
  return success();
}

/// y = (sum |x|^p)^(1/p) over all spatial elements
static LogicalResult gradGlobalLpPool(GlobalLpPoolOp op, GradientBuilder &b) {
  if (failed(checkLayout(op, b)))
    return failure();
  b.accumulate(op.getX(),
               gradNorm(op, op.getX(), op.getY(), b.getGradient(op.getY()), b,
                        [](Value dy) { return dy; }));
  return success();
}

/// y = 0, y.flat[i] = x: of several x at one place the last one is seen
static LogicalResult gradMaxUnpool(MaxUnpoolOp op, GradientBuilder &b) {
  if (op.getOutputShape())
    return b.unsupported(op, "with output_shape has no gradient");
  Value all = b.integers({-1}), dy = b.getGradient(op.getOutput());
  Value at = b.create<ReshapeOp>(op.getI(), all);
  Value size = b.reshape(b.create<SizeOp>(dy), b.integers({1}));
  Value isInside = b.create<AndOp>(b.create<GreaterOrEqualOp>(at, b.integer(0)),
                                   b.create<LessOp>(at, size));
  // Indices outside are dropped: they go to a place behind the end.
  at = b.where(isInside, at, size);
  Value numbers =
      createIota(b, b.reshape(b.create<SizeOp>(at), b.integers({1})));
  Value last = b.create<ScatterElementsOp>(
      b.create<ExpandOp>(b.integers({-1}), b.add(size, b.integers({1}))), at,
      numbers, 0, "none");
  Value isSeen = b.create<AndOp>(
      isInside,
      b.create<EqualOp>(b.create<GatherElementsOp>(last, at, 0), numbers));
  Value zero = b.reshape(b.scalar(0.0, dy), b.integers({1}));
  Value padded = b.concat({b.create<ReshapeOp>(dy, all), zero});
  Value dx = b.select(isSeen, b.create<GatherElementsOp>(padded, at, 0));
  b.accumulate(op.getX(), b.reshapeLike(dx, op.getX()));
  return success();
}

void onnx_aot::populatePoolingGradientRules(MLIRContext *context) {
  attachRule<MaxPoolOp, gradMaxPool>(context);
  attachRule<train::MaxPoolBackwardOp, gradMaxPoolBackward>(context);
  attachRule<AveragePoolOp, gradAveragePool>(context);
  attachRule<LpPoolOp, gradLpPool>(context);
  attachRule<MaxUnpoolOp, gradMaxUnpool>(context);
  attachRule<GlobalAveragePoolOp, gradGlobalAveragePool>(context);
  attachRule<GlobalMaxPoolOp, gradGlobalMaxPool>(context);
  attachRule<GlobalLpPoolOp, gradGlobalLpPool>(context);
}

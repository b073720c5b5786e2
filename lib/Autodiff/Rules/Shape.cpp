//===- Shape.cpp - gradients of ops that move elements --------------------===//

#include "Rules.h"

using namespace mlir;
using namespace onnx_aot;
using namespace onnx_aot::onnx;

//===--- Same elements in the same order ----------------------------------===//

/// Reshape, Flatten, Squeeze, Unsqueeze: the gradient takes the shape back.
template <typename OpTy>
static LogicalResult gradReshapeBack(OpTy op, GradientBuilder &b) {
  Value x = op->getOperand(0);
  b.accumulate(x, b.reshapeLike(b.getGradient(op->getResult(0)), x));
  return success();
}

//===--- Moving elements --------------------------------------------------===//

/// Dimension i of y is dimension perm[i] of x.
static LogicalResult gradTranspose(TransposeOp op, GradientBuilder &b) {
  SmallVector<int64_t> permutation = op.getPermutation(b.getRank(op.getData()));
  SmallVector<int64_t> inverse(permutation.size());
  for (auto [index, axis] : llvm::enumerate(permutation))
    inverse[axis] = index;
  b.accumulate(op.getData(),
               b.transpose(b.getGradient(op.getTransposed()), inverse));
  return success();
}

/// y = x broadcast
static LogicalResult gradExpand(ExpandOp op, GradientBuilder &b) {
  b.accumulateBroadcast(op.getInput(), b.getGradient(op.getOutput()));
  return success();
}

/// y = parts joined: the gradient is cut
static LogicalResult gradConcat(ConcatOp op, GradientBuilder &b) {
  int64_t rank = b.getRank(op.getConcatResult());
  int64_t axis = static_cast<int64_t>(op.getAxis());
  axis = axis < 0 ? axis + rank : axis;
  SmallVector<Value> sizes;
  for (Value input : op.getInputs())
    sizes.push_back(b.sizeOf(input, axis));
  auto split =
      b.createMulti<SplitOp>(sizes.size(), b.getGradient(op.getConcatResult()),
                             b.concat(sizes), axis, IntegerAttr());
  for (auto [input, part] : llvm::zip_equal(op.getInputs(), split.getOutputs()))
    b.accumulate(input, part);
  return success();
}

/// Parts of x: their gradients are joined
static LogicalResult gradSplit(SplitOp op, GradientBuilder &b) {
  SmallVector<Value> parts;
  for (Value part : op.getOutputs())
    parts.push_back(b.getGradientOrZeros(part));
  b.accumulate(op.getInput(),
               b.create<ConcatOp>(ValueRange(parts), op.getAxis()));
  return success();
}

/// Repetitions are summed.
static LogicalResult gradTile(TileOp op, GradientBuilder &b) {
  Value x = op.getInput();
  SmallVector<Value> shape;
  SmallVector<int64_t> axes;
  for (int64_t axis = 0, rank = b.getRank(x); axis < rank; ++axis) {
    axes.push_back(shape.size());
    shape.push_back(b.castLike(
        b.create<GatherOp>(op.getRepeats(), b.integers({axis})), b.integer(0)));
    shape.push_back(b.sizeOf(x, axis));
  }
  Value dy = b.getGradient(op.getOutput());
  if (!shape.empty())
    dy = b.sum(b.reshape(dy, b.concat(shape)), axes, /*keepDims=*/false);
  b.accumulate(x, dy);
  return success();
}

/// A triangle of x
static LogicalResult gradTrilu(TriluOp op, GradientBuilder &b) {
  b.accumulate(op.getInput(), b.create<TriluOp>(b.getGradient(op.getOutput()),
                                                op.getK(), op.getUpper()));
  return success();
}

/// DepthToSpace and SpaceToDepth are each other's inverse.
template <typename OpTy, typename InverseTy>
static LogicalResult gradBlocks(OpTy op, GradientBuilder &b) {
  b.accumulate(op.getInput(),
               b.create<InverseTy>(b.getGradient(op.getOutput()),
                                   op.getBlocksize(), op.getMode()));
  return success();
}

/// Reversing twice gives what was there.
static LogicalResult gradReverseSequence(ReverseSequenceOp op,
                                         GradientBuilder &b) {
  b.accumulate(op.getInput(),
               b.create<ReverseSequenceOp>(
                   b.getGradient(op.getY()), op.getSequenceLens(),
                   op.getBatchAxis(), op.getTimeAxis()));
  return success();
}

/// What was cropped is padded with zeros, what was padded is cropped.
static LogicalResult gradCenterCropPad(CenterCropPadOp op, GradientBuilder &b) {
  Value x = op.getInputData(), shape = b.shapeOf(x);
  if (std::optional<ArrayRef<int64_t>> axes = op.getAxes())
    shape = b.create<GatherOp>(shape, b.integers(*axes));
  b.accumulate(x, b.create<CenterCropPadOp>(b.getGradient(op.getOutputData()),
                                            shape, op.getAxesAttr()));
  return success();
}

//===--- Slice ------------------------------------------------------------===//

/// Numbers as elements of int64 tensors of one element.
static Value clamp(GradientBuilder &b, Value x, Value low, Value high) {
  return b.create<MinOp>(ValueRange{b.create<MaxOp>(ValueRange{x, low}), high});
}

/// x with `step` - 1 zeros behind every element of an axis.
static Value dilate(GradientBuilder &b, Value x, int64_t axis, int64_t step) {
  SmallVector<Value> shape;
  for (int64_t i = 0, rank = b.getRank(x); i < rank; ++i)
    shape.push_back(b.sizeOf(x, i));
  shape[axis] = b.mul(shape[axis], b.integers({step}));
  Value spread = b.unsqueeze(x, {axis + 1});
  spread = b.create<PadOp>(spread, b.integers({0, step - 1}), Value(),
                           b.integers({axis + 1}));
  return b.reshape(spread, b.concat(shape));
}

/// x back to front along an axis
static Value reverse(GradientBuilder &b, Value x, int64_t axis) {
  constexpr int64_t lowest = std::numeric_limits<int64_t>::min();
  return b.create<SliceOp>(x, b.integers({-1}), b.integers({lowest}),
                           b.integers({axis}), b.integers({-1}));
}

/// y = x[start::step] along one axis: the gradient with zeros before, between
/// and behind its elements. `start` is a tensor of one element.
static Value unslice(GradientBuilder &b, Value dy, Value x, Value start,
                     int64_t axis, int64_t step) {
  Value zero = b.integers({0}), size = b.sizeOf(x, axis);
  Value isNegative = b.create<LessOp>(start, zero);
  start = b.where(isNegative, b.add(start, size), start);
  Value first = clamp(b, start, zero, size);
  int64_t stride = step < 0 ? -step : step;
  Value extent = b.mul(b.sizeOf(dy, axis), b.integers({stride}));
  if (step < 0) {
    // The lowest position comes last.
    Value last =
        b.create<MinOp>(ValueRange{start, b.sub(size, b.integers({1}))});
    first =
        clamp(b, b.add(b.sub(last, extent), b.integers({stride})), zero, size);
    dy = reverse(b, dy, axis);
  }
  if (stride > 1)
    dy = dilate(b, dy, axis, stride);
  Value behind = b.sub(b.sub(size, first), extent);
  return b.create<PadOp>(dy, b.concat({first, behind}), Value(),
                         b.integers({axis}));
}

/// Zeros between elements take memory.
static constexpr int64_t kMaxDynamicStep = 4096;

/// y = x[start:end:step] along some axes
static LogicalResult gradSlice(SliceOp op, GradientBuilder &b) {
  std::optional<SmallVector<int64_t>> axes = op.getSlicedAxes();
  if (!axes)
    return b.unsupported(op, "has no gradient for axes known at run time only");
  SmallVector<int64_t> steps(axes->size(), 1);
  if (Value given = op.getSteps()) {
    auto known = getConstantIntegers(given);
    if (!known || known->size() != axes->size())
      return b.unsupported(op,
                           "has no gradient for steps known at run time only");
    steps = *known;
  }
  Value gradient = b.getGradient(op.getOutput());
  auto type = cast<RankedTensorType>(op.getData().getType());
  Value starts = b.reshape(op.getStarts(), b.integers({-1}));
  for (auto [index, axis, step] : llvm::enumerate(*axes, steps)) {
    // A step as large as the axis takes the first element as well.
    int64_t limit = type.isDynamicDim(axis)
                        ? kMaxDynamicStep
                        : std::max<int64_t>(type.getDimSize(axis), 1);
    if (type.isDynamicDim(axis) && (step > limit || step < -limit))
      return b.unsupported(op, "has no gradient for steps over " +
                                   Twine(kMaxDynamicStep) +
                                   " along an axis of unknown size");
    step = std::clamp(step, -limit, limit);
    Value start =
        b.create<GatherOp>(starts, b.integers({static_cast<int64_t>(index)}));
    gradient = unslice(b, gradient, op.getData(),
                       b.castLike(start, b.integer(0)), axis, step);
  }
  b.accumulate(op.getData(), gradient);
  return success();
}

//===--- Pad --------------------------------------------------------------===//

/// The adjoint of y = x[.., positions, ..] along an axis: sums the slices of dy
/// at the positions that they come from.
static Value scatterAlong(GradientBuilder &b, Value dy, Value positions,
                          Value x, int64_t axis) {
  SmallVector<int64_t> permutation =
      llvm::to_vector(llvm::seq<int64_t>(0, b.getRank(x)));
  std::swap(permutation[0], permutation[axis]);
  Value front = b.transpose(dy, permutation);
  SmallVector<Value> shape;
  for (int64_t i = 0, rank = b.getRank(x); i < rank; ++i)
    shape.push_back(i == 0 ? b.sizeOf(x, axis) : b.sizeOf(front, i));
  Type type = RankedTensorType::get({1}, getElementType(x));
  auto zero = DenseElementsAttr::get(
      cast<ShapedType>(type),
      b.getBuilder().getFloatAttr(getElementType(x), 0.0).getValue());
  Value zeros = b.create<ConstantOfShapeOp>(b.concat(shape), zero);
  Value sum =
      b.create<ScatterNDOp>(zeros, b.unsqueeze(positions, {1}), front, "add");
  return b.transpose(sum, permutation);
}

/// Modes that repeat elements of x: where each came from is what the same Pad
/// makes of the positions 0, 1, ...
static Value unpadRepeated(PadOp op, ArrayRef<int64_t> axes,
                           GradientBuilder &b) {
  Value x = op.getData(), gradient = b.getGradient(op.getOutput());
  int64_t count = axes.size();
  for (auto [index, axis] : llvm::enumerate(axes)) {
    Value own = b.create<GatherOp>(
        op.getPads(), b.integers({static_cast<int64_t>(index),
                                  static_cast<int64_t>(index) + count}));
    Value size = b.squeeze(b.sizeOf(x, axis), {0});
    Value range = b.create<RangeOp>(b.integer(0), size, b.integer(1));
    Value positions =
        b.create<PadOp>(range, own, Value(), Value(), op.getMode());
    gradient = scatterAlong(b, gradient, positions, x, axis);
  }
  return gradient;
}

/// y = x with elements added and removed at its borders
static LogicalResult gradPad(PadOp op, GradientBuilder &b) {
  Value x = op.getData(), dy = b.getGradient(op.getOutput());
  if (op.getMode() == "constant") {
    b.accumulate(
        x, b.create<PadOp>(dy, b.neg(op.getPads()), Value(), op.getAxes()));
    if (!op.getConstantValue() || !b.isActive(op.getConstantValue()))
      return success();
    Value inside =
        b.create<PadOp>(b.onesLike(x), op.getPads(), Value(), op.getAxes());
    Value outside = b.mul(dy, b.sub(1.0, inside));
    b.accumulateBroadcast(op.getConstantValue(), outside);
    return success();
  }
  int64_t rank = b.getRank(x);
  SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  if (Value given = op.getAxes()) {
    auto known = getConstantIntegers(given);
    if (!known)
      return b.unsupported(op, "of mode '" + op.getMode() +
                                   "' has no gradient for axes known at run "
                                   "time only");
    axes = *known;
  }
  for (int64_t &axis : axes)
    axis = axis < 0 ? axis + rank : axis;
  b.accumulate(x, unpadRepeated(op, axes, b));
  return success();
}

//===--- Making tensors ---------------------------------------------------===//

/// start, start + delta, ...
static LogicalResult gradRange(RangeOp op, GradientBuilder &b) {
  Value dy = b.getGradient(op.getOutput());
  b.accumulate(op.getStart(), b.sum(dy, {0}, /*keepDims=*/false));
  Value count = b.squeeze(b.sizeOf(dy, 0), {0});
  Value steps = b.create<RangeOp>(b.integer(0), count, b.integer(1));
  b.accumulate(op.getDelta(), b.sum(b.mul(dy, b.castLike(steps, dy)), {0},
                                    /*keepDims=*/false));
  return success();
}

void onnx_aot::populateShapeGradientRules(MLIRContext *context) {
  attachMovingRule<ReshapeOp, gradReshapeBack<ReshapeOp>>(context);
  attachMovingRule<FlattenOp, gradReshapeBack<FlattenOp>>(context);
  attachMovingRule<SqueezeOp, gradReshapeBack<SqueezeOp>>(context);
  attachMovingRule<UnsqueezeOp, gradReshapeBack<UnsqueezeOp>>(context);
  attachMovingRule<TransposeOp, gradTranspose>(context);
  attachMovingRule<ExpandOp, gradExpand>(context);
  attachMovingRule<ConcatOp, gradConcat>(context);
  attachMovingRule<SplitOp, gradSplit>(context);
  attachMovingRule<TileOp, gradTile>(context);
  attachMovingRule<TriluOp, gradTrilu>(context);
  attachMovingRule<DepthToSpaceOp, gradBlocks<DepthToSpaceOp, SpaceToDepthOp>>(
      context);
  attachMovingRule<SpaceToDepthOp, gradBlocks<SpaceToDepthOp, DepthToSpaceOp>>(
      context);
  attachMovingRule<ReverseSequenceOp, gradReverseSequence>(context);
  attachMovingRule<CenterCropPadOp, gradCenterCropPad>(context);
  attachMovingRule<SliceOp, gradSlice>(context);
  attachMovingRule<PadOp, gradPad>(context);
  attachRule<RangeOp, gradRange>(context);
  attachRule<EyeLikeOp, stopGradient<EyeLikeOp>>(context);
}

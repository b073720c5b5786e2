//===- Slice.cpp - lower Slice, Pad and CenterCropPad ---------------------===//

#include "Generate.h"
#include "ReshapeUtils.h"
#include "ShapeScalars.h"

#include "onnx-aot/Dialect/Onnx/IR/ShapeInference.h"

#include <limits>

using namespace mlir;
using namespace onnx_aot;

namespace {

//===--- Slice ------------------------------------------------------------===//

/// What one dimension keeps: `count` elements from `first` on, `step` apart.
struct AxisSlice {
  OpFoldResult first, count, step;
};

/// ONNX's clamping of start and end, at run time.
AxisSlice clampAtRuntime(OpBuilder &builder, Location loc, Value size,
                         Value start, Value end, Value step) {
  IndexBuilder b(builder, loc);
  std::optional<int64_t> constantSize = getConstantIntValue(size);
  std::optional<int64_t> constantStart = getConstantIntValue(start);
  std::optional<int64_t> constantEnd = getConstantIntValue(end);
  std::optional<int64_t> constantStep = getConstantIntValue(step);
  if (constantSize && constantStart && constantEnd && constantStep &&
      *constantStep != 0) {
    onnx::SliceRange range = onnx::clampSlice(*constantStart, *constantEnd,
                                              *constantStep, *constantSize);
    return {builder.getIndexAttr(range.first),
            builder.getIndexAttr(range.count),
            builder.getIndexAttr(*constantStep)};
  }
  Value zero = b.constant(0), one = b.constant(1);
  // The most negative step, which has no absolute value, takes one element as
  // any other step beyond the size does.
  step = b.max(step, b.constant(-std::numeric_limits<int64_t>::max()));
  Value backward = b.isNegative(step);
  // Going backward, positions are in [0, size - 1] and the end may be -1.
  Value lowest = b.select(backward, b.constant(-1), zero);
  Value highest = b.select(backward, b.sub(size, one), size);
  auto fromEnd = [&](Value index) {
    return b.select(b.isNegative(index), b.add(index, size), index);
  };
  Value first = b.max(b.min(fromEnd(start), highest), zero);
  Value last = b.max(b.min(fromEnd(end), highest), lowest);
  Value distance = b.select(backward, b.sub(first, last), b.sub(last, first));
  Value stride = b.max(b.select(backward, b.sub(zero, step), step), one);
  Value count = b.div(
      b.add(b.max(distance, zero), b.sub(b.min(stride, b.add(size, one)), one)),
      b.min(stride, b.add(size, one)));
  Value isEmpty = b.compare(arith::CmpIPredicate::eq, size, zero);
  count = b.select(isEmpty, zero, count);
  return {getAsOpFoldResult(first), getAsOpFoldResult(count),
          getAsOpFoldResult(step)};
}

/// The slices of all dimensions from start, end, axes and steps.
SmallVector<AxisSlice> getAxisSlices(OpBuilder &builder, onnx::SliceOp op,
                                     onnx::SliceOp::Adaptor adaptor,
                                     ArrayRef<OpFoldResult> sizes) {
  Location loc = op.getLoc();
  IndexBuilder b(builder, loc);
  SmallVector<Value> starts =
      getIndexElements(builder, loc, adaptor.getStarts());
  SmallVector<Value> ends = getIndexElements(builder, loc, adaptor.getEnds());
  SmallVector<Value> steps(starts.size(), b.constant(1)), axes;
  if (adaptor.getSteps())
    steps = getIndexElements(builder, loc, adaptor.getSteps());
  if (adaptor.getAxes())
    axes = getIndexElements(builder, loc, adaptor.getAxes());
  else
    for (size_t i = 0; i < starts.size(); ++i)
      axes.push_back(b.constant(i));
  Value rank = b.constant(sizes.size());
  for (auto [axis, step] : llvm::zip_equal(axes, steps)) {
    createCheck(builder, op,
                b.compare(arith::CmpIPredicate::ne, step, b.constant(0)),
                "a step is 0");
    axis = b.select(b.isNegative(axis), b.add(axis, rank), axis);
    createCheck(builder, op, b.compare(arith::CmpIPredicate::ult, axis, rank),
                "an axis is out of range");
  }
  SmallVector<AxisSlice> slices;
  for (auto [dimension, size] : llvm::enumerate(sizes)) {
    Value start = b.constant(0), end = b.get(size), step = b.constant(1);
    for (auto [axis, axisStart, axisEnd, axisStep] :
         llvm::zip_equal(axes, starts, ends, steps)) {
      Value matches =
          b.compare(arith::CmpIPredicate::eq, axis, b.constant(dimension));
      start = b.select(matches, axisStart, start);
      end = b.select(matches, axisEnd, end);
      step = b.select(matches, axisStep, step);
    }
    slices.push_back(
        clampAtRuntime(builder, loc, b.get(size), start, end, step));
  }
  return slices;
}

/// The same where only the run knows how many axes are sliced.
SmallVector<AxisSlice> getAxisSlicesInLoops(OpBuilder &builder,
                                            onnx::SliceOp op,
                                            onnx::SliceOp::Adaptor adaptor,
                                            ArrayRef<OpFoldResult> sizes) {
  Location loc = op.getLoc();
  IndexBuilder b(builder, loc);
  auto getLength = [&](Value list) {
    return b.get(getRuntimeSizes(builder, loc, list)[0]);
  };
  Value count = getLength(adaptor.getStarts());
  for (Value list : {adaptor.getEnds(), adaptor.getAxes(), adaptor.getSteps()})
    if (list)
      createCheck(builder, op,
                  b.compare(arith::CmpIPredicate::eq, getLength(list), count),
                  "starts, ends, axes and steps have different lengths");
  SmallVector<AxisSlice> slices;
  for (auto [dimension, size] : llvm::enumerate(sizes)) {
    Value rank = b.constant(sizes.size()), own = b.constant(dimension);
    SmallVector<Value> found = createLoop(
        builder, loc, count, {b.constant(0), b.get(size), b.constant(1)},
        [&](OpBuilder &inner, Location l, Value index,
            ValueRange carried) -> SmallVector<Value> {
          IndexBuilder i(inner, l);
          auto read = [&](Value list) {
            return i.fromInteger(
                tensor::ExtractOp::create(inner, l, list, index));
          };
          Value axis = index, step = carried[2];
          if (Value axes = adaptor.getAxes()) {
            axis = read(axes);
            axis = i.select(i.isNegative(axis), i.add(axis, rank), axis);
          }
          createCheck(inner, op,
                      i.compare(arith::CmpIPredicate::ult, axis, rank),
                      "an axis is out of range");
          if (adaptor.getSteps()) {
            step = read(adaptor.getSteps());
            createCheck(
                inner, op,
                i.compare(arith::CmpIPredicate::ne, step, i.constant(0)),
                "a step is 0");
          }
          Value matches = i.compare(arith::CmpIPredicate::eq, axis, own);
          return {i.select(matches, read(adaptor.getStarts()), carried[0]),
                  i.select(matches, read(adaptor.getEnds()), carried[1]),
                  i.select(matches, step, carried[2])};
        });
    slices.push_back(clampAtRuntime(builder, loc, b.get(size), found[0],
                                    found[1], found[2]));
  }
  return slices;
}

/// Whether the slice goes forward by a constant in every dimension.
bool isForward(ArrayRef<AxisSlice> slices) {
  return llvm::all_of(slices, [](const AxisSlice &slice) {
    std::optional<int64_t> step = getConstantIntValue(slice.step);
    return step && *step > 0;
  });
}

struct LowerSlice : OnnxLowering<onnx::SliceOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::SliceOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value data = adaptor.getData();
    auto starts = dyn_cast<RankedTensorType>(adaptor.getStarts().getType());
    auto axes = adaptor.getAxes()
                    ? dyn_cast<RankedTensorType>(adaptor.getAxes().getType())
                    : starts;
    if (!starts || starts.getRank() != 1 || axes.getRank() != 1)
      return unsupported(op, "starts and axes must be lists");
    bool isCounted = starts.hasStaticShape();
    if (isCounted && axes.getShape() != starts.getShape())
      return unsupported(op,
                         "the number of axes must be known at compile time");
    for (Value list : {adaptor.getEnds(), adaptor.getSteps()})
      if (list && isCounted &&
          cast<RankedTensorType>(list.getType()).getShape() !=
              starts.getShape())
        return unsupported(
            op, "starts, ends, axes and steps have different lengths");
    SmallVector<OpFoldResult> sizes = getRuntimeSizes(rewriter, loc, data);
    SmallVector<AxisSlice> slices =
        isCounted ? getAxisSlices(rewriter, op, adaptor, sizes)
                  : getAxisSlicesInLoops(rewriter, op, adaptor, sizes);
    if (isShapeArithmetic(op) && sizes.size() == 1 &&
        replaceByScalars(rewriter, op, data, slices[0]))
      return success();
    SmallVector<OpFoldResult> offsets, counts, strides;
    for (const AxisSlice &slice : slices) {
      offsets.push_back(slice.first);
      counts.push_back(slice.count);
      strides.push_back(slice.step);
    }
    if (isForward(slices)) {
      replaceWithCast(
          rewriter, op,
          createSlice(rewriter, loc, data, offsets, counts, strides));
      return success();
    }
    IndexBuilder outside(rewriter, loc);
    SmallVector<Value> firsts, steps;
    for (const AxisSlice &slice : slices) {
      firsts.push_back(outside.get(slice.first));
      steps.push_back(outside.get(slice.step));
    }
    Value result = createGenerated(
        rewriter, loc, counts, getElementTypeOrSelf(data.getType()), {},
        [&](OpBuilder &b, Location l, ArrayRef<Value> indices,
            ValueRange) -> Value {
          IndexBuilder inside(b, l);
          SmallVector<Value> source;
          for (auto [index, first, step] :
               llvm::zip_equal(indices, firsts, steps))
            source.push_back(inside.add(first, inside.mul(index, step)));
          return tensor::ExtractOp::create(b, l, data, source);
        });
    replaceWithCast(rewriter, op, result);
    return success();
  }

private:
  /// A constant slice of a shape tensor picks scalars.
  static bool replaceByScalars(ConversionPatternRewriter &rewriter,
                               onnx::SliceOp op, Value data,
                               const AxisSlice &slice) {
    std::optional<int64_t> first = getConstantIntValue(slice.first);
    std::optional<int64_t> count = getConstantIntValue(slice.count);
    std::optional<int64_t> step = getConstantIntValue(slice.step);
    if (!first || !count || !step)
      return false;
    SmallVector<Value> elements = getElements(rewriter, op.getLoc(), data),
                       picked;
    for (int64_t i = 0; i < *count; ++i)
      picked.push_back(elements[*first + i * *step]);
    rewriter.replaceOp(op, createFromElements(rewriter, op.getLoc(),
                                              convertOnnxType(op.getType()),
                                              picked));
    return true;
  }
};

//===--- Pad --------------------------------------------------------------===//

/// Elements to add (or, when negative, to remove) at both ends of each
/// dimension.
struct Padding {
  SmallVector<Value> low, high;
};

/// Removes what negative pads remove and makes these pads 0.
Value cropNegative(OpBuilder &builder, Operation *op, Value data,
                   Padding &padding) {
  Location loc = op->getLoc();
  IndexBuilder b(builder, loc);
  Value zero = b.constant(0);
  SmallVector<OpFoldResult> offsets, strides;
  SmallVector<OpFoldResult> sizes = getRuntimeSizes(builder, loc, data);
  bool crops = false;
  for (auto [size, low, high] :
       llvm::zip_equal(sizes, padding.low, padding.high)) {
    auto isNonNegative = [](Value pad) {
      std::optional<int64_t> constant = getConstantIntValue(pad);
      return constant && *constant >= 0;
    };
    strides.push_back(builder.getIndexAttr(1));
    if (isNonNegative(low) && isNonNegative(high)) {
      offsets.push_back(builder.getIndexAttr(0));
      continue;
    }
    crops = true;
    Value full = b.get(size);
    createCheck(builder, op,
                b.compare(arith::CmpIPredicate::sge,
                          b.add(b.add(full, low), high), zero),
                "negative pads remove more than there is");
    Value cropLow = b.max(b.sub(zero, low), zero);
    Value cropHigh = b.max(b.sub(zero, high), zero);
    Value first = b.min(cropLow, full);
    Value last = b.max(b.sub(full, cropHigh), first);
    offsets.push_back(getAsOpFoldResult(first));
    size = getAsOpFoldResult(b.sub(last, first));
    // A crop larger than the dimension goes on in the other end's padding.
    Value restLow = b.sub(cropLow, first);
    Value restHigh = b.sub(cropHigh, b.sub(full, last));
    low = b.max(b.sub(low, restHigh), zero);
    high = b.max(b.sub(high, restLow), zero);
  }
  if (!crops)
    return data;
  return createSlice(builder, loc, data, offsets, sizes, strides);
}

Value padWithConstant(OpBuilder &builder, Location loc, Value data,
                      const Padding &padding, Value value) {
  SmallVector<OpFoldResult> low = getAsOpFoldResult(padding.low);
  SmallVector<OpFoldResult> high = getAsOpFoldResult(padding.high);
  auto isZero = [](OpFoldResult pad) { return isConstantIntValue(pad, 0); };
  if (llvm::all_of(low, isZero) && llvm::all_of(high, isZero))
    return data;
  return tensor::PadOp::create(builder, loc, Type(), data, low, high, value);
}

/// The element that a position outside [0, size) stands for.
Value mapPosition(IndexBuilder b, StringRef mode, Value position, Value size) {
  Value zero = b.constant(0), one = b.constant(1);
  if (mode == "edge")
    return b.max(b.min(position, b.sub(size, one)), zero);
  if (mode == "wrap") {
    Value positive = b.max(size, one);
    return b.rem(b.add(b.rem(position, positive), positive), positive);
  }
  // Reflection has a period of 2 * (size - 1).
  Value last = b.sub(size, one);
  Value period = b.max(b.mul(last, b.constant(2)), one);
  Value distance =
      b.rem(b.select(b.isNegative(position), b.sub(zero, position), position),
            period);
  return b.max(b.min(distance, b.sub(period, distance)), zero);
}

Value padFromInput(OpBuilder &builder, Operation *op, Value data,
                   const Padding &padding, StringRef mode) {
  Location loc = op->getLoc();
  IndexBuilder outside(builder, loc);
  SmallVector<Value> own;
  SmallVector<OpFoldResult> sizes;
  for (auto [size, low, high] : llvm::zip_equal(
           getRuntimeSizes(builder, loc, data), padding.low, padding.high)) {
    own.push_back(outside.get(size));
    Value grown = outside.add(low, high);
    createCheck(builder, op,
                builder.createOrFold<arith::OrIOp>(
                    loc,
                    outside.compare(arith::CmpIPredicate::sgt, own.back(),
                                    outside.constant(0)),
                    outside.compare(arith::CmpIPredicate::eq, grown,
                                    outside.constant(0))),
                "an empty dimension has nothing to pad with");
    sizes.push_back(getAsOpFoldResult(outside.add(own.back(), grown)));
  }
  return createGenerated(
      builder, loc, sizes, getElementTypeOrSelf(data.getType()), {},
      [&](OpBuilder &b, Location l, ArrayRef<Value> indices,
          ValueRange) -> Value {
        IndexBuilder inside(b, l);
        SmallVector<Value> source;
        for (auto [index, low, high, size] :
             llvm::zip_equal(indices, padding.low, padding.high, own)) {
          bool untouched =
              isConstantIntValue(low, 0) && isConstantIntValue(high, 0);
          source.push_back(
              untouched
                  ? index
                  : mapPosition(inside, mode, inside.sub(index, low), size));
        }
        return tensor::ExtractOp::create(b, l, data, source);
      });
}

struct LowerPad : OnnxLowering<onnx::PadOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::PadOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto type = cast<RankedTensorType>(adaptor.getData().getType());
    auto pads = dyn_cast<RankedTensorType>(adaptor.getPads().getType());
    if (!pads || pads.getRank() != 1)
      return unsupported(op, "pads must be a list");
    std::optional<int64_t> numAxes = type.getRank();
    if (Value axes = adaptor.getAxes()) {
      auto axesType = cast<RankedTensorType>(axes.getType());
      if (axesType.hasStaticShape())
        numAxes = axesType.getNumElements();
      else
        numAxes.reset();
    }
    bool isCounted = numAxes && pads.hasStaticShape();
    if (isCounted && pads.getNumElements() != 2 * *numAxes)
      return unsupported(op, "pads must have two numbers for each axis");
    Padding padding =
        isCounted ? getPadding(rewriter, op, adaptor, type.getRank())
                  : getPaddingInLoops(rewriter, op, adaptor, type.getRank());
    Value data = cropNegative(rewriter, op, adaptor.getData(), padding);
    Value result;
    if (op.getMode() == "constant") {
      Value fill =
          adaptor.getConstantValue()
              ? getOnlyElement(rewriter, loc, adaptor.getConstantValue())
              : createScalarConstant(rewriter, loc, 0, type.getElementType());
      result = padWithConstant(rewriter, loc, data, padding, fill);
    } else {
      result = padFromInput(rewriter, op, data, padding, op.getMode());
    }
    replaceWithCast(rewriter, op, result);
    return success();
  }

private:
  static Padding getPadding(OpBuilder &builder, onnx::PadOp op,
                            OpAdaptor adaptor, int64_t rank) {
    Location loc = op.getLoc();
    IndexBuilder b(builder, loc);
    SmallVector<Value> pads = getIndexElements(builder, loc, adaptor.getPads()),
                       axes;
    if (adaptor.getAxes())
      axes = getIndexElements(builder, loc, adaptor.getAxes());
    else
      for (int64_t i = 0; i < rank; ++i)
        axes.push_back(b.constant(i));
    Value size = b.constant(rank), zero = b.constant(0);
    for (Value &axis : axes)
      axis = b.select(b.isNegative(axis), b.add(axis, size), axis);
    Padding padding;
    for (int64_t i = 0; i < rank; ++i) {
      Value low = zero, high = zero;
      for (auto [k, axis] : llvm::enumerate(axes)) {
        Value matches =
            b.compare(arith::CmpIPredicate::eq, axis, b.constant(i));
        low = b.select(matches, pads[k], low);
        high = b.select(matches, pads[k + axes.size()], high);
      }
      padding.low.push_back(low);
      padding.high.push_back(high);
    }
    return padding;
  }

  /// The same where only the run knows how many axes are padded.
  static Padding getPaddingInLoops(OpBuilder &builder, onnx::PadOp op,
                                   OpAdaptor adaptor, int64_t rank) {
    Location loc = op.getLoc();
    IndexBuilder b(builder, loc);
    Value size = b.constant(rank), zero = b.constant(0), count = size;
    if (Value axes = adaptor.getAxes())
      count = b.get(getRuntimeSizes(builder, loc, axes)[0]);
    Value given = b.get(getRuntimeSizes(builder, loc, adaptor.getPads())[0]);
    Value fits =
        b.compare(arith::CmpIPredicate::eq, given, b.add(count, count));
    createCheck(builder, op, fits, "pads must have two numbers for each axis");
    // Nothing is read where they do not fit.
    count = b.select(fits, count, zero);
    Padding padding;
    for (int64_t dimension = 0; dimension < rank; ++dimension) {
      SmallVector<Value> found = createLoop(
          builder, loc, count, {zero, zero},
          [&](OpBuilder &inner, Location l, Value index,
              ValueRange carried) -> SmallVector<Value> {
            IndexBuilder i(inner, l);
            auto read = [&](Value list, Value at) {
              return i.fromInteger(
                  tensor::ExtractOp::create(inner, l, list, at));
            };
            Value axis = index;
            if (Value axes = adaptor.getAxes()) {
              axis = read(axes, index);
              axis = i.select(i.isNegative(axis), i.add(axis, size), axis);
            }
            createCheck(inner, op,
                        i.compare(arith::CmpIPredicate::ult, axis, size),
                        "an axis is out of range");
            Value matches = i.compare(arith::CmpIPredicate::eq, axis,
                                      i.constant(dimension));
            Value low = read(adaptor.getPads(), index);
            Value high = read(adaptor.getPads(), i.add(index, count));
            return {i.select(matches, low, carried[0]),
                    i.select(matches, high, carried[1])};
          });
      padding.low.push_back(found[0]);
      padding.high.push_back(found[1]);
    }
    return padding;
  }
};

struct LowerCenterCropPad : OnnxLowering<onnx::CenterCropPadOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::CenterCropPadOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    IndexBuilder b(rewriter, loc);
    auto type = cast<RankedTensorType>(adaptor.getInputData().getType());
    auto shape = dyn_cast<RankedTensorType>(adaptor.getShape().getType());
    if (!shape || !shape.hasStaticShape())
      return unsupported(op,
                         "the number of sizes must be known at compile time");
    SmallVector<Value> targets =
        getIndexElements(rewriter, loc, adaptor.getShape());
    SmallVector<int64_t> axes =
        op.getAxes() ? SmallVector<int64_t>(*op.getAxes())
                     : llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
    SmallVector<OpFoldResult> sizes =
        getRuntimeSizes(rewriter, loc, adaptor.getInputData());
    Padding padding;
    padding.low.assign(type.getRank(), b.constant(0));
    padding.high.assign(type.getRank(), b.constant(0));
    for (auto [axis, target] : llvm::zip_equal(axes, targets)) {
      int64_t position = *onnx::normalizeAxis(axis, type.getRank());
      // Half of the difference at the front, rounded to zero.
      Value grown = b.sub(target, b.get(sizes[position]));
      Value low = b.div(grown, b.constant(2));
      padding.low[position] = low;
      padding.high[position] = b.sub(grown, low);
    }
    Value data = cropNegative(rewriter, op, adaptor.getInputData(), padding);
    Value zero = createScalarConstant(rewriter, loc, 0, type.getElementType());
    replaceWithCast(rewriter, op,
                    padWithConstant(rewriter, loc, data, padding, zero));
    return success();
  }
};

} // namespace

void onnx_aot::populateOnnxToLinalgSlicePatterns(
    const LoweringContext &lowering, RewritePatternSet &patterns) {
  patterns.add<LowerSlice, LowerPad, LowerCenterCropPad>(lowering,
                                                         patterns.getContext());
}

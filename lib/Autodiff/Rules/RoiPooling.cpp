//===- RoiPooling.cpp - gradients of pools over regions of images ---------===//

#include "RuleUtils.h"
#include "Rules.h"
#include "Sampler.h"

using namespace mlir;
using namespace onnx_aot;
using namespace onnx_aot::onnx;

/// Column `index` of the regions as (r, 1, 1).
static Value column(GradientBuilder &b, Value rois, int64_t index) {
  Value own =
      b.create<SliceOp>(rois, b.integers({index}), b.integers({index + 1}),
                        b.integers({1}), Value());
  return b.unsqueeze(own, {2});
}

/// 0, 1, ... count - 1 as floats; `count` is a tensor of one element.
static Value countFloats(GradientBuilder &b, Value count, Value like) {
  return b.castLike(createIota(b, count), like);
}

static Value both(GradientBuilder &b, Value first, Value second) {
  return b.create<AndOp>(first, second);
}

/// The smallest number of the type of `like`.
static Value createLowest(GradientBuilder &b, Value like) {
  auto type = cast<FloatType>(getElementType(like));
  APFloat largest = APFloat::getLargest(type.getFloatSemantics());
  return b.scalar(-largest.convertToDouble(), like);
}

//===--- RoiAlign ---------------------------------------------------------===//

namespace {

/// The samples of all regions along one dimension.
struct RegionAxis {
  /// (r, bins, samples): where they are, whether that is in the image, and
  /// whether their region has so many.
  Value positions, isInside, isCounted;
  /// (r, 1, 1): how many there are in each bin of a region.
  Value samples;
  /// The most of all regions, a tensor of one element.
  Value numSamples;
};

class RoiAlign {
public:
  RoiAlign(RoiAlignOp op, GradientBuilder &b) : op(op), b(b) {}
  FailureOr<SmallVector<Value>> decompose(ArrayRef<Value> in);

private:
  RegionAxis makeAxis(Value rois, Value x, int64_t dim, int64_t bins);

  RoiAlignOp op;
  GradientBuilder &b;
};

} // namespace

RegionAxis RoiAlign::makeAxis(Value rois, Value x, int64_t dim, int64_t bins) {
  double scale = op.getSpatialScale().convertToFloat();
  Value first = b.mul(column(b, rois, 1 - dim), scale),
        last = b.mul(column(b, rois, 3 - dim), scale);
  Value size = b.sub(last, first);
  if (op.getCoordinateTransformationMode() == "half_pixel")
    first = b.add(first, -0.5);
  else
    size = b.create<MaxOp>(ValueRange{size, b.scalar(1.0, size)});
  Value bin = b.mul(size, 1.0 / bins);
  Value length = b.castLike(b.sizeOf(x, dim + 2), rois);
  RegionAxis axis;
  if (int64_t samples = op.getSamplingRatio(); samples > 0) {
    axis.samples = b.mul(b.onesLike(bin), samples);
    axis.numSamples = b.integers({samples});
  } else {
    // As many as a bin has elements.
    Value count = b.create<train::StopGradientOp>(b.create<CeilOp>(bin));
    axis.samples = b.create<ClipOp>(count, b.scalar(0.0, count),
                                    b.squeeze(b.add(length, 1.0), {0}));
    Value none = createFilled(b, b.integers({1, 1, 1}), 0.0, rois);
    Value all = b.create<ConcatOp>(ValueRange{axis.samples, none}, 0);
    Value most = b.create<ReduceMaxOp>(all, Value(), 0, 0);
    axis.numSamples =
        b.unsqueeze(b.cast(most, b.getBuilder().getI64Type()), {0});
  }
  Value place = countFloats(b, axis.numSamples, rois);
  Value one = b.scalar(1.0, rois);
  Value divisor = b.create<MaxOp>(ValueRange{axis.samples, one});
  Value step = b.add(b.unsqueeze(countFloats(b, b.integers({bins}), rois), {1}),
                     b.div(b.add(place, 0.5), divisor));
  axis.positions = b.add(first, b.mul(bin, step));
  axis.isInside =
      both(b, b.create<GreaterOrEqualOp>(axis.positions, b.scalar(-1.0, rois)),
           b.create<LessOrEqualOp>(axis.positions, length));
  axis.isCounted = b.create<LessOp>(place, axis.samples);
  return axis;
}

FailureOr<SmallVector<Value>> RoiAlign::decompose(ArrayRef<Value> in) {
  Value x = b.create<GatherOp>(in[0], op.getBatchIndices(), 0), rois = in[1];
  int64_t height = op.getOutputHeight(), width = op.getOutputWidth();
  RegionAxis rows = makeAxis(rois, x, 0, height),
             columns = makeAxis(rois, x, 1, width);
  Value regions = b.sizeOf(rois, 0);
  Value grid = b.concat({b.integers({height}), rows.numSamples,
                         b.integers({width}), columns.numSamples});
  Value shape = b.concat({regions, grid});
  Value count = b.create<ReduceProdOp>(grid, Value(), /*keepdims=*/1, 0);
  Value flat = b.concat({regions, count});
  auto spread = [&](Value value, bool isRow) {
    Value wide = b.unsqueeze(value, isRow ? ArrayRef<int64_t>{3, 4}
                                          : ArrayRef<int64_t>{1, 2});
    return Value(b.create<ExpandOp>(wide, shape));
  };
  Sampling sampling;
  sampling.padding = Sampling::Padding::Border;
  sampling.takesLargest = op.getMode() == "max";
  Value y = sampleImage(b, x,
                        {b.reshape(spread(rows.positions, true), flat),
                         b.reshape(spread(columns.positions, false), flat)},
                        sampling);
  y = b.reshape(y, b.concat({regions, b.sizeOf(x, 1), grid}));
  auto hold = [&](Value first, Value second) {
    return b.unsqueeze(both(b, spread(first, true), spread(second, false)),
                       {1});
  };
  y = b.select(hold(rows.isInside, columns.isInside), y);
  Value isCounted = hold(rows.isCounted, columns.isCounted);
  // (r, 1, 1, 1)
  Value number =
      b.castLike(b.unsqueeze(b.mul(rows.samples, columns.samples), {3}), y);
  if (!sampling.takesLargest) {
    Value sum = b.sum(b.select(isCounted, y), {3, 5}, /*keepDims=*/false);
    Value one = b.scalar(1.0, number);
    return SmallVector<Value>{
        b.div(sum, b.create<MaxOp>(ValueRange{number, one}))};
  }
  Value counted = b.where(isCounted, y, createLowest(b, y));
  Value most = b.create<ReduceMaxOp>(counted, b.integers({3, 5}), 0, 0);
  Value isFull = b.create<GreaterOp>(number, b.scalar(0.0, number));
  return SmallVector<Value>{b.select(isFull, most)};
}

/// y[r] = means or maxima of samples in the bins of region r
static LogicalResult gradRoiAlign(RoiAlignOp op, GradientBuilder &b) {
  // Products of them must not overflow.
  constexpr int64_t kMaxSize = 1 << 12;
  for (int64_t size : {static_cast<int64_t>(op.getOutputHeight()),
                       static_cast<int64_t>(op.getOutputWidth()),
                       static_cast<int64_t>(op.getSamplingRatio())})
    if (size > kMaxSize)
      return b.unsupported(op, "has no gradient for a size or sampling_ratio "
                               "of " +
                                   Twine(size) + " (supported: up to " +
                                   Twine(kMaxSize) + ")");
  RoiAlign rule(op, b);
  return differentiateAs(
      op, b, {op.getX(), op.getRois()},
      [&](ArrayRef<Value> in) { return rule.decompose(in); });
}

//===--- MaxRoiPool -------------------------------------------------------===//

/// Halves away from zero.
static Value roundHalves(GradientBuilder &b, Value x) {
  Value size = b.create<AbsOp>(x), whole = b.create<FloorOp>(size);
  Value isUp =
      b.create<GreaterOrEqualOp>(b.sub(size, whole), b.scalar(0.5, size));
  Value rounded = b.add(whole, b.castLike(isUp, whole));
  return b.mul(rounded, b.create<SignOp>(x));
}

/// Which elements each bin has along one dimension: (r, bins, size of x).
static Value getBins(MaxRoiPoolOp op, GradientBuilder &b, int64_t dim) {
  Value rois = op.getRois();
  int64_t bins = op.getPooledShape()[dim];
  double scale = op.getSpatialScale().convertToFloat();
  Value first = roundHalves(b, b.mul(column(b, rois, 2 - dim), scale)),
        last = roundHalves(b, b.mul(column(b, rois, 4 - dim), scale));
  Value extent = b.create<MaxOp>(
      ValueRange{b.add(b.sub(last, first), 1.0), b.scalar(1.0, first)});
  Value size = b.div(extent, b.scalar(bins, extent));
  Value bin = b.unsqueeze(countFloats(b, b.integers({bins}), rois), {1});
  Value begin = b.add(first, b.create<FloorOp>(b.mul(bin, size)));
  Value end = b.add(first, b.create<CeilOp>(b.mul(b.add(bin, 1.0), size)));
  Value place = countFloats(b, b.sizeOf(op.getX(), dim + 2), rois);
  return both(b, b.create<GreaterOrEqualOp>(place, begin),
              b.create<LessOp>(place, end));
}

/// y = the largest element of each bin, 0 where a bin has none
static LogicalResult gradMaxRoiPool(MaxRoiPoolOp op, GradientBuilder &b) {
  Value number =
      b.squeeze(b.create<SliceOp>(op.getRois(), b.integers({0}),
                                  b.integers({1}), b.integers({1}), Value()),
                {1});
  Value image = b.cast(number, b.getBuilder().getI64Type());
  auto decompose = [&](ArrayRef<Value> in) -> FailureOr<SmallVector<Value>> {
    Value x = b.unsqueeze(b.create<GatherOp>(in[0], image, 0), {2, 3});
    // (r, 1, rows, 1, height, 1) and (r, 1, 1, columns, 1, width)
    Value isOwn = both(b, b.unsqueeze(getBins(op, b, 0), {1, 3, 5}),
                       b.unsqueeze(getBins(op, b, 1), {1, 2, 4}));
    Value own = b.where(isOwn, x, createLowest(b, x));
    Value y = b.create<ReduceMaxOp>(own, b.integers({4, 5}), 0, 0);
    Value isFull = b.create<ReduceMaxOp>(isOwn, b.integers({4, 5}), 0, 0);
    return SmallVector<Value>{b.select(isFull, y)};
  };
  return differentiateAs(op, b, {op.getX()}, decompose);
}

void onnx_aot::populateRoiPoolingGradientRules(MLIRContext *context) {
  attachRule<RoiAlignOp, gradRoiAlign>(context);
  attachRule<MaxRoiPoolOp, gradMaxRoiPool>(context);
}

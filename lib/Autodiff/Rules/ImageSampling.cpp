//===- ImageSampling.cpp - gradients of images read between pixels --------===//
//
// All are differentiated as what they consist of: positions, a sampler and what
// is done with the samples.
//
//===----------------------------------------------------------------------===//

#include "RuleUtils.h"
#include "Rules.h"
#include "Sampler.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace onnx_aot;
using namespace onnx_aot::onnx;

//===--- Grids ------------------------------------------------------------===//

/// Entry `index` of the last dimension as (n, elements).
static Value coordinate(GradientBuilder &b, Value grid, int64_t index) {
  int64_t last = b.getRank(grid) - 1;
  Value own =
      b.create<SliceOp>(grid, b.integers({index}), b.integers({index + 1}),
                        b.integers({last}), Value());
  Value count =
      b.create<ReduceProdOp>(getSizes(b, grid, 1, last), Value(), 1, 0);
  return b.reshape(own, b.concat({b.sizeOf(grid, 0), count}));
}

/// y[n, c, o] = x[n, c] at grid[n, o], which counts from -1 to 1
static LogicalResult gradGridSample(GridSampleOp op, GradientBuilder &b) {
  bool align = op.getAlignCorners() != 0;
  Sampling sampling;
  sampling.alignCorners = align;
  sampling.mode = llvm::StringSwitch<Sampling::Mode>(op.getMode())
                      .Cases({"nearest"}, Sampling::Mode::Nearest)
                      .Cases({"cubic", "bicubic"}, Sampling::Mode::Cubic)
                      .Default(Sampling::Mode::Linear);
  sampling.padding = llvm::StringSwitch<Sampling::Padding>(op.getPaddingMode())
                         .Case("border", Sampling::Padding::Border)
                         .Case("reflection", Sampling::Padding::Reflection)
                         .Default(Sampling::Padding::Zeros);
  auto decompose = [&](ArrayRef<Value> in) -> FailureOr<SmallVector<Value>> {
    int64_t rank = b.getRank(in[0]) - 2;
    SmallVector<Value> positions;
    for (int64_t i = 0; i < rank; ++i) {
      // The last spatial dimension comes first.
      Value at = b.add(coordinate(b, in[1], rank - 1 - i), 1.0);
      Value size = b.castLike(b.sizeOf(in[0], i + 2), at);
      at = align ? b.mul(at, b.sub(size, b.scalar(1.0, size)))
                 : b.add(b.mul(at, size), -1.0);
      positions.push_back(b.castLike(b.mul(at, 0.5), in[0]));
    }
    Value y = sampleImage(b, in[0], positions, sampling);
    return SmallVector<Value>{b.reshapeLike(y, op.getY())};
  };
  return differentiateAs(op, b, {op.getX(), op.getGrid()}, decompose);
}

/// grid[n, o] = theta[n] * (position of o, 1): the positions are the grid of
/// the unit matrix.
static LogicalResult gradAffineGrid(AffineGridOp op, GradientBuilder &b) {
  Value theta = op.getTheta(), dGrid = b.getGradient(op.getGrid());
  int64_t dims = b.getRank(dGrid) - 2;
  Value like = createFilled(b, b.integers({dims, dims + 1}), 0.0, theta);
  Value unit = b.unsqueeze(b.create<EyeLikeOp>(like, IntegerAttr(), 0), {0});
  Value spatial =
      b.create<SliceOp>(op.getSize(), b.integers({1}), b.integers({dims + 2}),
                        b.integers({0}), Value());
  Value size = b.concat({b.integers({1}), spatial});
  Value grid = b.create<AffineGridOp>(unit, size, op.getAlignCornersAttr());
  Value rows = b.reshape(grid, b.integers({-1, dims}));
  Value one = b.onesLike(b.create<SliceOp>(
      rows, b.integers({0}), b.integers({1}), b.integers({1}), Value()));
  rows = b.create<ConcatOp>(ValueRange{rows, one}, 1);
  Value flat = b.reshape(dGrid, b.concat({b.sizeOf(theta, 0), b.sizeOf(rows, 0),
                                          b.integers({dims})}));
  b.accumulate(theta, b.create<MatMulOp>(b.transpose(flat, {0, 2, 1}), rows));
  return success();
}

//===--- Deformable convolution -------------------------------------------===//

/// y = w * (x at displaced positions, times the mask) + b
static LogicalResult gradDeformConv(DeformConvOp op, GradientBuilder &b) {
  auto w = cast<RankedTensorType>(op.getW().getType());
  if (!w.hasStaticShape() || b.getRank(op.getX()) != 4)
    return b.unsupported(op,
                         "has a gradient only for a weight of static shape");
  int64_t rows = w.getDimSize(2), columns = w.getDimSize(3),
          taps = rows * columns, group = op.getGroup(),
          offsetGroup = op.getOffsetGroup();
  auto number = [](std::optional<ArrayRef<int64_t>> list, int64_t i,
                   int64_t byDefault) {
    return list && i < static_cast<int64_t>(list->size()) ? (*list)[i]
                                                          : byDefault;
  };
  // Where tap k of output o reads without displacement, (taps, 1, o) or
  // (taps, o, 1).
  auto base = [&](int64_t dim, Value like) {
    SmallVector<int64_t> own;
    for (int64_t k = 0; k < taps; ++k)
      own.push_back((dim == 0 ? k / columns : k % columns) *
                        number(op.getDilations(), dim, 1) -
                    number(op.getPads(), dim, 0));
    Value first = b.mul(createIota(b, b.sizeOf(op.getY(), dim + 2)),
                        b.integers({number(op.getStrides(), dim, 1)}));
    first = dim == 0 ? b.unsqueeze(first, {1}) : first;
    return b.castLike(b.add(b.unsqueeze(b.integers(own), {1, 2}), first), like);
  };
  auto decompose = [&](ArrayRef<Value> in) -> FailureOr<SmallVector<Value>> {
    Value x = in[0], offset = in[2];
    Value batches = b.mul(b.sizeOf(x, 0), b.integers({offsetGroup}));
    Value perGroup = b.div(b.sizeOf(x, 1), b.integers({offsetGroup}));
    Value image = getSizes(b, op.getY(), 2);
    x = b.reshape(x, b.concat({batches, perGroup, getSizes(b, x, 2)}));
    offset =
        b.reshape(offset, b.concat({batches, b.integers({taps, 2}), image}));
    Value places = b.create<ReduceProdOp>(b.concat({b.integers({taps}), image}),
                                          Value(), 1, 0);
    SmallVector<Value> positions;
    for (int64_t dim = 0; dim < 2; ++dim) {
      Value own =
          b.create<SliceOp>(offset, b.integers({dim}), b.integers({dim + 1}),
                            b.integers({2}), Value());
      Value at = b.add(b.squeeze(own, {2}), base(dim, offset));
      positions.push_back(b.reshape(at, b.concat({batches, places})));
    }
    Value read = sampleImage(b, x, positions, Sampling());
    if (Value mask = in[4])
      read = b.mul(
          read, b.reshape(mask, b.concat({batches, b.integers({1}), places})));
    // (n, groups, channels of a group * taps, elements)
    Value elements = b.create<ReduceProdOp>(image, Value(), 1, 0);
    int64_t depth = w.getDimSize(1) * taps, filters = w.getDimSize(0) / group;
    read = b.reshape(read, b.concat({b.sizeOf(in[0], 0),
                                     b.integers({group, depth}), elements}));
    Value weights = b.reshape(in[1], b.integers({group, filters, depth}));
    Value y = b.reshapeLike(b.create<MatMulOp>(weights, read), op.getY());
    if (in[3])
      y = b.add(y, b.unsqueeze(in[3], {1, 2}));
    return SmallVector<Value>{y};
  };
  return differentiateAs(
      op, b, {op.getX(), op.getW(), op.getOffset(), op.getB(), op.getMask()},
      decompose);
}

void onnx_aot::populateImageSamplingGradientRules(MLIRContext *context) {
  attachRule<GridSampleOp, gradGridSample>(context);
  attachRule<AffineGridOp, gradAffineGrid>(context);
  attachRule<DeformConvOp, gradDeformConv>(context);
}

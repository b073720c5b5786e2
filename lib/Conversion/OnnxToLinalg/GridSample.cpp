//===- GridSample.cpp - lower GridSample and AffineGrid -------------------===//

#include "Contraction.h"
#include "IndexedGeneric.h"
#include "ScalarBuilder.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace onnx_aot;

namespace {

using Compare = ScalarBuilder::Compare;

enum class Interpolation { Nearest, Linear, Cubic };
enum class Outside { Zeros, Border, Reflection };

/// One of the elements along a dimension that a sample is made of.
struct Tap {
  Value index;    ///< in range
  Value isInside; ///< i1; null where the padding mode brings all taps inside
  Value weight;
};

/// Samples one element of x at a position given in floats.
struct Sampler {
  Interpolation interpolation;
  Outside outside;
  bool alignCorners;

  /// From [-1, 1] to [0, size - 1] (or the outer edges of those elements).
  Value denormalize(ScalarBuilder &s, Value position, Value size) const {
    auto c = [&](double value) { return s.like(position, value); };
    Value shifted = s.add(position, c(1));
    if (alignCorners)
      return s.mul(s.mul(shifted, c(0.5)), s.sub(size, c(1)));
    return s.mul(s.sub(s.mul(shifted, size), c(1)), c(0.5));
  }

  /// The position mirrored at the borders until it lies within.
  Value reflect(ScalarBuilder &s, Value at, Value size) const {
    auto c = [&](double value) { return s.like(at, value); };
    Value low = c(alignCorners ? 0 : -0.5);
    Value high = s.sub(size, c(alignCorners ? 1 : 0.5));
    Value range = s.sub(high, low);
    // Distance from the nearer end of the line of mirror images.
    Value isBelow = s.compare(Compare::Less, at, low);
    Value isAbove = s.compare(Compare::Greater, at, high);
    Value distance = s.select(isBelow, s.sub(low, at), s.sub(at, high));
    Value count = s.create<math::TruncOp>(s.div(distance, range));
    Value rest = s.sub(distance, s.mul(count, range));
    Value half = s.create<math::FloorOp>(s.mul(count, c(0.5)));
    Value isEven = s.compare(Compare::Equal, s.mul(half, c(2)), count);
    Value fromLow = s.add(low, rest), fromHigh = s.sub(high, rest);
    Value below = s.select(isEven, fromLow, fromHigh);
    Value above = s.select(isEven, fromHigh, fromLow);
    return s.select(isBelow, below, s.select(isAbove, above, at));
  }

  /// Brings a position outside x to where the padding mode reads.
  Value pad(ScalarBuilder &s, Value at, Value size) const {
    // The elements beside a cubic's position move into x, the position does
    // not.
    if (outside == Outside::Border && interpolation != Interpolation::Cubic) {
      Value low = s.like(at, 0), high = s.sub(size, s.like(at, 1));
      return s.min(s.max(at, low), high);
    }
    return outside == Outside::Reflection ? reflect(s, at, size) : at;
  }

  SmallVector<Tap> getTaps(ScalarBuilder &s, Value at, Value size,
                           Value length) const {
    if (interpolation == Interpolation::Nearest) {
      Value nearest = pad(s, s.create<math::RoundEvenOp>(at), size);
      return {getTap(s, nearest, size, length, s.like(at, 1))};
    }
    Value position = pad(s, at, size);
    Value base = s.create<math::FloorOp>(position);
    Value ratio = s.sub(position, base);
    SmallVector<Tap> taps;
    bool isCubic = interpolation == Interpolation::Cubic;
    for (int64_t i = isCubic ? -1 : 0; i <= (isCubic ? 2 : 1); ++i) {
      Value tap = s.add(base, s.like(base, i));
      Value weight = isCubic ? getCubicWeight(s, ratio, i)
                     : i     ? ratio
                             : s.sub(s.like(ratio, 1), ratio);
      taps.push_back(getTap(s, tap, size, length, weight));
    }
    return taps;
  }

private:
  /// A tap at a whole position, which may still lie outside.
  Tap getTap(ScalarBuilder &s, Value at, Value size, Value length,
             Value weight) const {
    if (outside == Outside::Reflection)
      at = s.create<math::TruncOp>(reflect(s, at, size));
    OpBuilder &b = s.getBuilder();
    Value index = toIndex(b, s.getLoc(), at);
    Tap tap{clampIndex(b, s.getLoc(), index, length), Value(), weight};
    if (outside == Outside::Zeros)
      tap.isInside = isInside(b, s.getLoc(), index, length);
    return tap;
  }

  static Value getCubicWeight(ScalarBuilder &s, Value ratio, int64_t tap) {
    constexpr double a = -0.75;
    auto c = [&](double value) { return s.like(ratio, value); };
    Value x = s.absolute(s.sub(ratio, c(tap)));
    if (tap == 0 || tap == 1)
      return s.add(s.mul(s.mul(s.sub(s.mul(c(a + 2), x), c(a + 3)), x), x),
                   c(1));
    return s.mul(c(a),
                 s.sub(s.mul(s.add(s.mul(s.sub(x, c(5)), x), c(8)), x), c(4)));
  }
};

struct LowerGridSample : OnnxLowering<onnx::GridSampleOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::GridSampleOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto type =
        dyn_cast_or_null<RankedTensorType>(convertOnnxType(op.getType()));
    if (!type || !onnx::getRank(op.getX()) || !onnx::getRank(op.getGrid()))
      return unsupported(op, "operands of unknown rank");
    Type elementType = type.getElementType();
    if (!isa<FloatType>(elementType))
      return unsupported(op,
                         "on integers is not supported (supported: floats)");
    auto interpolation =
        llvm::StringSwitch<std::optional<Interpolation>>(op.getMode())
            .Case("nearest", Interpolation::Nearest)
            .Cases({"linear", "bilinear"}, Interpolation::Linear)
            .Cases({"cubic", "bicubic"}, Interpolation::Cubic)
            .Default(std::nullopt);
    auto outside =
        llvm::StringSwitch<std::optional<Outside>>(op.getPaddingMode())
            .Case("zeros", Outside::Zeros)
            .Case("border", Outside::Border)
            .Case("reflection", Outside::Reflection)
            .Default(std::nullopt);
    if (!interpolation || !outside)
      return unsupported(op, "mode or padding_mode is not known");
    Sampler sampler{*interpolation, *outside, op.getAlignCorners() != 0};

    Location loc = op.getLoc();
    Value x = adaptor.getX(), grid = adaptor.getGrid();
    int64_t spatialRank = type.getRank() - 2;
    SmallVector<OpFoldResult> xSizes = getRuntimeSizes(rewriter, loc, x),
                              gridSizes = getRuntimeSizes(rewriter, loc, grid);
    checkSize(rewriter, op, grid, 0, xSizes[0], "the batches of x and grid");
    checkSize(rewriter, op, grid, gridSizes.size() - 1,
              rewriter.getIndexAttr(spatialRank), "the last axis of grid");
    SmallVector<OpFoldResult> sizes{xSizes[0], xSizes[1]};
    sizes.append(gridSizes.begin() + 1, gridSizes.end() - 1);
    SmallVector<Value> lengths =
        toValues(rewriter, loc, ArrayRef(xSizes).drop_front(2));
    Type compute = getAccumulatorType(elementType);
    Value y = createFromIndices(
        rewriter, loc, sizes, elementType,
        [&](OpBuilder &b, Location l, ArrayRef<Value> indices) -> Value {
          ScalarBuilder s(b, l, /*isUnsigned=*/false);
          SmallVector<SmallVector<Tap>> taps;
          for (int64_t i = 0; i < spatialRank; ++i) {
            // grid[n, o..., last spatial dimension first]
            SmallVector<Value> at{indices[0]};
            at.append(indices.begin() + 2, indices.end());
            at.push_back(s.constant(spatialRank - 1 - i, b.getIndexType()));
            Value position = tensor::ExtractOp::create(b, l, grid, at);
            position = convertScalar(b, l, position, compute);
            Value size = toFloat(b, l, lengths[i], compute);
            Value source = sampler.denormalize(s, position, size);
            taps.push_back(sampler.getTaps(s, source, size, lengths[i]));
          }
          SmallVector<Value> at(indices.take_front(2));
          Value sum = addTaps(s, x, compute, taps, at, Value(), Value());
          return convertScalar(b, l, sum, elementType);
        });
    rewriter.replaceOp(op, castTensor(rewriter, loc, y, type));
    return success();
  }

private:
  /// The weighted sum over all combinations of taps of the dimensions not yet
  /// in `at`.
  static Value addTaps(ScalarBuilder &s, Value x, Type compute,
                       ArrayRef<SmallVector<Tap>> taps, SmallVector<Value> at,
                       Value weight, Value inside) {
    if (taps.empty()) {
      Value element =
          tensor::ExtractOp::create(s.getBuilder(), s.getLoc(), x, at);
      element = convertScalar(s.getBuilder(), s.getLoc(), element, compute);
      if (inside)
        element = s.select(inside, element, s.like(element, 0));
      return s.mul(element, weight);
    }
    Value sum;
    for (const Tap &tap : taps.front()) {
      SmallVector<Value> next(at);
      next.push_back(tap.index);
      Value product = weight ? s.mul(weight, tap.weight) : tap.weight;
      Value both = inside && tap.isInside
                       ? s.create<arith::AndIOp>(inside, tap.isInside)
                   : inside ? inside
                            : tap.isInside;
      Value part =
          addTaps(s, x, compute, taps.drop_front(), next, product, both);
      sum = sum ? s.add(sum, part) : part;
    }
    return sum;
  }
};

//===--- AffineGrid -------------------------------------------------------===//

struct LowerAffineGrid : OnnxLowering<onnx::AffineGridOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::AffineGridOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto type =
        dyn_cast_or_null<RankedTensorType>(convertOnnxType(op.getType()));
    if (!type || !isa<FloatType>(type.getElementType()))
      return unsupported(op, "needs a size of known length");
    Location loc = op.getLoc();
    int64_t spatialRank = type.getRank() - 2;
    Value theta = adaptor.getTheta();
    SmallVector<OpFoldResult> sizes{getRuntimeSizes(rewriter, loc, theta)[0]};
    for (int64_t i = 0; i < spatialRank; ++i) {
      if (!type.isDynamicDim(i + 1)) {
        sizes.push_back(rewriter.getIndexAttr(type.getDimSize(i + 1)));
        continue;
      }
      ScalarBuilder s(rewriter, loc, /*isUnsigned=*/false);
      Value at = s.constant(i + 2, rewriter.getIndexType());
      Value size = s.create<tensor::ExtractOp>(adaptor.getSize(), at);
      Value index = s.create<arith::IndexCastOp>(rewriter.getIndexType(), size);
      sizes.push_back(OpFoldResult(s.max(index, s.like(index, 0))));
    }
    sizes.push_back(rewriter.getIndexAttr(spatialRank));
    SmallVector<Value> lengths = toValues(rewriter, loc, sizes);
    Type elementType = type.getElementType();
    Type compute = getAccumulatorType(elementType);
    bool alignCorners = op.getAlignCorners() != 0;
    Value y = createFromIndices(
        rewriter, loc, sizes, elementType,
        [&](OpBuilder &b, Location l, ArrayRef<Value> indices) -> Value {
          ScalarBuilder s(b, l, /*isUnsigned=*/false);
          Value sum;
          for (int64_t k = 0; k <= spatialRank; ++k) {
            Value column = s.constant(k, b.getIndexType());
            Value factor = s.create<tensor::ExtractOp>(
                theta, ValueRange{indices[0], indices.back(), column});
            factor = convertScalar(b, l, factor, compute);
            if (k < spatialRank) { // the last spatial dimension comes first
              int64_t dim = spatialRank - k;
              factor = s.mul(
                  factor, getPosition(s, toFloat(b, l, indices[dim], compute),
                                      toFloat(b, l, lengths[dim], compute),
                                      alignCorners));
            }
            sum = sum ? s.add(sum, factor) : factor;
          }
          return convertScalar(b, l, sum, elementType);
        });
    rewriter.replaceOp(op, castTensor(rewriter, loc, y, type));
    return success();
  }

private:
  /// Position i of `size` in [-1, 1].
  static Value getPosition(ScalarBuilder &s, Value i, Value size,
                           bool alignCorners) {
    auto c = [&](double value) { return s.like(i, value); };
    if (!alignCorners)
      return s.sub(s.div(s.add(s.mul(i, c(2)), c(1)), size), c(1));
    Value last = s.sub(size, c(1));
    Value isSingle = s.compare(Compare::Equal, last, c(0));
    Value steps = s.select(isSingle, c(1), last);
    return s.sub(s.div(s.mul(i, c(2)), steps), c(1));
  }
};

} // namespace

void onnx_aot::populateOnnxToLinalgGridSamplePatterns(
    const LoweringContext &lowering, RewritePatternSet &patterns) {
  patterns.add<LowerGridSample, LowerAffineGrid>(lowering,
                                                 patterns.getContext());
}

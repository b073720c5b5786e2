//===- Resize.cpp - lower Resize ------------------------------------------===//
//
// Interpolation is separable: for each axis a table says which elements of x an
// output position reads and with which weights; the axes follow one another.
// Positions are computed in double precision, as exact ties decide what nearest
// picks.
//
//===----------------------------------------------------------------------===//

#include "Contraction.h"
#include "IndexedGeneric.h"
#include "ScalarBuilder.h"

#include "onnx-aot/Dialect/Onnx/IR/Sampling.h"

#include <cmath>

using namespace mlir;
using namespace onnx_aot;

namespace {

using Spec = onnx::ResizeSpec;
using Compare = ScalarBuilder::Compare;

/// One resized axis: sizes as f64, output size over input size, and the part of
/// the input that a roi selects (null without).
struct Axis {
  int64_t dim;
  OpFoldResult outputSize;
  Value inputSize; // index
  Value input, output, scale, roiStart, roiEnd;
};

/// What a Resize reads along one axis: (output, taps) positions and weights.
struct Table {
  Value positions, weights;
  /// (output) i8, 1 where tf_crop_and_resize extrapolates; null otherwise.
  Value outside;
};

class ResizeBuilder {
public:
  ResizeBuilder(OpBuilder &builder, onnx::ResizeOp op, Spec spec)
      : builder(builder), loc(op.getLoc()), op(op), spec(std::move(spec)) {}

  /// Where output position `o` (f64) comes from.
  Value getSource(ScalarBuilder &s, const Axis &axis, Value o) const;
  Table buildTable(const Axis &axis, Type weightType) const;
  /// Resizes one axis with a table.
  Value apply(Value x, const Axis &axis, const Table &table, Type type) const;
  /// Picks the nearest element along all axes at once.
  Value pickNearest(Value x, ArrayRef<Axis> axes,
                    ArrayRef<OpFoldResult> sizes) const;
  /// Replaces what tf_crop_and_resize extrapolates along one axis.
  Value extrapolate(Value y, const Axis &axis, Value outside) const;

private:
  Value getNearest(ScalarBuilder &s, Value source) const;
  Value getWeight(ScalarBuilder &s, Value distance) const;
  /// Taps of a kernel: the offset of the first one from the floor of the
  /// source, and their number (both index).
  std::pair<Value, Value> getTaps(ScalarBuilder &s, Value shrink) const;
  /// min(scale, 1): antialiasing widens the kernel by its inverse.
  Value getShrink(ScalarBuilder &s, const Axis &axis) const {
    if (op.getAntialias() == 0)
      return s.constant(1, builder.getF64Type());
    return s.min(axis.scale, s.like(axis.scale, 1));
  }

  OpBuilder &builder;
  Location loc;
  mutable onnx::ResizeOp op; // accessors of ops are not const
  Spec spec;
};

Value ResizeBuilder::getSource(ScalarBuilder &s, const Axis &axis,
                               Value o) const {
  auto c = [&](double value) { return s.like(o, value); };
  Value width = s.mul(axis.scale, axis.input); // not rounded to a whole size
  auto isOne = [&]() { return s.compare(Compare::Equal, width, c(1)); };
  Value last = s.sub(axis.input, c(1));
  // (o + 0.5) / scale - 0.5
  auto halfPixel = [&]() {
    return s.sub(s.div(s.add(o, c(0.5)), axis.scale), c(0.5));
  };
  switch (spec.transform) {
  case Spec::Transform::HalfPixel:
    return halfPixel();
  case Spec::Transform::PytorchHalfPixel:
    return s.select(isOne(), c(-0.5), halfPixel());
  case Spec::Transform::HalfPixelSymmetric: {
    Value adjustment = s.div(axis.output, width);
    Value offset = s.mul(s.mul(axis.input, c(0.5)), s.sub(c(1), adjustment));
    return s.add(offset, halfPixel());
  }
  case Spec::Transform::AlignCorners:
    return s.select(isOne(), c(0), s.div(s.mul(o, last), s.sub(width, c(1))));
  case Spec::Transform::Asymmetric:
    return s.div(o, axis.scale);
  case Spec::Transform::TfCropAndResize: {
    Value extent = s.mul(s.sub(axis.roiEnd, axis.roiStart), last);
    Value step = s.div(s.mul(o, extent), s.sub(width, c(1)));
    Value at = s.select(isOne(), s.mul(extent, c(0.5)), step);
    return s.add(at, s.mul(axis.roiStart, last));
  }
  }
  return o;
}

Value ResizeBuilder::getNearest(ScalarBuilder &s, Value source) const {
  auto half = [&]() { return s.like(source, 0.5); };
  switch (spec.rounding) {
  case Spec::Rounding::PreferFloor:
    return toIndex(s.getBuilder(), loc,
                   s.create<math::CeilOp>(s.sub(source, half())));
  case Spec::Rounding::PreferCeil:
    return toIndex(s.getBuilder(), loc, s.add(source, half()));
  case Spec::Rounding::Floor:
    return toIndex(s.getBuilder(), loc, source);
  case Spec::Rounding::Ceil:
    return toIndex(s.getBuilder(), loc, s.create<math::CeilOp>(source));
  }
  return {};
}

/// The kernel at a distance from its centre.
Value ResizeBuilder::getWeight(ScalarBuilder &s, Value distance) const {
  Value x = s.absolute(distance);
  auto c = [&](double value) { return s.like(x, value); };
  if (spec.mode == Spec::Mode::Linear)
    return s.max(s.sub(c(1), x), c(0));
  double a = op.getCubicCoeffA().convertToDouble();
  // ((a + 2) x - (a + 3)) x^2 + 1 up to 1, a (x^3 - 5 x^2 + 8 x - 4) up to 2.
  Value near =
      s.add(s.mul(s.mul(s.sub(s.mul(c(a + 2), x), c(a + 3)), x), x), c(1));
  Value far =
      s.mul(c(a), s.sub(s.mul(s.add(s.mul(s.sub(x, c(5)), x), c(8)), x), c(4)));
  Value outer = s.select(s.compare(Compare::Less, x, c(2)), far, c(0));
  return s.select(s.compare(Compare::LessOrEqual, x, c(1)), near, outer);
}

std::pair<Value, Value> ResizeBuilder::getTaps(ScalarBuilder &s,
                                               Value shrink) const {
  double reach = spec.mode == Spec::Mode::Linear ? 1 : 2;
  Value one = s.constant(1, builder.getIndexType());
  if (op.getAntialias() == 0)
    return {s.like(one, 1 - reach), s.like(one, 2 * reach)};
  Value wide = s.div(s.like(shrink, -reach), shrink);
  Value first = s.add(toIndex(s.getBuilder(), loc, wide), one);
  Value count = s.sub(s.like(one, 2), s.add(first, first));
  return {first, count};
}

Table ResizeBuilder::buildTable(const Axis &axis, Type weightType) const {
  ScalarBuilder outer(builder, loc, /*isUnsigned=*/false);
  Type f64 = builder.getF64Type();
  Value shrink = getShrink(outer, axis);
  auto [first, count] = getTaps(outer, shrink);
  OpFoldResult taps = getAsOpFoldResult(count);
  SmallVector<OpFoldResult> sizes{axis.outputSize, taps};
  Value firstTap = first;

  Table table;
  auto getPosition = [&](ScalarBuilder &s, ArrayRef<Value> at, Value &source) {
    source = getSource(s, axis, toFloat(s.getBuilder(), loc, at[0], f64));
    Value base = toIndex(s.getBuilder(), loc, source);
    return s.add(base, s.add(firstTap, at[1]));
  };
  table.positions = createFromIndices(
      builder, loc, sizes, builder.getI64Type(),
      [&](OpBuilder &b, Location l, ArrayRef<Value> at) -> Value {
        ScalarBuilder s(b, l, /*isUnsigned=*/false);
        Value source, position = getPosition(s, at, source);
        return s.create<arith::IndexCastOp>(
            b.getI64Type(), clampIndex(b, l, position, axis.inputSize));
      });
  Value raw = createFromIndices(
      builder, loc, sizes, f64,
      [&](OpBuilder &b, Location l, ArrayRef<Value> at) -> Value {
        ScalarBuilder s(b, l, /*isUnsigned=*/false);
        Value source, position = getPosition(s, at, source);
        Value distance = s.sub(toFloat(b, l, position, f64), source);
        Value weight = getWeight(s, s.mul(distance, shrink));
        if (op.getExcludeOutside() == 0)
          return weight;
        return s.select(isInside(b, l, position, axis.inputSize), weight,
                        s.like(weight, 0));
      });
  AffineMap both = builder.getMultiDimIdentityMap(2);
  AffineMap row = AffineMap::get(2, 0, builder.getAffineDimExpr(0));
  SmallVector<IndexedOperand> operands{{raw, both}};
  bool normalize = op.getAntialias() != 0 || op.getExcludeOutside() != 0;
  if (normalize) {
    SmallVector<utils::IteratorType> iterators{utils::IteratorType::parallel,
                                               utils::IteratorType::reduction};
    operands.push_back({createContraction(builder, loc, {{raw, both}}, row,
                                          iterators, axis.outputSize, f64),
                        row});
  }
  table.weights =
      createPointwise(builder, loc, operands, sizes, weightType,
                      [&](OpBuilder &b, Location l, ValueRange args) {
                        ScalarBuilder s(b, l, /*isUnsigned=*/false);
                        Value weight =
                            normalize ? s.div(args[0], args[1]) : args[0];
                        return convertScalar(b, l, weight, weightType);
                      });
  if (spec.transform == Spec::Transform::TfCropAndResize)
    table.outside = createFromIndices(
        builder, loc, axis.outputSize, builder.getI8Type(),
        [&](OpBuilder &b, Location l, ArrayRef<Value> at) -> Value {
          ScalarBuilder s(b, l, /*isUnsigned=*/false);
          Value source = getSource(s, axis, toFloat(b, l, at[0], f64));
          Value last = s.sub(axis.input, s.like(axis.input, 1));
          Value outside = s.create<arith::OrIOp>(
              s.compare(Compare::Less, source, s.like(source, 0)),
              s.compare(Compare::Greater, source, last));
          return s.create<arith::ExtUIOp>(b.getI8Type(), outside);
        });
  return table;
}

Value ResizeBuilder::apply(Value x, const Axis &axis, const Table &table,
                           Type type) const {
  SmallVector<OpFoldResult> sizes = getRuntimeSizes(builder, loc, x);
  int64_t rank = sizes.size();
  sizes[axis.dim] = axis.outputSize;
  MLIRContext *context = builder.getContext();
  AffineMap result = builder.getMultiDimIdentityMap(rank + 1).dropResult(rank);
  AffineMap entry = AffineMap::get(
      rank + 1, 0,
      {builder.getAffineDimExpr(axis.dim), builder.getAffineDimExpr(rank)},
      context);
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  iterators.push_back(utils::IteratorType::reduction);
  Value zero = createScalarConstant(builder, loc, 0, type);
  Value filled = createFilled(builder, loc, sizes, zero);
  return linalg::GenericOp::create(
             builder, loc, filled.getType(),
             ValueRange{table.positions, table.weights}, filled,
             ArrayRef<AffineMap>{entry, entry, result}, iterators,
             [&](OpBuilder &b, Location l, ValueRange args) {
               SmallVector<Value> at;
               for (int64_t i = 0; i < rank; ++i)
                 at.push_back(linalg::IndexOp::create(b, l, i));
               at[axis.dim] =
                   arith::IndexCastOp::create(b, l, b.getIndexType(), args[0]);
               Value element = tensor::ExtractOp::create(b, l, x, at);
               ScalarBuilder s(b, l, /*isUnsigned=*/false);
               Value term = s.mul(convertScalar(b, l, element, type), args[1]);
               // What has no weight is not there, be it infinite.
               term = s.select(s.compare(Compare::Equal, args[1], zero), zero,
                               term);
               linalg::YieldOp::create(b, l, s.add(args[2], term));
             })
      .getResult(0);
}

Value ResizeBuilder::pickNearest(Value x, ArrayRef<Axis> axes,
                                 ArrayRef<OpFoldResult> sizes) const {
  int64_t rank = sizes.size();
  Type f64 = builder.getF64Type();
  // One table of positions for each axis, read along that axis.
  SmallVector<Value> tables;
  SmallVector<AffineMap> maps;
  for (const Axis &axis : axes) {
    tables.push_back(createFromIndices(
        builder, loc, axis.outputSize, builder.getI64Type(),
        [&](OpBuilder &b, Location l, ArrayRef<Value> at) -> Value {
          ScalarBuilder s(b, l, /*isUnsigned=*/false);
          Value source = getSource(s, axis, toFloat(b, l, at[0], f64));
          Value position =
              clampIndex(b, l, getNearest(s, source), axis.inputSize);
          return s.create<arith::IndexCastOp>(b.getI64Type(), position);
        }));
    maps.push_back(AffineMap::get(rank, 0, builder.getAffineDimExpr(axis.dim)));
  }
  maps.push_back(builder.getMultiDimIdentityMap(rank));
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  Value empty =
      createEmpty(builder, loc, sizes, getElementTypeOrSelf(x.getType()));
  return linalg::GenericOp::create(
             builder, loc, empty.getType(), tables, empty, maps, iterators,
             [&](OpBuilder &b, Location l, ValueRange args) {
               SmallVector<Value> at;
               for (int64_t i = 0; i < rank; ++i)
                 at.push_back(linalg::IndexOp::create(b, l, i));
               for (auto [axis, position] : llvm::zip(axes, args))
                 at[axis.dim] = arith::IndexCastOp::create(
                     b, l, b.getIndexType(), position);
               Value element = tensor::ExtractOp::create(b, l, x, at);
               linalg::YieldOp::create(b, l, element);
             })
      .getResult(0);
}

Value ResizeBuilder::extrapolate(Value y, const Axis &axis,
                                 Value outside) const {
  SmallVector<OpFoldResult> sizes = getRuntimeSizes(builder, loc, y);
  Type type = getElementTypeOrSelf(y.getType());
  double value = op.getExtrapolationValue().convertToDouble();
  return createPointwise(
      builder, loc,
      {{y, builder.getMultiDimIdentityMap(sizes.size())},
       {outside,
        AffineMap::get(sizes.size(), 0, builder.getAffineDimExpr(axis.dim))}},
      sizes, type, [&](OpBuilder &b, Location l, ValueRange args) -> Value {
        ScalarBuilder s(b, l, /*isUnsigned=*/false);
        Value isOutside =
            s.compare(Compare::NotEqual, args[1], s.like(args[1], 0));
        return s.select(isOutside, s.like(args[0], value), args[0]);
      });
}

//===--- Whole-number enlargement -----------------------------------------===//

/// How often each element of each dimension of x is repeated, where nearest
/// does nothing else; nothing otherwise.
std::optional<SmallVector<int64_t>> getRepetitions(onnx::ResizeOp op,
                                                   const Spec &spec) {
  if (spec.mode != Spec::Mode::Nearest)
    return std::nullopt;
  bool floors = spec.transform == Spec::Transform::Asymmetric &&
                spec.rounding == Spec::Rounding::Floor;
  // (i + 0.5) / scale - 0.5 lies within (-0.5, 0.5) for i < scale.
  bool rounds = (spec.transform == Spec::Transform::HalfPixel ||
                 spec.transform == Spec::Transform::PytorchHalfPixel) &&
                (spec.rounding == Spec::Rounding::PreferFloor ||
                 spec.rounding == Spec::Rounding::PreferCeil);
  if (!floors && !rounds)
    return std::nullopt;
  onnx::Shape before = *onnx::getShape(op.getX()),
              after = *onnx::getShape(op.getY());
  std::optional<SmallVector<double>> scales =
      onnx::getConstantFloats(spec.scales);
  SmallVector<int64_t> repetitions(before.size(), 1);
  for (auto [i, dim] : llvm::enumerate(spec.axes)) {
    if (scales) {
      double scale = (*scales)[i];
      if (scale != std::floor(scale) || scale < 1 || scale > 1024)
        return std::nullopt;
      repetitions[dim] = static_cast<int64_t>(scale);
    } else if (before[dim].isStatic() && after[dim].isStatic() &&
               before[dim].getStatic() > 0 &&
               after[dim].getStatic() % before[dim].getStatic() == 0) {
      repetitions[dim] = after[dim].getStatic() / before[dim].getStatic();
    }
    if (before[dim] * repetitions[dim] != after[dim])
      return std::nullopt;
  }
  return repetitions;
}

/// x with every element repeated along the dimensions.
Value repeatElements(OpBuilder &builder, Location loc, Value x,
                     ArrayRef<int64_t> repetitions) {
  SmallVector<OpFoldResult> sizes = getRuntimeSizes(builder, loc, x), split;
  SmallVector<AffineExpr> exprs;
  SmallVector<ReassociationIndices> reassociation;
  for (auto [size, count] : llvm::zip_equal(sizes, repetitions)) {
    exprs.push_back(builder.getAffineDimExpr(split.size()));
    reassociation.push_back({static_cast<int64_t>(split.size())});
    split.push_back(size);
    if (count == 1)
      continue;
    reassociation.back().push_back(split.size());
    split.push_back(builder.getIndexAttr(count));
  }
  AffineMap map = AffineMap::get(split.size(), 0, exprs, builder.getContext());
  Value repeated = createPointwise(
      builder, loc, {{x, map}}, split, getElementTypeOrSelf(x.getType()),
      [](OpBuilder &, Location, ValueRange args) { return args[0]; });
  if (split.size() == sizes.size())
    return repeated;
  return tensor::CollapseShapeOp::create(builder, loc, repeated, reassociation);
}

//===--- The pattern ------------------------------------------------------===//

struct LowerResize : OnnxLowering<onnx::ResizeOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::ResizeOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto type =
        dyn_cast_or_null<RankedTensorType>(convertOnnxType(op.getType()));
    if (!type || !onnx::getRank(op.getX()))
      return unsupported(op, "input of unknown rank");
    FailureOr<Spec> spec = onnx::getResizeSpec(op);
    if (failed(spec))
      return failure();
    Location loc = op.getLoc();
    Value x = adaptor.getX();
    if (auto repetitions = getRepetitions(op, *spec)) {
      Value y = repeatElements(rewriter, loc, x, *repetitions);
      rewriter.replaceOp(op, castTensor(rewriter, loc, y, type));
      return success();
    }
    SmallVector<OpFoldResult> sizes = getRuntimeSizes(rewriter, loc, x);
    SmallVector<Axis> axes;
    if (failed(getAxes(rewriter, op, adaptor, *spec, type, sizes, axes)))
      return failure();
    // Nothing happens along an axis that keeps its size.
    onnx::Shape before = *onnx::getShape(op.getX()),
                after = *onnx::getShape(op.getY());
    if (spec->transform != Spec::Transform::TfCropAndResize)
      llvm::erase_if(axes, [&](const Axis &axis) {
        return before[axis.dim] == after[axis.dim] &&
               (spec->sizes || isScaleOne(*spec, axis.dim));
      });

    Value y =
        resize(rewriter, op, *spec, x, axes, sizes, type.getElementType());
    rewriter.replaceOp(op, castTensor(rewriter, loc, y, type));
    return success();
  }

private:
  /// Whether the constant scale of dimension `dim` is exactly 1.
  static bool isScaleOne(const Spec &spec, int64_t dim) {
    std::optional<SmallVector<double>> scales =
        onnx::getConstantFloats(spec.scales);
    const int64_t *found = llvm::find(spec.axes, dim);
    return scales && found != spec.axes.end() &&
           (*scales)[found - spec.axes.begin()] == 1.0;
  }

  Value resize(OpBuilder &builder, onnx::ResizeOp op, const Spec &spec, Value x,
               ArrayRef<Axis> axes, ArrayRef<OpFoldResult> sizes,
               Type elementType) const {
    Location loc = op.getLoc();
    ResizeBuilder resizer(builder, op, spec);
    bool isUnsigned = isUnsignedTensor(op.getX());
    Value y = x;
    SmallVector<Table> tables;
    bool isCrop = spec.transform == Spec::Transform::TfCropAndResize;
    Type weightType = isa<FloatType>(elementType)
                          ? getAccumulatorType(elementType)
                          : Type(builder.getF32Type());
    if (spec.mode != Spec::Mode::Nearest || isCrop)
      for (const Axis &axis : axes)
        tables.push_back(resizer.buildTable(axis, weightType));
    if (spec.mode == Spec::Mode::Nearest) {
      y = resizer.pickNearest(x, axes, sizes);
    } else {
      if (!isa<FloatType>(elementType))
        y = createMapped(builder, loc, y, weightType,
                         [&](OpBuilder &b, Location l, ValueRange args) {
                           ScalarBuilder s(b, l, isUnsigned);
                           return s.convert(args[0], weightType, false);
                         });
      for (auto [axis, table] : llvm::zip_equal(axes, tables))
        y = resizer.apply(y, axis, table, weightType);
      if (isa<FloatType>(elementType))
        y = convertFloats(builder, loc, y, elementType);
      else
        y = createMapped(builder, loc, y, elementType,
                         [&](OpBuilder &b, Location l, ValueRange args) {
                           ScalarBuilder s(b, l, isUnsigned);
                           return s.convert(args[0], elementType, isUnsigned);
                         });
    }
    if (isCrop)
      for (auto [axis, table] : llvm::zip_equal(axes, tables))
        y = resizer.extrapolate(y, axis, table.outside);
    return y;
  }

  /// Element `i` of a list operand.
  static Value extract(OpBuilder &builder, Location loc, Value list,
                       int64_t i) {
    Value at = arith::ConstantIndexOp::create(builder, loc, i);
    return tensor::ExtractOp::create(builder, loc, list, at);
  }

  /// Reads sizes and scales; `sizes` becomes the output's.
  LogicalResult getAxes(ConversionPatternRewriter &rewriter, onnx::ResizeOp op,
                        OpAdaptor adaptor, const Spec &spec,
                        RankedTensorType type,
                        SmallVectorImpl<OpFoldResult> &sizes,
                        SmallVectorImpl<Axis> &axes) const {
    Location loc = op.getLoc();
    ScalarBuilder s(rewriter, loc, /*isUnsigned=*/false);
    Type f64 = rewriter.getF64Type(), index = rewriter.getIndexType();
    for (Value list : {spec.scales, spec.sizes})
      if (list)
        checkSize(rewriter, op,
                  list == spec.scales ? adaptor.getScales()
                                      : adaptor.getSizes(),
                  0, rewriter.getIndexAttr(spec.axes.size()),
                  "one size or scale per axis");
    bool keepsAspect = spec.sizes && spec.policy != Spec::Policy::Stretch;
    FailureOr<SmallVector<OpFoldResult>> known =
        getSizes(rewriter, loc, lowering, op.getY());
    auto toDouble = [&](Value number) {
      return convertScalar(rewriter, loc, number, f64);
    };
    for (auto [i, dim] : llvm::enumerate(spec.axes)) {
      Axis axis;
      axis.dim = dim;
      axis.inputSize =
          getValueOrCreateConstantIndexOp(rewriter, loc, sizes[dim]);
      axis.input = toFloat(rewriter, loc, axis.inputSize, f64);
      Value given;
      if (spec.roi) {
        Value roi = adaptor.getRoi();
        int64_t count = spec.axes.size();
        axis.roiStart = toDouble(extract(rewriter, loc, roi, i));
        axis.roiEnd = toDouble(extract(rewriter, loc, roi, count + i));
      }
      if (spec.scales)
        given = extract(rewriter, loc, adaptor.getScales(), i);
      if (succeeded(known)) {
        axis.outputSize = (*known)[dim];
      } else if (keepsAspect) {
        axis.outputSize = sizes[dim]; // until the scale is known
      } else if (spec.sizes) {
        Value size = extract(rewriter, loc, adaptor.getSizes(), i);
        Value asIndex = s.create<arith::IndexCastOp>(index, size);
        axis.outputSize = OpFoldResult(s.max(asIndex, s.like(asIndex, 0)));
      } else {
        // floor(input * extent * scale), in the precision of the scales.
        Value extent =
            convertScalar(rewriter, loc, axis.input, given.getType());
        if (spec.roi)
          extent =
              s.mul(extent, convertScalar(rewriter, loc,
                                          s.sub(axis.roiEnd, axis.roiStart),
                                          given.getType()));
        Value size = toIndex(rewriter, loc, s.mul(extent, given));
        axis.outputSize = OpFoldResult(s.max(size, s.like(size, 0)));
      }
      Value outputSize =
          getValueOrCreateConstantIndexOp(rewriter, loc, axis.outputSize);
      axis.output = toFloat(rewriter, loc, outputSize, f64);
      axis.scale = s.div(axis.output, axis.input);
      if (given && !spec.roi) {
        // A scale that is the rounded quotient of the sizes means the quotient.
        Value rounded =
            convertScalar(rewriter, loc, axis.scale, given.getType());
        Value same = s.compare(Compare::Equal, rounded, given);
        axis.scale = s.select(same, axis.scale, toDouble(given));
      } else if (given) {
        axis.scale = toDouble(given);
      }
      axes.push_back(axis);
    }
    if (keepsAspect)
      shareScale(rewriter, loc, op, adaptor, spec, axes, failed(known));
    for (const Axis &axis : axes)
      sizes[axis.dim] = axis.outputSize;
    return success();
  }

  /// The one scale that fits all axes under a keep_aspect_ratio_policy, and the
  /// sizes that follow from it.
  static void shareScale(OpBuilder &builder, Location loc, onnx::ResizeOp op,
                         OpAdaptor adaptor, const Spec &spec,
                         MutableArrayRef<Axis> axes, bool needsSizes) {
    ScalarBuilder s(builder, loc, /*isUnsigned=*/false);
    Value scale;
    for (auto [i, axis] : llvm::enumerate(axes)) {
      Value size = extract(builder, loc, adaptor.getSizes(), i);
      Value number = s.create<arith::SIToFPOp>(builder.getF64Type(), size);
      Value own = s.div(number, axis.input);
      if (!scale)
        scale = own;
      else
        scale = spec.policy == Spec::Policy::NotLarger ? s.min(scale, own)
                                                       : s.max(scale, own);
    }
    for (Axis &axis : axes) {
      axis.scale = scale;
      if (!needsSizes)
        continue;
      Value scaled = s.mul(scale, axis.input);
      Value size = toIndex(builder, loc, s.add(scaled, s.like(scaled, 0.5)));
      size = s.max(size, s.like(size, 0));
      axis.outputSize = OpFoldResult(size);
      axis.output = toFloat(builder, loc, size, builder.getF64Type());
    }
  }
};

} // namespace

void onnx_aot::populateOnnxToLinalgResizePatterns(
    const LoweringContext &lowering, RewritePatternSet &patterns) {
  patterns.add<LowerResize>(lowering, patterns.getContext());
}

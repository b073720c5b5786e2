//===- Dft.cpp - lower Fourier transforms and windows ---------------------===//
//
// A transform is a contraction of real numbers with a table of cosines and
// sines over (output, input, input part, output part), the parts being real and
// imaginary.
//
//===----------------------------------------------------------------------===//

#include "Contraction.h"
#include "IndexedGeneric.h"
#include "ReshapeUtils.h"
#include "ScalarBuilder.h"
#include "ShapeScalars.h"

#include "onnx-aot/Dialect/Onnx/IR/Sampling.h"

#include <cmath>

using namespace mlir;
using namespace onnx_aot;

namespace {

using Compare = ScalarBuilder::Compare;
constexpr double kTwoPi = 6.283185307179586476925286766559;

/// What a table of factors is for; sizes are index values.
struct Transform {
  Value length;
  OpFoldResult outputs, inputs;
  OpFoldResult inputParts;
  int64_t outputParts = 2;
  bool inverse = false;
  /// Inverse of one half of a spectrum whose other half mirrors it.
  bool mirrored = false;
};

/// (outputs, inputs, input parts, output parts).
Value createFactors(OpBuilder &builder, Location loc,
                    const Transform &transform, Type type) {
  SmallVector<OpFoldResult> sizes{transform.outputs, transform.inputs,
                                  transform.inputParts,
                                  builder.getIndexAttr(transform.outputParts)};
  Type f64 = builder.getF64Type();
  Value length = toFloat(builder, loc, transform.length, f64);
  return createFromIndices(
      builder, loc, sizes, type,
      [&](OpBuilder &b, Location l, ArrayRef<Value> at) -> Value {
        ScalarBuilder s(b, l, /*isUnsigned=*/false);
        // (a + ib)(cos -+ i sin): the sign of the sine by parts and direction.
        Value zero = s.like(at[0], 0);
        Value fromReal = s.compare(Compare::Equal, at[2], zero);
        Value toReal = s.compare(Compare::Equal, at[3], zero);
        Value isCosine =
            s.create<arith::CmpIOp>(arith::CmpIPredicate::eq, fromReal, toReal);
        // Whole turns are taken off while the product is still exact, and a
        // cosine is the sine of a quarter of a turn more.
        Value turns =
            s.create<arith::RemSIOp>(s.mul(at[0], at[1]), transform.length);
        Value quarters = s.mul(turns, s.like(turns, 4));
        quarters = s.add(quarters, s.select(isCosine, transform.length, zero));
        Value angle = s.div(
            s.mul(toFloat(b, l, quarters, f64), s.constant(kTwoPi / 4, f64)),
            length);
        Value wave = s.create<math::SinOp>(angle);
        Value negated = s.negate(wave);
        Value forward = s.select(fromReal, negated, wave);
        Value backward = s.select(fromReal, wave, negated);
        Value factor =
            s.select(isCosine, wave, transform.inverse ? backward : forward);
        if (transform.mirrored) {
          // All terms but the first and the middle one stand for two.
          Value twice = s.add(at[1], at[1]);
          Value isSingle = s.create<arith::OrIOp>(
              s.compare(Compare::Equal, at[1], zero),
              s.compare(Compare::Equal, twice, transform.length));
          factor = s.select(isSingle, factor, s.add(factor, factor));
        }
        if (transform.inverse)
          factor = s.div(factor, length);
        return convertScalar(b, l, factor, type);
      });
}

/// The single integer of an operand, as an index.
Value readInteger(OpBuilder &builder, Location loc, Value operand) {
  int64_t rank = cast<RankedTensorType>(operand.getType()).getRank();
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value element = tensor::ExtractOp::create(builder, loc, operand,
                                            SmallVector<Value>(rank, zero));
  return arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                    element);
}

/// The number of parts of the input's numbers, which is 1 or 2.
OpFoldResult getParts(OpBuilder &builder, Operation *op, OpFoldResult size) {
  IndexBuilder b(builder, op->getLoc());
  if (getConstantIntValue(size))
    return size;
  Value parts = b.get(size);
  createCheck(builder, op,
              b.compare(arith::CmpIPredicate::ule, b.sub(parts, b.constant(1)),
                        b.constant(1)),
              "the last size is neither 1 nor 2");
  return size;
}

/// A size known from the type, else as computed.
OpFoldResult getKnownSize(OpBuilder &builder, RankedTensorType type,
                          int64_t dim, OpFoldResult computed) {
  if (type.isDynamicDim(dim))
    return computed;
  return builder.getIndexAttr(type.getDimSize(dim));
}

//===--- DFT --------------------------------------------------------------===//

struct LowerDft : OnnxLowering<onnx::DFTOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::DFTOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto type =
        dyn_cast_or_null<RankedTensorType>(convertOnnxType(op.getType()));
    auto inputType = dyn_cast<RankedTensorType>(adaptor.getInput().getType());
    if (!type || !inputType || !isa<FloatType>(type.getElementType()))
      return unsupported(op, "needs floats of known rank");
    int64_t rank = inputType.getRank(), last = rank - 1;
    Location loc = op.getLoc();
    std::optional<SmallVector<int64_t>> given{{-2}};
    if (op.getAxis())
      given = onnx::getConstantIntegers(op.getAxis());
    if (!given) {
      Value y = transformAtRuntime(rewriter, op, adaptor, type);
      rewriter.replaceOp(op, castTensor(rewriter, loc, y, type));
      return success();
    }
    FailureOr<int64_t> axis = failure();
    if (given->size() == 1)
      axis = onnx::normalizeAxis(given->front(), rank);
    if (failed(axis) || *axis == last)
      return unsupported(op, "axis is out of range");
    Value y = transform(rewriter, op, adaptor, adaptor.getInput(), *axis, type);
    rewriter.replaceOp(op, castTensor(rewriter, loc, y, type));
    return success();
  }

private:
  /// Along an axis that only the run knows: all dimensions before it become
  /// one, and so do those behind it.
  static Value transformAtRuntime(ConversionPatternRewriter &rewriter,
                                  onnx::DFTOp op, OpAdaptor adaptor,
                                  RankedTensorType type) {
    Location loc = op.getLoc();
    IndexBuilder b(rewriter, loc);
    auto equals = [&](Value x, int64_t y) {
      return b.compare(arith::CmpIPredicate::eq, x, b.constant(y));
    };
    Value input = adaptor.getInput();
    SmallVector<OpFoldResult> sizes = getRuntimeSizes(rewriter, loc, input);
    int64_t last = sizes.size() - 1;
    Value axis = readInteger(rewriter, loc, adaptor.getAxis());
    axis =
        b.select(b.isNegative(axis), b.add(axis, b.constant(last + 1)), axis);
    createCheck(rewriter, op,
                b.compare(arith::CmpIPredicate::ult, axis, b.constant(last)),
                "axis is out of range");
    Value before = b.constant(1), length = before, behind = before,
          isBehind = equals(before, 0);
    for (int64_t dim = 0; dim < last; ++dim) {
      Value size = b.get(sizes[dim]), isAxis = equals(axis, dim);
      length = b.select(isAxis, size, length);
      behind = b.select(isBehind, b.mul(behind, size), behind);
      Value isPast =
          b.compare(arith::CmpIPredicate::sle, axis, b.constant(dim));
      before = b.select(isPast, before, b.mul(before, size));
      isBehind = isPast;
    }
    Value view =
        createUnflat(rewriter, loc, createFlat(rewriter, loc, input),
                     {getAsOpFoldResult(before), getAsOpFoldResult(length),
                      getAsOpFoldResult(behind), sizes[last]});
    int64_t none = ShapedType::kDynamic;
    auto viewType = RankedTensorType::get(
        {none, none, none, type.getDimSize(last)}, type.getElementType());
    Value y = transform(rewriter, op, adaptor, view, 1, viewType);
    Value outputs = b.get(getRuntimeSizes(rewriter, loc, y)[1]);
    for (int64_t dim = 0; dim < last; ++dim)
      sizes[dim] = getAsOpFoldResult(
          b.select(equals(axis, dim), outputs, b.get(sizes[dim])));
    sizes[last] = rewriter.getIndexAttr(type.getDimSize(last));
    return createUnflat(rewriter, loc, createFlat(rewriter, loc, y), sizes);
  }

  /// The transform of `input` along `axis`; `type` is the result's.
  static Value transform(ConversionPatternRewriter &rewriter, onnx::DFTOp op,
                         OpAdaptor adaptor, Value input, int64_t axis,
                         RankedTensorType type) {
    Location loc = op.getLoc();
    ScalarBuilder s(rewriter, loc, /*isUnsigned=*/false);
    auto inputType = cast<RankedTensorType>(input.getType());
    int64_t rank = inputType.getRank(), last = rank - 1;
    SmallVector<OpFoldResult> sizes = getRuntimeSizes(rewriter, loc, input);
    Value available =
        getValueOrCreateConstantIndexOp(rewriter, loc, sizes[axis]);
    Value one = s.like(available, 1);

    Transform factorsOf;
    factorsOf.inverse = op.getInverse() != 0;
    factorsOf.mirrored = factorsOf.inverse && op.getOnesided() != 0;
    factorsOf.inputParts = getParts(rewriter, op, sizes[last]);
    factorsOf.outputParts = factorsOf.mirrored ? 1 : 2;
    bool halves = op.getOnesided() != 0 && !factorsOf.inverse;
    if (adaptor.getDftLength()) {
      Value length = readInteger(rewriter, loc, adaptor.getDftLength());
      createCheck(rewriter, op, s.compare(Compare::GreaterOrEqual, length, one),
                  "dft_length is not positive");
      factorsOf.length = s.max(length, one);
    } else if (factorsOf.mirrored)
      factorsOf.length =
          s.max(s.mul(s.sub(available, one), s.like(one, 2)), one);
    else
      factorsOf.length = s.max(available, one);
    Value half =
        s.add(s.create<arith::DivSIOp>(factorsOf.length, s.like(one, 2)), one);
    factorsOf.outputs =
        getKnownSize(rewriter, type, axis,
                     getAsOpFoldResult(halves ? half : factorsOf.length));
    // Inputs beyond the length are cut off, missing ones are 0.
    Value usable = factorsOf.mirrored ? half : factorsOf.length;
    Value used = rewriter.createOrFold<arith::MinSIOp>(loc, available, usable);
    factorsOf.inputs = getAsOpFoldResult(used);
    if (!adaptor.getDftLength() && !factorsOf.mirrored)
      factorsOf.inputs = sizes[axis];

    Type elementType = type.getElementType();
    Type compute = getAccumulatorType(elementType);
    Value factors = createFactors(rewriter, loc, factorsOf, compute);
    SmallVector<OpFoldResult> offsets(rank, rewriter.getIndexAttr(0)),
        strides(rank, rewriter.getIndexAttr(1)), usedSizes = sizes;
    usedSizes[axis] = factorsOf.inputs;
    if (factorsOf.inputs != sizes[axis])
      input = tensor::ExtractSliceOp::create(rewriter, loc, input, offsets,
                                             usedSizes, strides);
    // [result dimensions..., input position, input part]
    SmallVector<AffineExpr> resultExprs, inputExprs;
    for (int64_t i = 0; i < rank; ++i)
      resultExprs.push_back(rewriter.getAffineDimExpr(i));
    inputExprs = resultExprs;
    inputExprs[axis] = rewriter.getAffineDimExpr(rank);
    inputExprs[last] = rewriter.getAffineDimExpr(rank + 1);
    SmallVector<utils::IteratorType> iterators(rank,
                                               utils::IteratorType::parallel);
    iterators.append(2, utils::IteratorType::reduction);
    auto map = [&](ArrayRef<AffineExpr> exprs) {
      return AffineMap::get(rank + 2, 0, exprs, rewriter.getContext());
    };
    SmallVector<OpFoldResult> resultSizes = sizes;
    resultSizes[axis] = factorsOf.outputs;
    resultSizes[last] = rewriter.getIndexAttr(factorsOf.outputParts);
    Value y = createContraction(
        rewriter, loc,
        {{input, map(inputExprs)},
         {factors, map({resultExprs[axis], inputExprs[axis], inputExprs[last],
                        resultExprs[last]})}},
        map(resultExprs), iterators, resultSizes, compute);
    return convertFloats(rewriter, loc, y, elementType);
  }
};

//===--- STFT -------------------------------------------------------------===//

struct LowerStft : OnnxLowering<onnx::STFTOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::STFTOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto type =
        dyn_cast_or_null<RankedTensorType>(convertOnnxType(op.getType()));
    auto signalType = dyn_cast<RankedTensorType>(adaptor.getSignal().getType());
    if (!type || !signalType || !isa<FloatType>(type.getElementType()))
      return unsupported(op, "needs floats of known rank");
    auto known = onnx::getConstantIntegers(op.getFrameStep());
    if (known && (known->size() != 1 || known->front() < 1))
      return unsupported(op, "frame_step is not positive");
    Location loc = op.getLoc();
    Value signal = adaptor.getSignal();
    if (signalType.getRank() == 2) {
      SmallVector<OpFoldResult> sizes = getRuntimeSizes(rewriter, loc, signal);
      sizes.push_back(rewriter.getIndexAttr(1));
      signalType = RankedTensorType::get(
          {signalType.getDimSize(0), signalType.getDimSize(1), 1},
          signalType.getElementType());
      signal = tensor::ExpandShapeOp::create(
          rewriter, loc, signalType, signal,
          SmallVector<ReassociationIndices>{{0}, {1, 2}}, sizes);
    }
    ScalarBuilder s(rewriter, loc, /*isUnsigned=*/false);
    SmallVector<OpFoldResult> sizes = getRuntimeSizes(rewriter, loc, signal);
    Value available = getValueOrCreateConstantIndexOp(rewriter, loc, sizes[1]);
    Value one = s.like(available, 1);

    Transform transform;
    transform.inputParts = getParts(rewriter, op, sizes[2]);
    if (adaptor.getFrameLength())
      transform.length = readInteger(rewriter, loc, adaptor.getFrameLength());
    else if (adaptor.getWindow())
      transform.length = getValueOrCreateConstantIndexOp(
          rewriter, loc,
          getRuntimeSizes(rewriter, loc, adaptor.getWindow())[0]);
    else
      transform.length = available;
    createCheck(rewriter, op,
                s.compare(Compare::GreaterOrEqual, transform.length, one),
                "the frame's length is not positive");
    createCheck(rewriter, op,
                s.compare(Compare::LessOrEqual, transform.length, available),
                "the frame is longer than the signal");
    transform.length = s.min(s.max(transform.length, one), available);
    Value half =
        s.add(s.create<arith::DivSIOp>(transform.length, s.like(one, 2)), one);
    bool halves = op.getOnesided() != 0;
    transform.outputs = getKnownSize(
        rewriter, type, 2, getAsOpFoldResult(halves ? half : transform.length));
    transform.inputs = getAsOpFoldResult(transform.length);
    if (!type.isDynamicDim(2) && !halves)
      transform.inputs = transform.outputs;
    Value step = known ? s.like(one, known->front())
                       : readInteger(rewriter, loc, adaptor.getFrameStep());
    if (!known)
      createCheck(rewriter, op, s.compare(Compare::GreaterOrEqual, step, one),
                  "frame_step is not positive");
    step = s.max(step, one);
    Value frames = s.add(
        s.create<arith::DivSIOp>(s.sub(available, transform.length), step),
        one);
    OpFoldResult frameCount =
        getKnownSize(rewriter, type, 1, getAsOpFoldResult(frames));

    Type elementType = type.getElementType();
    Type compute = getAccumulatorType(elementType);
    Value factors = createFactors(rewriter, loc, transform, compute);
    if (Value window = adaptor.getWindow()) {
      SmallVector<OpFoldResult> all = getRuntimeSizes(rewriter, loc, factors);
      factors = createPointwise(
          rewriter, loc,
          {{factors, rewriter.getMultiDimIdentityMap(4)},
           {window, AffineMap::get(4, 0, rewriter.getAffineDimExpr(1))}},
          all, compute, [&](OpBuilder &b, Location l, ValueRange args) {
            return createMul(b, l, args[0],
                             convertScalar(b, l, args[1], compute));
          });
    }
    // Frames that overlap by what only the run knows are copied first.
    if (!known)
      signal = createFromIndices(
          rewriter, loc, {sizes[0], frameCount, transform.inputs, sizes[2]},
          signalType.getElementType(),
          [&](OpBuilder &b, Location l, ArrayRef<Value> at) -> Value {
            ScalarBuilder o(b, l, /*isUnsigned=*/false);
            Value position = o.add(o.mul(at[1], step), at[2]);
            return tensor::ExtractOp::create(
                b, l, signal, ValueRange{at[0], position, at[3]});
          });
    // [batch, frame, frequency, part, position, input part]
    SmallVector<AffineExpr> d;
    for (int64_t i = 0; i < 6; ++i)
      d.push_back(rewriter.getAffineDimExpr(i));
    auto map = [&](ArrayRef<AffineExpr> exprs) {
      return AffineMap::get(6, 0, exprs, rewriter.getContext());
    };
    SmallVector<utils::IteratorType> iterators(4,
                                               utils::IteratorType::parallel);
    iterators.append(2, utils::IteratorType::reduction);
    SmallVector<OpFoldResult> resultSizes{
        sizes[0], frameCount, transform.outputs, rewriter.getIndexAttr(2)};
    Value y = createContraction(
        rewriter, loc,
        {{signal, known ? map({d[0], d[1] * known->front() + d[4], d[5]})
                        : map({d[0], d[1], d[4], d[5]})},
         {factors, map({d[2], d[4], d[5], d[3]})}},
        map({d[0], d[1], d[2], d[3]}), iterators, resultSizes, compute);
    y = convertFloats(rewriter, loc, y, elementType);
    rewriter.replaceOp(op, castTensor(rewriter, loc, y, type));
    return success();
  }
};

//===--- Windows ----------------------------------------------------------===//

/// output[i] = a0 - a1 cos(2 pi i / n) + a2 cos(4 pi i / n)
template <typename OpTy>
struct LowerWindow : OnnxLowering<OpTy> {
  LowerWindow(const LoweringContext &lowering, MLIRContext *context, double a0,
              double a1, double a2)
      : OnnxLowering<OpTy>(lowering, context), a0(a0), a1(a1), a2(a2) {}
  LogicalResult
  matchAndRewrite(OpTy op, typename OpTy::Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto type =
        dyn_cast_or_null<RankedTensorType>(convertOnnxType(op.getType()));
    if (!type || !onnx::getRank(op.getSize()))
      return this->unsupported(op, "size of unknown rank");
    Location loc = op.getLoc();
    ScalarBuilder s(rewriter, loc, /*isUnsigned=*/false);
    Value size = readInteger(rewriter, loc, adaptor.getSize());
    size = s.max(size, s.like(size, 0));
    OpFoldResult count =
        getKnownSize(rewriter, type, 0, getAsOpFoldResult(size));
    Type f64 = rewriter.getF64Type();
    Value period = toFloat(rewriter, loc, size, f64);
    if (op.getPeriodic() == 0)
      period = s.sub(period, s.like(period, 1));
    bool toUnsigned = isUnsignedTensor(op.getOutput());
    Value y = createFromIndices(
        rewriter, loc, count, type.getElementType(),
        [&](OpBuilder &b, Location l, ArrayRef<Value> at) -> Value {
          ScalarBuilder o(b, l, /*isUnsigned=*/false);
          auto wave = [&](double turns) {
            Value angle = o.div(o.mul(toFloat(b, l, at[0], f64),
                                      o.constant(turns * kTwoPi, f64)),
                                period);
            return o.create<math::CosOp>(angle);
          };
          Value y =
              o.sub(o.constant(a0, f64), o.mul(o.constant(a1, f64), wave(1)));
          if (a2 != 0)
            y = o.add(y, o.mul(o.constant(a2, f64), wave(2)));
          return o.convert(y, type.getElementType(), toUnsigned);
        });
    rewriter.replaceOp(op, castTensor(rewriter, loc, y, type));
    return success();
  }
  double a0, a1, a2;
};

//===--- MelWeightMatrix --------------------------------------------------===//

struct LowerMelWeightMatrix : OnnxLowering<onnx::MelWeightMatrixOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::MelWeightMatrixOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto type =
        dyn_cast_or_null<RankedTensorType>(convertOnnxType(op.getType()));
    auto bands = onnx::getConstantIntegers(op.getNumMelBins()),
         length = onnx::getConstantIntegers(op.getDftLength()),
         rate = onnx::getConstantIntegers(op.getSampleRate());
    auto low = onnx::getConstantFloats(op.getLowerEdgeHertz()),
         high = onnx::getConstantFloats(op.getUpperEdgeHertz());
    if (!bands || !length || !rate || !low || !high || bands->size() != 1 ||
        length->size() != 1 || rate->size() != 1 || low->size() != 1 ||
        high->size() != 1) {
      if (!type || !isa<FloatType>(type.getElementType()))
        return unsupported(op, "needs a float result");
      Value y = computeAtRuntime(rewriter, op, adaptor, type);
      rewriter.replaceOp(op, castTensor(rewriter, op.getLoc(), y, type));
      return success();
    }
    if (!type || !type.hasStaticShape() ||
        !isa<FloatType>(type.getElementType()))
      return unsupported(op, "needs a float result");
    int64_t bins = type.getDimSize(0), count = type.getDimSize(1);
    if (rate->front() < 1 || bins * count > (int64_t(1) << 24))
      return unsupported(op, "sample_rate or size is out of range");
    std::vector<double> matrix(bins * count, 0.0);
    auto set = [&](int64_t bin, int64_t band, double value) {
      if (bin >= 0 && bin < bins)
        matrix[bin * count + band] = value;
    };
    SmallVector<int64_t> edges =
        getEdges(bands->front(), length->front(), rate->front(), low->front(),
                 high->front());
    for (int64_t band = 0; band < count; ++band) {
      int64_t left = edges[band], centre = edges[band + 1],
              right = edges[band + 2];
      if (centre == left)
        set(centre, band, 1);
      else
        for (int64_t bin = std::max<int64_t>(left, 0);
             bin <= std::min(centre, bins - 1); ++bin)
          set(bin, band, double(bin - left) / double(centre - left));
      if (right > centre)
        for (int64_t bin = std::max<int64_t>(centre, 0);
             bin < std::min(right, bins); ++bin)
          set(bin, band, double(right - bin) / double(right - centre));
    }
    SmallVector<Attribute> elements;
    for (double value : matrix)
      elements.push_back(rewriter.getFloatAttr(type.getElementType(), value));
    rewriter.replaceOpWithNewOp<arith::ConstantOp>(
        op, DenseElementsAttr::get(type, elements));
    return success();
  }

private:
  /// The same from operands that only the run knows.
  static Value computeAtRuntime(ConversionPatternRewriter &rewriter,
                                onnx::MelWeightMatrixOp op, OpAdaptor adaptor,
                                RankedTensorType type) {
    Location loc = op.getLoc();
    ScalarBuilder s(rewriter, loc, /*isUnsigned=*/false);
    Type f64 = rewriter.getF64Type();
    Value bands = readInteger(rewriter, loc, adaptor.getNumMelBins()),
          length = readInteger(rewriter, loc, adaptor.getDftLength()),
          rate = readInteger(rewriter, loc, adaptor.getSampleRate());
    Value zero = s.like(bands, 0), one = s.like(bands, 1);
    auto check = [&](Compare predicate, Value x, Value y, const char *message) {
      createCheck(rewriter, op, s.compare(predicate, x, y), message);
    };
    check(Compare::GreaterOrEqual, bands, zero, "num_mel_bins is negative");
    check(Compare::GreaterOrEqual, length, zero, "dft_length is negative");
    check(Compare::Greater, rate, zero, "sample_rate is not positive");
    auto toMel = [&](Value hertz) {
      hertz = convertScalar(rewriter, loc, getOnlyElement(rewriter, loc, hertz),
                            f64);
      Value ratio =
          s.add(s.div(hertz, s.constant(700, f64)), s.constant(1, f64));
      return s.mul(s.create<math::Log10Op>(ratio), s.constant(2595, f64));
    };
    Value start = toMel(adaptor.getLowerEdgeHertz()),
          end = toMel(adaptor.getUpperEdgeHertz());
    Value step =
        s.div(s.sub(end, start),
              toFloat(rewriter, loc, s.add(bands, s.like(bands, 2)), f64));
    Value perHertz = s.div(toFloat(rewriter, loc, s.add(length, one), f64),
                           toFloat(rewriter, loc, s.max(rate, one), f64));
    Value bins =
        s.add(s.create<arith::DivSIOp>(length, s.like(length, 2)), one);
    return createFromIndices(
        rewriter, loc,
        {getKnownSize(rewriter, type, 0, getAsOpFoldResult(s.max(bins, zero))),
         getKnownSize(rewriter, type, 1,
                      getAsOpFoldResult(s.max(bands, zero)))},
        type.getElementType(),
        [&](OpBuilder &b, Location l, ArrayRef<Value> at) -> Value {
          ScalarBuilder o(b, l, /*isUnsigned=*/false);
          auto getEdge = [&](int64_t offset) {
            Value band = o.add(at[1], o.like(at[1], offset));
            Value mel = o.add(o.mul(toFloat(b, l, band, f64), step), start);
            Value power = o.create<math::PowFOp>(
                o.constant(10, f64), o.div(mel, o.constant(2595, f64)));
            Value hertz =
                o.mul(o.sub(power, o.constant(1, f64)), o.constant(700, f64));
            return toIndex(b, l, o.mul(hertz, perHertz));
          };
          Value left = getEdge(0), centre = getEdge(1), right = getEdge(2);
          auto ratio = [&](Value part, Value whole) {
            return o.div(toFloat(b, l, part, f64),
                         toFloat(b, l, o.max(whole, o.like(whole, 1)), f64));
          };
          auto both = [&](Value x, Value y) {
            return o.create<arith::AndIOp>(x, y);
          };
          Value rising = ratio(o.sub(at[0], left), o.sub(centre, left));
          Value isPoint = o.compare(Compare::Equal, left, centre);
          rising = o.select(isPoint, o.constant(1, f64), rising);
          Value isRising = both(o.compare(Compare::LessOrEqual, left, at[0]),
                                o.compare(Compare::LessOrEqual, at[0], centre));
          Value falling = ratio(o.sub(right, at[0]), o.sub(right, centre));
          Value isFalling = both(o.compare(Compare::LessOrEqual, centre, at[0]),
                                 o.compare(Compare::Less, at[0], right));
          Value value = o.select(isRising, rising, o.constant(0, f64));
          return o.convert(o.select(isFalling, falling, value),
                           type.getElementType(), /*toUnsigned=*/false);
        });
  }

  /// Spectrogram bins at equal steps on the mel scale.
  static SmallVector<int64_t> getEdges(int64_t bands, int64_t length,
                                       int64_t rate, double low, double high) {
    auto toMel = [](double hertz) {
      return 2595 * std::log10(1 + hertz / 700);
    };
    double start = toMel(low);
    double step = (toMel(high) - start) / double(bands + 2);
    SmallVector<int64_t> edges;
    for (int64_t i = 0; i < bands + 2; ++i) {
      double hertz =
          700 * (std::pow(10.0, (double(i) * step + start) / 2595) - 1);
      double bin = std::floor(double(length + 1) * hertz / double(rate));
      bool isSane = bin > -1e9 && bin < 1e9;
      edges.push_back(isSane ? static_cast<int64_t>(bin) : -1);
    }
    return edges;
  }
};

} // namespace

void onnx_aot::populateOnnxToLinalgDftPatterns(const LoweringContext &lowering,
                                               RewritePatternSet &patterns) {
  MLIRContext *context = patterns.getContext();
  patterns.add<LowerDft, LowerStft, LowerMelWeightMatrix>(lowering, context);
  patterns.add<LowerWindow<onnx::HannWindowOp>>(lowering, context, 0.5, 0.5,
                                                0.0);
  patterns.add<LowerWindow<onnx::HammingWindowOp>>(lowering, context, 25.0 / 46,
                                                   21.0 / 46, 0.0);
  patterns.add<LowerWindow<onnx::BlackmanWindowOp>>(lowering, context, 0.42,
                                                    0.5, 0.08);
}

//===- Quantization.cpp - lower affine quantization -----------------------===//
//
// Products of quantized tensors are decomposed into integer products, whose
// sums are exact in int32, and one quantization of the sum.
//
//===----------------------------------------------------------------------===//

#include "ByteQuantizer.h"
#include "Generate.h"
#include "NarrowTypes.h"
#include "ReshapeUtils.h"
#include "ScalarBuilder.h"
#include "ShapeScalars.h"

#include "onnx-aot/Dialect/Onnx/IR/Quantization.h"

using namespace mlir;
using namespace onnx_aot;

namespace {

/// A scale or zero point as the body of a generic reads it.
class Parameter {
public:
  Parameter(OpBuilder &builder, Operation *op, Value tensor, Value quantized,
            const onnx::QuantizationLayout &layout,
            SmallVectorImpl<GeneratedInput> &inputs)
      : tensor(tensor), layout(layout) {
    Location loc = op->getLoc();
    auto type = cast<RankedTensorType>(tensor.getType());
    if (type.hasStaticShape() && type.getNumElements() == 1) {
      scalar = getOnlyElement(builder, loc, tensor);
      return;
    }
    IndexBuilder b(builder, loc);
    SmallVector<OpFoldResult> own = getRuntimeSizes(builder, loc, tensor);
    if (layout.kind == onnx::QuantizationLayout::PerTensor) {
      for (OpFoldResult size : own)
        createCheck(
            builder, op,
            b.compare(arith::CmpIPredicate::eq, b.get(size), b.constant(1)),
            "the zero point does not fit the scale");
      scalar = tensor::ExtractOp::create(
          builder, loc, tensor, SmallVector<Value>(own.size(), b.constant(0)));
      return;
    }
    SmallVector<OpFoldResult> sizes = getRuntimeSizes(builder, loc, quantized);
    if (layout.kind == onnx::QuantizationLayout::PerAxis) {
      createCheck(builder, op,
                  b.compare(arith::CmpIPredicate::eq, b.get(own[0]),
                            b.get(sizes[layout.axis])),
                  "the scale does not fit the axis");
      inputIndex = inputs.size();
      inputs.push_back({tensor, {layout.axis}});
      return;
    }
    for (auto [i, pair] : llvm::enumerate(llvm::zip_equal(own, sizes))) {
      auto [count, size] = pair;
      Value blocks = b.get(size);
      if (static_cast<int64_t>(i) == layout.axis)
        blocks = b.ceilDiv(blocks, b.constant(layout.blockSize));
      createCheck(builder, op,
                  b.compare(arith::CmpIPredicate::eq, b.get(count), blocks),
                  "the scale does not fit the blocks");
    }
  }

  /// What all elements share; null where there is no such value.
  Value getScalar() const { return scalar; }

  Value read(OpBuilder &builder, Location loc, ArrayRef<Value> indices,
             ValueRange inputs) const {
    if (scalar)
      return scalar;
    if (inputIndex)
      return inputs[*inputIndex];
    IndexBuilder b(builder, loc);
    SmallVector<Value> place(indices);
    place[layout.axis] =
        b.div(place[layout.axis], b.constant(layout.blockSize));
    return tensor::ExtractOp::create(builder, loc, tensor, place);
  }

private:
  Value tensor, scalar;
  onnx::QuantizationLayout layout;
  std::optional<size_t> inputIndex;
};

/// Every dimension in order.
SmallVector<int64_t> getAllDims(Value tensor) {
  return llvm::to_vector(llvm::seq<int64_t>(
      0, cast<RankedTensorType>(tensor.getType()).getRank()));
}

/// A quantized scalar as f32: codes are decoded, integers extended.
class Decoder {
public:
  Decoder(OpBuilder &builder, Location loc, Type type) : type(type) {
    isNarrow = isNarrowType(type);
    if (isNarrow)
      table = createDecodeTable(builder, loc, type);
  }

  /// The value as it is, integers as i32.
  Value decode(OpBuilder &builder, Location loc, Value value) const {
    Type decoded = isNarrow ? getDecodedType(type) : type;
    ScalarBuilder scalars(builder, loc, decoded.isUnsignedInteger());
    if (isNarrow)
      value = createDecode(scalars, value, type, table);
    if (isa<FloatType>(value.getType()))
      return value;
    return scalars.convert(value, builder.getI32Type(), false);
  }

private:
  Type type;
  bool isNarrow;
  Value table;
};

struct LowerDequantizeLinear : OnnxLowering<onnx::DequantizeLinearOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::DequantizeLinearOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value x = adaptor.getX(), zeroPoint = adaptor.getXZeroPoint();
    auto layout = onnx::getQuantizationLayout(op, op.getX(), op.getXScale(),
                                              op.getAxis(), op.getBlockSize());
    Type elementType = onnx::getElementType(op.getY());
    if (failed(layout) ||
        !isa<Float16Type, BFloat16Type, Float32Type, Float64Type>(elementType))
      return unsupported(op,
                         "result type is not supported (supported: float32, "
                         "float16, bfloat16, double)");
    Type wide = elementType.isF64() ? elementType : rewriter.getF32Type();
    SmallVector<GeneratedInput> inputs{{x, getAllDims(x)}};
    Parameter scale(rewriter, op, adaptor.getXScale(), x, *layout, inputs);
    std::optional<Parameter> offset;
    if (zeroPoint)
      offset.emplace(rewriter, op, zeroPoint, x, *layout, inputs);
    Decoder decoder(rewriter, loc, onnx::getElementType(op.getX()));
    Value result = createGenerated(
        rewriter, loc, getRuntimeSizes(rewriter, loc, x), elementType, inputs,
        [&](OpBuilder &b, Location l, ArrayRef<Value> at, ValueRange args) {
          ScalarBuilder scalars(b, l, /*isUnsigned=*/false);
          Value value = decoder.decode(b, l, args[0]);
          if (offset) {
            Value point = decoder.decode(b, l, offset->read(b, l, at, args));
            value = scalars.sub(value, point);
          }
          value = scalars.convert(value, wide, false);
          Value factor =
              scalars.convert(scale.read(b, l, at, args), wide, false);
          return scalars.convert(scalars.mul(value, factor), elementType,
                                 false);
        });
    replaceWithCast(rewriter, op, result);
    return success();
  }
};

struct LowerQuantizeLinear : OnnxLowering<onnx::QuantizeLinearOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::QuantizeLinearOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value x = adaptor.getX(), zeroPoint = adaptor.getYZeroPoint();
    auto layout = onnx::getQuantizationLayout(op, op.getX(), op.getYScale(),
                                              op.getAxis(), op.getBlockSize());
    if (failed(layout))
      return failure();
    Type precision = onnx::getElementType(op.getYScale());
    if (op.getPrecision() != 0)
      precision = onnx::getElementTypeOf(op.getContext(), op.getPrecision());
    if (!isa_and_nonnull<Float16Type, BFloat16Type, Float32Type, Float64Type>(
            precision))
      return unsupported(op, "precision is not supported (supported: float32, "
                             "float16, bfloat16, double)");
    SmallVector<GeneratedInput> inputs{{x, getAllDims(x)}};
    Parameter scale(rewriter, op, adaptor.getYScale(), x, *layout, inputs);
    std::optional<Parameter> offset;
    if (zeroPoint)
      offset.emplace(rewriter, op, zeroPoint, x, *layout, inputs);
    Type type = onnx::getElementType(op.getY());
    Decoder decoder(rewriter, loc, type);
    Type memoryType =
        getElementTypeOrSelf(convertOnnxType(op.getY().getType()));
    std::optional<ByteQuantizer> quantizer = getQuantizer(
        rewriter, loc, precision, type, memoryType, scale, offset, decoder);
    Value result = createGenerated(
        rewriter, loc, getRuntimeSizes(rewriter, loc, x), memoryType, inputs,
        [&](OpBuilder &b, Location l, ArrayRef<Value> at, ValueRange args) {
          ScalarBuilder scalars(b, l, /*isUnsigned=*/false);
          Type wide = precision.isF64() ? precision : b.getF32Type();
          Value value = scalars.convert(args[0], wide, false);
          if (quantizer)
            return quantizer->quantize(scalars, value);
          Value divisor =
              scalars.convert(scale.read(b, l, at, args), wide, false);
          // Rounding a quotient of floats twice as wide gives the narrow
          // quotient.
          Value quotient = scalars.convert(
              scalars.convert(scalars.div(value, divisor), precision, false),
              wide, false);
          Value point;
          if (offset)
            point = decoder.decode(b, l, offset->read(b, l, at, args));
          return store(scalars, quotient, point, type, memoryType,
                       op.getSaturate() != 0);
        });
    replaceWithCast(rewriter, op, result);
    return success();
  }

private:
  /// For one constant scale and integers of 8 or 16 bits.
  static std::optional<ByteQuantizer>
  getQuantizer(OpBuilder &builder, Location loc, Type precision, Type type,
               Type memoryType, const Parameter &scale,
               const std::optional<Parameter> &offset, const Decoder &decoder) {
    auto integer = dyn_cast<IntegerType>(type);
    FloatAttr known;
    if (!integer || isNarrowType(type) || integer.getWidth() > 16 ||
        !precision.isF32() || !scale.getScalar() ||
        !scale.getScalar().getType().isF32() ||
        (offset && !offset->getScalar()) ||
        !matchPattern(scale.getScalar(), m_Constant(&known)) ||
        !ByteQuantizer::isOrdinary(known.getValueAsDouble()))
      return std::nullopt;
    auto [low, high] = getBounds(integer);
    Value point =
        offset ? decoder.decode(builder, loc, offset->getScalar())
               : createScalarConstant(builder, loc, 0, builder.getI32Type());
    return ByteQuantizer(builder, loc, scale.getScalar(), point, low, high,
                         memoryType);
  }

  static std::pair<double, double> getBounds(IntegerType type) {
    unsigned width = type.getWidth();
    return {type.isUnsigned() ? 0 : -double(uint64_t(1) << (width - 1)),
            double((uint64_t(1) << (width - !type.isUnsigned())) - 1)};
  }

  /// The quotient with its zero point as a scalar of the quantized type.
  static Value store(ScalarBuilder &scalars, Value quotient, Value point,
                     Type type, Type memoryType, bool saturate) {
    if (isa<FloatType>(type)) {
      EncodeOptions options;
      options.saturate = saturate;
      return isNarrowType(type) ? createEncode(scalars, quotient, type, options)
                                : scalars.convert(quotient, type, false);
    }
    Value rounded = scalars.create<math::RoundEvenOp>(quotient);
    Type wide = rounded.getType();
    if (point)
      rounded = scalars.add(rounded, scalars.convert(point, wide, false));
    auto integer = cast<IntegerType>(type);
    bool isUnsigned = integer.isUnsigned();
    unsigned width = integer.getWidth();
    auto [low, high] = getBounds(integer);
    if (!isNarrowType(type) && width <= 16)
      return convertWithin(scalars, rounded, low, high, memoryType);
    Value clamped =
        scalars.min(scalars.max(rounded, scalars.constant(low, wide)),
                    scalars.constant(high, wide));
    if (!isNarrowType(type))
      return scalars.convert(clamped, memoryType, isUnsigned);
    Value number =
        scalars.convert(clamped, scalars.getBuilder().getI8Type(), isUnsigned);
    ScalarBuilder codes(scalars.getBuilder(), scalars.getLoc(), isUnsigned);
    return createEncode(codes, number, type, {});
  }
};

//===--- Decompositions ---------------------------------------------------===//

template <typename OpTy>
struct LowerQuantizedProduct : OnnxLowering<OpTy> {
  using OnnxLowering<OpTy>::OnnxLowering;
  LogicalResult
  matchAndRewrite(OpTy op, typename OnnxLowering<OpTy>::OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    FailureOr<Value> value = onnx::decomposeQuantizedProduct(rewriter, op);
    if (failed(value))
      return failure();
    rewriter.replaceOp(op, *value);
    return success();
  }
};

struct LowerDynamicQuantizeLinear
    : OnnxLowering<onnx::DynamicQuantizeLinearOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::DynamicQuantizeLinearOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value x = adaptor.getX();
    Type f32 = rewriter.getF32Type(), i8 = rewriter.getI8Type();
    auto [low, high] = findRange(rewriter, loc, x);
    ScalarBuilder outside(rewriter, loc, /*isUnsigned=*/false);
    Value most = outside.constant(255, f32), zero = outside.constant(0, f32);
    Value scale = outside.div(outside.sub(high, low), most);
    Value point = outside.create<math::RoundEvenOp>(
        outside.div(outside.sub(zero, low), scale));
    // All zeros: 0 / 0 becomes 0.
    point =
        outside.convert(outside.min(outside.max(point, zero), most), i8, true);
    ScalarBuilder bytes(rewriter, loc, /*isUnsigned=*/true);
    ByteQuantizer quantizer(rewriter, loc, scale,
                            bytes.convert(point, rewriter.getI32Type(), false),
                            0, 255, i8);
    Value y = createGenerated(
        rewriter, loc, getRuntimeSizes(rewriter, loc, x), i8,
        GeneratedInput{x, getAllDims(x)},
        [&](OpBuilder &b, Location l, ArrayRef<Value>, ValueRange args) {
          ScalarBuilder s(b, l, /*isUnsigned=*/false);
          return quantizer.quantize(s, args[0]);
        });
    Value scales = createFromElements(
        rewriter, loc, convertOnnxType(op.getYScale().getType()), scale);
    Value points = createFromElements(
        rewriter, loc, convertOnnxType(op.getYZeroPoint().getType()), point);
    rewriter.replaceOp(
        op, {createCast(rewriter, loc, y, convertOnnxType(op.getY().getType())),
             scales, points});
    return success();
  }

private:
  /// Least and greatest element, or 0 where that is further out.
  static std::pair<Value, Value> findRange(OpBuilder &builder, Location loc,
                                           Value x) {
    Value zero = createScalarConstant(builder, loc, 0, builder.getF32Type());
    Value initial = createFilled(builder, loc, {}, zero);
    int64_t rank = cast<RankedTensorType>(x.getType()).getRank();
    auto reduce = [&](bool greatest) -> Value {
      SmallVector<AffineMap> maps{
          builder.getMultiDimIdentityMap(rank),
          AffineMap::get(rank, 0, builder.getContext())};
      SmallVector<utils::IteratorType> iterators(
          rank, utils::IteratorType::reduction);
      auto generic = linalg::GenericOp::create(
          builder, loc, initial.getType(), x, initial, maps, iterators,
          [&](OpBuilder &b, Location l, ValueRange args) {
            ScalarBuilder s(b, l, /*isUnsigned=*/false);
            linalg::YieldOp::create(b, l,
                                    greatest ? s.max(args[0], args[1])
                                             : s.min(args[0], args[1]));
          });
      return tensor::ExtractOp::create(builder, loc, generic.getResult(0),
                                       ValueRange{});
    };
    return {reduce(false), reduce(true)};
  }
};

} // namespace

void onnx_aot::populateOnnxToLinalgQuantizationPatterns(
    const LoweringContext &lowering, RewritePatternSet &patterns) {
  patterns.add<LowerDequantizeLinear, LowerQuantizeLinear,
               LowerQuantizedProduct<onnx::QLinearMatMulOp>,
               LowerQuantizedProduct<onnx::QLinearConvOp>,
               LowerDynamicQuantizeLinear>(lowering, patterns.getContext());
}

//===- NarrowTypes.cpp - element types of at most 8 bits ------------------===//

#include "NarrowTypes.h"

using namespace mlir;
using namespace onnx_aot;

using Scalars = ScalarBuilder;
using Compare = ScalarBuilder::Compare;

bool onnx_aot::isNarrowType(Type onnxType) {
  if (auto floatType = dyn_cast<FloatType>(onnxType))
    return floatType.getWidth() <= 8;
  auto integer = dyn_cast<IntegerType>(onnxType);
  return integer && (integer.getWidth() == 2 || integer.getWidth() == 4);
}

Type onnx_aot::getDecodedType(Type narrowType) {
  auto integer = dyn_cast<IntegerType>(narrowType);
  if (!integer)
    return Float32Type::get(narrowType.getContext());
  return IntegerType::get(narrowType.getContext(), 8, integer.getSignedness());
}

//===--- Decoding ---------------------------------------------------------===//

Value onnx_aot::createDecodeTable(OpBuilder &builder, Location loc,
                                  Type narrowType) {
  auto floatType = dyn_cast<FloatType>(narrowType);
  if (!floatType)
    return {};
  unsigned width = floatType.getWidth();
  SmallVector<float> values;
  for (unsigned code = 0; code < (1u << width); ++code) {
    APFloat value(floatType.getFloatSemantics(), APInt(width, code));
    values.push_back(value.convertToFloat());
  }
  auto type =
      RankedTensorType::get({int64_t(values.size())}, builder.getF32Type());
  return arith::ConstantOp::create(
      builder, loc, DenseElementsAttr::get(type, ArrayRef(values)));
}

Value onnx_aot::createDecode(Scalars &s, Value code, Type narrowType,
                             Value table) {
  unsigned width = narrowType.getIntOrFloatBitWidth();
  // The upper bits are not trusted: they come from outside.
  Value unused = s.like(code, 8 - width);
  Value shifted = s.create<arith::ShLIOp>(code, unused);
  bool isSigned = narrowType.isSignlessInteger();
  Value clean = isSigned ? s.create<arith::ShRSIOp>(shifted, unused)
                         : s.create<arith::ShRUIOp>(shifted, unused);
  if (!table)
    return clean;
  OpBuilder &builder = s.getBuilder();
  Value index = s.create<arith::IndexCastUIOp>(builder.getIndexType(), clean);
  return s.create<tensor::ExtractOp>(table, index);
}

//===--- Encoding ---------------------------------------------------------===//

namespace {

/// Bits of an f32 and what they are compared with, in the type i32.
struct FloatBits {
  FloatBits(Scalars &s, Value value)
      : s(s), type(s.getBuilder().getI32Type()),
        all(s.create<arith::BitcastOp>(type, value)),
        magnitude(s.create<arith::AndIOp>(all, number(0x7fffffff))),
        exponent(shiftRight(magnitude, 23)) {}

  Value number(uint32_t bits) {
    return s.create<arith::ConstantOp>(
        s.getBuilder().getI32IntegerAttr(static_cast<int32_t>(bits)));
  }
  Value shiftRight(Value bits, unsigned count) {
    return s.create<arith::ShRUIOp>(bits, number(count));
  }
  Value isNaN() {
    return s.compare(Compare::Greater, magnitude, number(0x7f800000));
  }

  Scalars &s;
  Type type;
  Value all, magnitude, exponent;
};

/// The codes of a float type: sign, exponent, mantissa from the top down.
struct FloatFormat {
  explicit FloatFormat(FloatType type) : width(type.getWidth()) {
    const llvm::fltSemantics &semantics = type.getFloatSemantics();
    mantissaBits = APFloat::semanticsPrecision(semantics) - 1;
    minExponent = APFloat::semanticsMinExponent(semantics);
    greatest = code(APFloat::getLargest(semantics));
    bool hasNaN = APFloat::semanticsHasNaN(semantics);
    nan = hasNaN ? code(APFloat::getNaN(semantics)) : 1u << (width - 1);
    isUnsignedZero =
        !APFloat(semantics, APInt(width, 1u << (width - 1))).isNegZero();
    overflow = APFloat::semanticsHasInf(semantics)
                   ? code(APFloat::getInf(semantics))
               : hasNaN ? nan
                        : greatest;
  }
  static unsigned code(const APFloat &value) {
    return value.bitcastToAPInt().getZExtValue();
  }

  unsigned width, mantissaBits, greatest, nan, overflow;
  int minExponent;
  /// -0 is not -0 but NaN: zeros have no sign and NaN has none either.
  bool isUnsignedZero;
};

} // namespace

/// A format with sign and mantissa.
static Value encodeFloat(Scalars &s, Value value, FloatType type,
                         bool saturate) {
  FloatFormat format(type);
  FloatBits bits(s, value);
  // Normal numbers: round the mantissa, whose carry goes into the exponent.
  unsigned dropped = 23 - format.mantissaBits;
  Value odd = s.create<arith::AndIOp>(bits.shiftRight(bits.magnitude, dropped),
                                      bits.number(1));
  Value rounded = bits.shiftRight(
      s.add(s.add(bits.magnitude, bits.number((1u << (dropped - 1)) - 1)), odd),
      dropped);
  // The exponent of the least normal number is coded as 1.
  uint32_t bias = (126 + format.minExponent) << format.mantissaBits;
  Value normal = s.sub(rounded, bits.number(bias));
  // Subnormal numbers: the code is a count of the least number. Scaled up,
  // small numbers are exact.
  double scale = std::ldexp(1.0, format.mantissaBits - format.minExponent);
  Value least = bits.number((127 + format.minExponent) << 23);
  Value isSmall = s.compare(Compare::Less, bits.magnitude, least);
  Value magnitude = s.select(isSmall, s.absolute(value), s.like(value, 0));
  Value counted =
      s.create<math::RoundEvenOp>(s.mul(magnitude, s.like(magnitude, scale)));
  Value small = s.create<arith::FPToSIOp>(bits.type, counted);
  Value code = s.select(isSmall, small, normal);

  Value tooLarge =
      s.compare(Compare::Greater, code, bits.number(format.greatest));
  unsigned limit = saturate ? format.greatest : format.overflow;
  code = s.select(tooLarge, bits.number(limit), code);
  Value sign = s.create<arith::ShLIOp>(bits.shiftRight(bits.all, 31),
                                       bits.number(format.width - 1));
  if (format.isUnsignedZero) {
    Value isZero = s.compare(Compare::Equal, code, bits.number(0));
    sign = s.select(isZero, bits.number(0), sign);
  }
  code = s.create<arith::OrIOp>(code, sign);
  return s.select(bits.isNaN(), bits.number(format.nan), code);
}

/// A power of two: the code is the exponent, negative numbers are undefined.
static Value encodePowerOfTwo(Scalars &s, Value value, EncodeOptions options) {
  FloatBits bits(s, value);
  constexpr uint32_t kNaN = 0xff, kGreatest = 0xfe;
  Value fraction =
      s.create<arith::AndIOp>(bits.magnitude, bits.number(0x7fffff));
  Value code = bits.exponent, one = bits.number(1);
  if (options.roundMode == "up") {
    Value more = s.compare(Compare::NotEqual, fraction, bits.number(0));
    code = s.select(more, s.add(code, one), code);
  } else if (options.roundMode == "nearest") {
    Value more =
        s.compare(Compare::GreaterOrEqual, fraction, bits.number(0x400000));
    code = s.select(more, s.add(code, one), code);
  }
  if (options.saturate) {
    code = s.create<arith::MinSIOp>(code, bits.number(kGreatest));
  } else {
    Value isZero = s.compare(Compare::Equal, bits.magnitude, bits.number(0));
    code = s.select(isZero, bits.number(kNaN), code);
    code = s.create<arith::MinSIOp>(code, bits.number(kNaN));
  }
  return s.select(bits.isNaN(), bits.number(kNaN), code);
}

Value onnx_aot::createEncode(Scalars &s, Value value, Type narrowType,
                             EncodeOptions options) {
  OpBuilder &builder = s.getBuilder();
  if (auto floatType = dyn_cast<FloatType>(narrowType)) {
    Value single = s.toNarrowable(value);
    // The bits are compared as signed numbers from here on.
    Scalars codes(builder, s.getLoc(), false);
    Value code = isa<Float8E8M0FNUType>(floatType)
                     ? encodePowerOfTwo(codes, single, options)
                     : encodeFloat(codes, single, floatType, options.saturate);
    return s.create<arith::TruncIOp>(builder.getI8Type(), code);
  }
  // Through i32 so that a float wraps as an integer of any width would.
  Value integer = s.convert(value, builder.getI32Type(), false);
  Value code = s.create<arith::TruncIOp>(builder.getI8Type(), integer);
  unsigned width = narrowType.getIntOrFloatBitWidth();
  return s.create<arith::AndIOp>(code, s.like(code, (1 << width) - 1));
}

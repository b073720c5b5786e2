//===- ElementaryFunctions.cpp - elementary functions on f32 --------------===//
//
// Polynomials are minimax fits of the part that is left after the leading
// terms, which are added last: what rounding does to the rest hardly shows. The
// coefficients come from a weighted least-squares fit, repeated with weights
// that follow the error, in 40 digits.
//
//===----------------------------------------------------------------------===//

#include "ElementaryFunctions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <limits>

using namespace mlir;
using namespace onnx_aot::cpu;

namespace {

/// (e^r - 1 - r) / r^2 for |r| <= ln 2 / 2
constexpr float kExp[] = {0.5f,         0.16666667f,   0.04166627f,
                          0.008333266f, 0.0013946091f, 0.00019917838f};
/// (log(1 + f) - f + f^2 / 2) / f^3 for 1 + f between sqrt 1/2 and sqrt 2
constexpr float kLog[] = {0.33333313f,  -0.2500001f,  0.20002119f,
                          -0.16667996f, 0.14219551f,  -0.124055915f,
                          0.11888175f,  -0.11675641f, 0.067466013f};
/// (tanh x - x) / x^3 in x^2, for |x| <= 1
constexpr float kTanh[] = {-0.33333328f,    0.133332f,     -0.053953096f,
                           0.02178473f,     -0.008595112f, 0.0030785904f,
                           -0.00084113487f, 0.00012147014f};
/// erf x / x - 1 in x^2, for |x| <= 0.95
constexpr float kErf[] = {0.128379166f,  -0.37612629f,  0.11283621f,
                          -0.026855063f, 0.005189041f,  -0.00079746364f,
                          7.227607e-05f, 2.9448292e-06f};
/// 1 + log(erfc x) / x, for 0.95 <= x <= 4
constexpr float kErfTail[] = {-0.12852094f,   -0.6357698f,    -0.10497879f,
                              0.022371482f,   -0.002741181f,  -1.9496569e-05f,
                              5.9267943e-05f, -6.0717143e-06f};
/// exp(a^2 / 2) erfc(a / sqrt 2) (a + 3) / 2 in v = (a - 3) / (a + 3), for a
/// from 0 to 14.5: the first terms in 64 bits, and the rest.
constexpr double kNormal[] = {0.72908369040710469, -0.50933199093689665};
constexpr float kNormalRest[] = {
    0.23001769f,     -0.0472627014f,  -0.010462492f,
    0.00696941464f,  0.00102471481f,  -0.0010328684f,
    -0.00024479834f, 0.000131607141f, 5.46504337e-05f};
/// Adding and subtracting it rounds to an integer, which its last bits then
/// hold.
constexpr double kRounder = 12582912;
/// ln 2 in two parts, the first of a few bits.
constexpr double kLn2High = 0.693145751953125, kLn2 = 0.69314718055994530942;

} // namespace

//===--- Functions --------------------------------------------------------===//

ElementaryFunctions::Power ElementaryFunctions::reducePower(Value x) {
  Value rounder = constant(kRounder);
  Value shifted = fma(x, constant(1 / kLn2), rounder);
  Value n = sub(shifted, rounder);
  Value r = fma(n, constant(-kLn2High), x);
  r = fma(n, constant(kLn2High - kLn2), r);
  Value exponent =
      arith::SubIOp::create(builder, loc, toBits(shifted), toBits(rounder));
  return {fma(mul(r, r), evaluate(kExp, r), r), exponent};
}

Value ElementaryFunctions::powerOfTwo(Value exponent) {
  Value biased = arith::AddIOp::create(builder, loc, exponent, integer(127));
  return fromBits(arith::ShLIOp::create(builder, loc, biased, integer(23)));
}

Value ElementaryFunctions::scale(Value number, Value exponent) {
  Value half = arith::ShRSIOp::create(builder, loc, exponent, integer(1));
  Value rest = arith::SubIOp::create(builder, loc, exponent, half);
  return mul(mul(number, powerOfTwo(half)), powerOfTwo(rest));
}

Value ElementaryFunctions::normalExp(Value x) {
  Power power = reducePower(x);
  return mul(add(power.fraction, constant(1)), powerOfTwo(power.exponent));
}

Value ElementaryFunctions::exp(Value x) {
  Power power = reducePower(atLeast(atMost(x, 89), -104));
  return scale(add(power.fraction, constant(1)), power.exponent);
}

Value ElementaryFunctions::log(Value x) {
  constexpr double kLeastNormal = 1.17549435e-38;
  constexpr int32_t kRootHalf = 0x3f3504f3;
  constexpr double kHigh = 0.693359375;
  Value zero = constant(0);
  Value isSmall = isLess(x, constant(kLeastNormal));
  Value normal = select(isSmall, mul(x, constant(8388608)), x);
  Value bits =
      arith::SubIOp::create(builder, loc, toBits(normal), integer(kRootHalf));
  Value exponent = arith::ShRSIOp::create(builder, loc, bits, integer(23));
  Value rest =
      arith::AndIOp::create(builder, loc, bits, integer((1 << 23) - 1));
  Value f = sub(
      fromBits(arith::AddIOp::create(builder, loc, rest, integer(kRootHalf))),
      constant(1));
  Value e = arith::SIToFPOp::create(builder, loc, type, exponent);
  e = sub(e, select(isSmall, constant(23), zero));
  Value square = mul(f, f);
  Value small =
      fma(mul(f, square), evaluate(kLog, f), mul(constant(-0.5), square));
  small = add(fma(e, constant(kLn2 - kHigh), small), f);
  Value result = fma(e, constant(kHigh), small);
  constexpr double kInf = std::numeric_limits<double>::infinity();
  result = select(isEqual(x, constant(kInf)), x, result);
  result = select(isEqual(x, zero), constant(-kInf), result);
  Value isNumber =
      arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGE, x, zero);
  return select(isNumber, result,
                constant(std::numeric_limits<double>::quiet_NaN()));
}

Value ElementaryFunctions::tanh(Value x) {
  Value a = absolute(x), square = mul(a, a), one = constant(1);
  Value small = fma(mul(square, evaluate(kTanh, square)), a, a);
  // 1 - 2 / (e^2a + 1); from 9.1 on it rounds to 1.
  Value t = atMost(a, 9.1);
  Value power = normalExp(add(t, t));
  Value large = sub(one, div(constant(2), add(power, one)));
  return withSign(select(isLess(a, one), small, large), x);
}

Value ElementaryFunctions::erf(Value x) {
  Value a = absolute(x), square = mul(a, a);
  Value small = fma(evaluate(kErf, square), a, a);
  // From 4 on it rounds to 1.
  Value t = atMost(a, 4);
  // 1 - 2^n (1 + f), where 1 - 2^n is exact.
  Power power = reducePower(fma(evaluate(kErfTail, t), t, negate(t)));
  Value step = powerOfTwo(power.exponent);
  Value large = fma(negate(power.fraction), step, sub(constant(1), step));
  return withSign(select(isLess(a, constant(0.95)), small, large), x);
}

Value ElementaryFunctions::sigmoid(Value x) {
  Value one = constant(1);
  Power power = reducePower(negate(atMost(absolute(x), 104)));
  // e^-|x| is (high + low) * 2^exponent, 1 + e^-|x| is sum + rest.
  Value high = add(power.fraction, one);
  Value low = sub(power.fraction, sub(high, one));
  Value e = scale(high, power.exponent);
  Value sum = add(one, e), rest = sub(e, sub(sum, one));
  Value inverse = div(one, sum);
  Value missing = fma(negate(rest), inverse, fma(negate(sum), inverse, one));
  Value correction = mul(inverse, missing);
  Value positive = add(inverse, correction);
  Value negative = fma(high, inverse, fma(high, correction, mul(low, inverse)));
  return select(isLess(x, constant(0)), scale(negative, power.exponent),
                positive);
}

Value ElementaryFunctions::normalTail(Value a) {
  Value one = constant(1), t = atMost(a, 14.5), wide = widen(t);
  // u = 1 / (a + 3), in 64 bits by a step of Newton's; v = 1 - 6 u.
  Value guess = div(one, add(t, constant(3)));
  Value u = widen(guess), unit = wideConstant(1);
  Value missing = fma(negate(add(wide, wideConstant(3))), u, unit);
  u = fma(missing, u, u);
  Value v = fma(wideConstant(-6), u, unit);
  Value rest = evaluate(kNormalRest, fma(constant(-6), guess, one));
  Value sum = fma(widen(rest), v, wideConstant(kNormal[1]));
  sum = fma(sum, v, wideConstant(kNormal[0]));
  // exp(-a^2 / 2) = 2^n (1 + r + r^2 q)
  Value rounder = constant(kRounder);
  Value shifted = fma(mul(t, t), constant(-0.5 / kLn2), rounder);
  Value r = fma(widen(sub(shifted, rounder)), wideConstant(-kLn2),
                mul(mul(wide, wide), wideConstant(-0.5)));
  Value low = narrow(r);
  Value power =
      add(add(unit, r), widen(mul(evaluate(kExp, low), mul(low, low))));
  Value exponent =
      arith::SubIOp::create(builder, loc, toBits(shifted), toBits(rounder));
  return mul(mul(sum, u), scaleWide(power, exponent));
}

Value ElementaryFunctions::twiceNormal(Value x) {
  Value tail = normalTail(absolute(x));
  tail = add(tail, tail);
  return narrow(
      select(isLess(x, constant(0)), tail, sub(wideConstant(2), tail)));
}

Value ElementaryFunctions::gelu(Value x) {
  Value a = absolute(x);
  Value tail = mul(widen(atMost(a, 14.5)), normalTail(a));
  // As a product, so that it is no number where x is none or -infinity.
  Value step = select(isLess(constant(0), x), constant(1), constant(0));
  return narrow(sub(widen(mul(x, step)), tail));
}

//===--- 64 bits ----------------------------------------------------------===//

Type ElementaryFunctions::resized(Type element) {
  if (auto vector = dyn_cast<VectorType>(type))
    return vector.clone(element);
  return element;
}

Value ElementaryFunctions::widen(Value x) {
  return arith::ExtFOp::create(builder, loc, resized(builder.getF64Type()), x);
}

Value ElementaryFunctions::narrow(Value x) {
  return arith::TruncFOp::create(builder, loc, type, x);
}

Value ElementaryFunctions::wideConstant(double value) {
  TypedAttr attribute = builder.getF64FloatAttr(value);
  if (auto vector = dyn_cast<VectorType>(resized(builder.getF64Type())))
    attribute = DenseElementsAttr::get(vector, Attribute(attribute));
  return arith::ConstantOp::create(builder, loc, attribute);
}

Value ElementaryFunctions::scaleWide(Value number, Value exponent) {
  Type bits = resized(builder.getI64Type());
  TypedAttr width = builder.getI64IntegerAttr(52);
  if (auto vector = dyn_cast<VectorType>(bits))
    width = DenseElementsAttr::get(vector, Attribute(width));
  Value place = arith::ConstantOp::create(builder, loc, width);
  Value steps = arith::ShLIOp::create(
      builder, loc, arith::ExtSIOp::create(builder, loc, bits, exponent),
      place);
  Value scaled = arith::AddIOp::create(
      builder, loc, arith::BitcastOp::create(builder, loc, bits, number),
      steps);
  return arith::BitcastOp::create(builder, loc, number.getType(), scaled);
}

//===--- Arithmetic -------------------------------------------------------===//

Type ElementaryFunctions::intType() { return resized(builder.getI32Type()); }

Value ElementaryFunctions::constant(double value) {
  TypedAttr attribute = builder.getF32FloatAttr(static_cast<float>(value));
  if (auto vector = dyn_cast<VectorType>(type))
    attribute = DenseElementsAttr::get(vector, Attribute(attribute));
  return arith::ConstantOp::create(builder, loc, attribute);
}

Value ElementaryFunctions::integer(int32_t value) {
  TypedAttr attribute = builder.getI32IntegerAttr(value);
  if (auto vector = dyn_cast<VectorType>(intType()))
    attribute = DenseElementsAttr::get(vector, Attribute(attribute));
  return arith::ConstantOp::create(builder, loc, attribute);
}

Value ElementaryFunctions::evaluate(ArrayRef<float> coefficients, Value x) {
  Value result = constant(coefficients.back());
  for (float coefficient : llvm::reverse(coefficients.drop_back()))
    result = fma(result, x, constant(coefficient));
  return result;
}

Value ElementaryFunctions::atMost(Value x, double bound) {
  Value limit = constant(bound);
  return select(isLess(limit, x), limit, x);
}

Value ElementaryFunctions::atLeast(Value x, double bound) {
  Value limit = constant(bound);
  return select(isLess(x, limit), limit, x);
}

Value ElementaryFunctions::add(Value a, Value b) {
  return arith::AddFOp::create(builder, loc, a, b);
}

Value ElementaryFunctions::sub(Value a, Value b) {
  return arith::SubFOp::create(builder, loc, a, b);
}

Value ElementaryFunctions::mul(Value a, Value b) {
  return arith::MulFOp::create(builder, loc, a, b);
}

Value ElementaryFunctions::div(Value a, Value b) {
  return arith::DivFOp::create(builder, loc, a, b);
}

Value ElementaryFunctions::fma(Value a, Value b, Value c) {
  return math::FmaOp::create(builder, loc, a, b, c);
}

Value ElementaryFunctions::negate(Value x) {
  return arith::NegFOp::create(builder, loc, x);
}

Value ElementaryFunctions::absolute(Value x) {
  return math::AbsFOp::create(builder, loc, x);
}

Value ElementaryFunctions::withSign(Value magnitude, Value sign) {
  return math::CopySignOp::create(builder, loc, magnitude, sign);
}

Value ElementaryFunctions::isLess(Value a, Value b) {
  return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OLT, a, b);
}

Value ElementaryFunctions::isEqual(Value a, Value b) {
  return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, a, b);
}

Value ElementaryFunctions::select(Value condition, Value a, Value b) {
  return arith::SelectOp::create(builder, loc, condition, a, b);
}

Value ElementaryFunctions::toBits(Value x) {
  return arith::BitcastOp::create(builder, loc, intType(), x);
}

Value ElementaryFunctions::fromBits(Value bits) {
  return arith::BitcastOp::create(builder, loc, type, bits);
}

//===- ScalarBuilder.cpp - scalar arithmetic as ONNX defines it -----------===//

#include "ScalarBuilder.h"

using namespace mlir;
using namespace onnx_aot;

Type onnx_aot::getComputeType(Type type) {
  return isa<Float16Type, BFloat16Type>(type)
             ? Float32Type::get(type.getContext())
             : type;
}

Value ScalarBuilder::widen(Value value) {
  Type type = getComputeType(value.getType());
  return type == value.getType() ? value : create<arith::ExtFOp>(type, value);
}

//===--- Constants --------------------------------------------------------===//

Value ScalarBuilder::constant(double value, Type type) {
  return createScalarConstant(builder, loc, value, type);
}

/// An integer of any width or an infinity.
static Value createExtreme(OpBuilder &builder, Location loc, Type type,
                           bool isUnsigned, bool greatest) {
  if (auto floatType = dyn_cast<FloatType>(type))
    return arith::ConstantOp::create(
        builder, loc,
        builder.getFloatAttr(floatType,
                             APFloat::getInf(floatType.getFloatSemantics(),
                                             /*Negative=*/!greatest)));
  unsigned width = type.getIntOrFloatBitWidth();
  APInt value = isUnsigned ? (greatest ? APInt::getMaxValue(width)
                                       : APInt::getMinValue(width))
                           : (greatest ? APInt::getSignedMaxValue(width)
                                       : APInt::getSignedMinValue(width));
  return arith::ConstantOp::create(builder, loc,
                                   builder.getIntegerAttr(type, value));
}

Value ScalarBuilder::lowest(Type type) {
  return createExtreme(builder, loc, type, isUnsigned, /*greatest=*/false);
}

Value ScalarBuilder::highest(Type type) {
  return createExtreme(builder, loc, type, isUnsigned, /*greatest=*/true);
}

//===--- Arithmetic -------------------------------------------------------===//

Value ScalarBuilder::add(Value a, Value b) {
  return isFloat(a) ? create<arith::AddFOp>(a, b) : create<arith::AddIOp>(a, b);
}

Value ScalarBuilder::sub(Value a, Value b) {
  return isFloat(a) ? create<arith::SubFOp>(a, b) : create<arith::SubIOp>(a, b);
}

Value ScalarBuilder::mul(Value a, Value b) {
  return isFloat(a) ? create<arith::MulFOp>(a, b) : create<arith::MulIOp>(a, b);
}

Value ScalarBuilder::div(Value a, Value b) {
  if (isFloat(a))
    return create<arith::DivFOp>(a, b);
  Value zero = like(a, 0), one = like(a, 1);
  Value byZero = compare(Compare::Equal, b, zero);
  if (isUnsigned) {
    Value safe = select(byZero, one, b);
    return select(byZero, zero, create<arith::DivUIOp>(a, safe));
  }
  Value byMinusOne = compare(Compare::Equal, b, like(a, -1));
  Value special = create<arith::OrIOp>(byZero, byMinusOne);
  Value quotient = create<arith::DivSIOp>(a, select(special, one, b));
  Value negated = select(byMinusOne, sub(zero, a), quotient);
  return select(byZero, zero, negated);
}

Value ScalarBuilder::remainder(Value a, Value b) {
  if (isFloat(a))
    return create<arith::RemFOp>(a, b);
  // Dividing by 1 instead of 0 or -1 gives 0 and does not trap.
  Value one = like(a, 1);
  Value byZero = compare(Compare::Equal, b, like(a, 0));
  if (isUnsigned)
    return create<arith::RemUIOp>(a, select(byZero, one, b));
  Value byMinusOne = compare(Compare::Equal, b, like(a, -1));
  Value special = create<arith::OrIOp>(byZero, byMinusOne);
  return create<arith::RemSIOp>(a, select(special, one, b));
}

Value ScalarBuilder::modulo(Value a, Value b) {
  Value rest = remainder(a, b);
  if (isUnsigned)
    return rest;
  Value zero = like(a, 0);
  Value differ = create<arith::XOrIOp>(compare(Compare::Less, rest, zero),
                                       compare(Compare::Less, b, zero));
  Value isRest = compare(Compare::NotEqual, rest, zero);
  // Nothing is to be corrected for a divisor of 0, where the rest is 0 or NaN.
  return select(create<arith::AndIOp>(differ, isRest), add(rest, b), rest);
}

Value ScalarBuilder::negate(Value x) {
  return isFloat(x) ? create<arith::NegFOp>(x) : sub(like(x, 0), x);
}

Value ScalarBuilder::absolute(Value x) {
  if (isFloat(x))
    return create<math::AbsFOp>(x);
  return isUnsigned ? x : create<math::AbsIOp>(x);
}

Value ScalarBuilder::sign(Value x) {
  Value zero = like(x, 0);
  // Adding 0 turns -0 into 0 and leaves NaN.
  Value rest = isFloat(x) ? add(x, zero) : zero;
  if (!isUnsigned)
    rest = select(compare(Compare::Less, x, zero), like(x, -1), rest);
  return select(compare(Compare::Greater, x, zero), like(x, 1), rest);
}

Value ScalarBuilder::max(Value a, Value b) {
  if (isFloat(a))
    return create<arith::MaximumFOp>(a, b);
  return isUnsigned ? create<arith::MaxUIOp>(a, b)
                    : create<arith::MaxSIOp>(a, b);
}

Value ScalarBuilder::min(Value a, Value b) {
  if (isFloat(a))
    return create<arith::MinimumFOp>(a, b);
  return isUnsigned ? create<arith::MinUIOp>(a, b)
                    : create<arith::MinSIOp>(a, b);
}

Value ScalarBuilder::compare(Compare predicate, Value a, Value b) {
  using F = arith::CmpFPredicate;
  using I = arith::CmpIPredicate;
  constexpr F kFloat[] = {F::OEQ, F::UNE, F::OLT, F::OLE, F::OGT, F::OGE};
  constexpr I kSigned[] = {I::eq, I::ne, I::slt, I::sle, I::sgt, I::sge};
  constexpr I kUnsigned[] = {I::eq, I::ne, I::ult, I::ule, I::ugt, I::uge};
  auto index = static_cast<unsigned>(predicate);
  if (isFloat(a))
    return create<arith::CmpFOp>(kFloat[index], a, b);
  return create<arith::CmpIOp>((isUnsigned ? kUnsigned : kSigned)[index], a, b);
}

Value ScalarBuilder::isNaN(Value x) {
  return create<arith::CmpFOp>(arith::CmpFPredicate::UNO, x, x);
}

//===--- Functions of floats ----------------------------------------------===//

Value ScalarBuilder::sigmoid(Value x) {
  Value one = like(x, 1);
  return div(one, add(one, exp(negate(x))));
}

Value ScalarBuilder::expMinusOne(Value x) {
  // With t = tanh(x / 2) it is 2 t / (1 - t): nothing cancels for x < 0.
  Value t = tanh(mul(x, like(x, 0.5)));
  return div(add(t, t), sub(like(x, 1), t));
}

Value ScalarBuilder::softplus(Value x) {
  // log(1 + z) of a small z loses what 1 + z rounds away; the factor z / (u -
  // 1) gives it back.
  Value z = exp(negate(absolute(x))), one = like(x, 1);
  Value u = add(one, z), rounded = sub(u, one);
  Value isLost = compare(Compare::Equal, rounded, like(x, 0));
  Value safe = select(isLost, one, rounded);
  Value logarithm = select(isLost, z, div(mul(log(u), z), safe));
  return add(max(x, like(x, 0)), logarithm);
}

//===--- Conversions ------------------------------------------------------===//

Value ScalarBuilder::toInteger(Value value, IntegerType type, bool toUnsigned) {
  // The bounds are powers of two, thus exact in f32 and f64.
  unsigned width = type.getWidth();
  Value low = like(value, toUnsigned ? 0.0 : -std::ldexp(1.0, width - 1));
  Value high = like(value, std::ldexp(1.0, toUnsigned ? width : width - 1));
  Value tooLow = compare(Compare::Less, value, low);
  Value tooHigh = compare(Compare::GreaterOrEqual, value, high);
  Value fits =
      create<arith::AndIOp>(compare(Compare::GreaterOrEqual, value, low),
                            compare(Compare::Less, value, high));
  // Out of range the conversion has no defined value; NaN becomes 0 here.
  Value safe = select(fits, value, like(value, 0));
  Value inside = toUnsigned ? create<arith::FPToUIOp>(type, safe)
                            : create<arith::FPToSIOp>(type, safe);
  ScalarBuilder target(builder, loc, toUnsigned);
  Value notLow = select(tooLow, target.lowest(type), inside);
  return select(tooHigh, target.highest(type), notLow);
}

/// An f64 as an f32 that may be rounded once more without an error: a value
/// between two neighbours becomes the odd one, never a tie of a narrower type.
static Value roundToOdd(ScalarBuilder &s, Value value) {
  Type single = s.getBuilder().getF32Type(), bits = s.getBuilder().getI32Type();
  Value nearest = s.create<arith::TruncFOp>(single, value);
  Value back = s.create<arith::ExtFOp>(value.getType(), nearest);
  Value isLarger = s.compare(ScalarBuilder::Compare::Greater, s.absolute(back),
                             s.absolute(value));
  Value isInexact = s.compare(ScalarBuilder::Compare::NotEqual, back, value);
  Value pattern = s.create<arith::BitcastOp>(bits, nearest);
  Value towardsZero = s.create<arith::SubIOp>(
      pattern, s.create<arith::ExtUIOp>(bits, isLarger));
  Value odd = s.create<arith::OrIOp>(towardsZero,
                                     s.create<arith::ExtUIOp>(bits, isInexact));
  return s.create<arith::BitcastOp>(single, odd);
}

Value ScalarBuilder::toNarrowable(Value value) {
  Type type = value.getType();
  Type single = builder.getF32Type();
  if (type.isF64())
    return roundToOdd(*this, value);
  if (isFloat(value))
    return widen(value);
  // Integers of 24 bits are exact in f32, of 53 bits in f64.
  if (type.getIntOrFloatBitWidth() <= 16)
    return convert(value, single, false);
  return roundToOdd(*this, convert(value, builder.getF64Type(), false));
}

Value ScalarBuilder::convert(Value value, Type type, bool toUnsigned) {
  Type from = value.getType();
  if (from == type)
    return value;
  bool fromBool = from.isInteger(1), toFloat = isa<FloatType>(type);
  if (type.isInteger(1))
    return compare(Compare::NotEqual, value, like(value, 0));
  if (toFloat && type.getIntOrFloatBitWidth() < 32)
    return create<arith::TruncFOp>(type, toNarrowable(value));
  if (isFloat(value) && toFloat) {
    return from.getIntOrFloatBitWidth() < type.getIntOrFloatBitWidth()
               ? create<arith::ExtFOp>(type, value)
               : create<arith::TruncFOp>(type, value);
  }
  if (isFloat(value))
    return toInteger(widen(value), cast<IntegerType>(type), toUnsigned);
  if (toFloat)
    return isUnsigned || fromBool ? create<arith::UIToFPOp>(type, value)
                                  : create<arith::SIToFPOp>(type, value);
  if (from.getIntOrFloatBitWidth() > type.getIntOrFloatBitWidth())
    return create<arith::TruncIOp>(type, value);
  return isUnsigned || fromBool ? create<arith::ExtUIOp>(type, value)
                                : create<arith::ExtSIOp>(type, value);
}

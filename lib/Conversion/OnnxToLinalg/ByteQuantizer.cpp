//===- ByteQuantizer.cpp - quantize many floats by one scale --------------===//

#include "ByteQuantizer.h"

using namespace mlir;

namespace onnx_aot {

using Compare = ScalarBuilder::Compare;

/// Scales for which neither reciprocal nor remainders leave the normal numbers.
static constexpr double kLeast = 0x1p-90, kMost = 0x1p90, kShift = 0x1p64;

/// A float to which numbers of up to 22 bits are added with no bits after the
/// point, rounding half to even; its low 16 bits are 0.
static constexpr double kRounder = 0x1.8p23;

Value convertWithin(ScalarBuilder &scalars, Value rounded, double low,
                    double high, Type type) {
  Type wide = rounded.getType();
  Value least = scalars.constant(low, wide),
        most = scalars.constant(high, wide);
  // A comparison with NaN is false: it becomes the bound.
  Value above = scalars.select(
      scalars.compare(Compare::Greater, rounded, least), rounded, least);
  Value inside =
      scalars.select(scalars.compare(Compare::Less, above, most), above, most);
  if (low != 0)
    inside = scalars.select(scalars.compare(Compare::Equal, rounded, rounded),
                            inside, scalars.constant(0, wide));
  Value number = scalars.create<arith::FPToSIOp>(
      scalars.getBuilder().getI32Type(), inside);
  return scalars.create<arith::TruncIOp>(type, number);
}

bool ByteQuantizer::isOrdinary(double scale) {
  return scale >= kLeast && scale <= kMost;
}

ByteQuantizer::ByteQuantizer(OpBuilder &builder, Location loc, Value scale,
                             Value point, double low, double high, Type type)
    : type(type), point(point) {
  ScalarBuilder s(builder, loc, /*isUnsigned=*/false);
  Type f32 = scale.getType();
  auto number = [&](double value) { return s.constant(value, f32); };
  FloatAttr known;
  if (!matchPattern(scale, m_Constant(&known)) ||
      !isOrdinary(known.getValueAsDouble())) {
    // Powers of two change no quotient. What is not finite or 0 becomes 1 with
    // a factor of 0: x / inf is 0, 0 / 0 counts as 0, inf / inf stays NaN.
    Value isSmall = s.compare(Compare::Less, scale, number(kLeast));
    Value isLarge = s.compare(Compare::Greater, scale, number(kMost));
    factor = s.select(isSmall, number(kShift),
                      s.select(isLarge, number(1 / kShift), number(1)));
    Value isUsable = s.create<arith::AndIOp>(
        s.compare(Compare::Greater, scale, number(0)),
        s.compare(Compare::Less, scale, s.highest(f32)));
    factor = s.select(isUsable, factor, number(0));
    scale = s.select(isUsable, s.mul(scale, factor), number(1));
  }
  reciprocal = s.div(number(1), scale);
  negatedScale = s.negate(scale);
  missing = s.mul(s.create<math::FmaOp>(reciprocal, negatedScale, number(1)),
                  reciprocal);
  Value offset = s.convert(point, f32, false);
  least = s.mul(s.sub(number(low), offset), scale);
  most = s.mul(s.sub(number(high), offset), scale);
  if (low != 0)
    nothing = s.mul(s.negate(offset), scale);
}

Value ByteQuantizer::quantize(ScalarBuilder &s, Value x) const {
  if (factor)
    x = s.mul(x, factor);
  // Bounds lie so near to an integral quotient that they round to it, and a
  // comparison with NaN is false: it becomes the bound.
  Value inside = s.select(s.compare(Compare::Greater, x, least), x, least);
  inside = s.select(s.compare(Compare::Less, inside, most), inside, most);
  if (nothing)
    inside = s.select(s.compare(Compare::Equal, x, x), inside, nothing);
  // Markstein: a quotient that is off by less than its last bit, corrected by
  // its exact remainder times the rounded reciprocal, is the rounded quotient.
  Value near =
      s.create<math::FmaOp>(inside, reciprocal, s.mul(inside, missing));
  Value remainder = s.create<math::FmaOp>(near, negatedScale, inside);
  Value quotient = s.create<math::FmaOp>(remainder, reciprocal, near);
  Value rounded = s.add(quotient, s.constant(kRounder, quotient.getType()));
  Value bits = s.create<arith::BitcastOp>(s.getBuilder().getI32Type(), rounded);
  return s.create<arith::TruncIOp>(type, s.create<arith::AddIOp>(bits, point));
}

} // namespace onnx_aot

//===- ExpandDeviceMath.cpp - functions that the device has not -----------===//
//
// Elementary functions of f32 without an instruction or a polynomial of MLIR's,
// as arithmetic in f64: the device has it, and reductions of arguments need no
// care then. Series are those of Taylor, cut where they are below 1e-13 on the
// reduced range; those of exp, log and tanh below 1e-17, since they serve f64
// too.
//
//===----------------------------------------------------------------------===//

#include "ExpandDeviceMath.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <cmath>

using namespace mlir;

namespace onnx_aot {

namespace {

/// Arithmetic on f64 values in few words.
class Writer {
public:
  Writer(Location loc, PatternRewriter &rewriter) : b(loc, rewriter) {}

  Value number(double value) {
    return arith::ConstantOp::create(b, b.getF64FloatAttr(value));
  }
  Value add(Value x, Value y) { return arith::AddFOp::create(b, x, y); }
  Value sub(Value x, Value y) { return arith::SubFOp::create(b, x, y); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(b, x, y); }
  Value div(Value x, Value y) { return arith::DivFOp::create(b, x, y); }
  Value fma(Value x, Value y, Value z) {
    return math::FmaOp::create(b, x, y, z);
  }
  Value abs(Value x) { return math::AbsFOp::create(b, x); }
  Value sqrt(Value x) { return math::SqrtOp::create(b, x); }
  Value nearest(Value x) { return math::RoundEvenOp::create(b, x); }
  Value withSign(Value x, Value sign) {
    return math::CopySignOp::create(b, x, sign);
  }
  Value is(arith::CmpFPredicate predicate, Value x, double value) {
    return arith::CmpFOp::create(b, predicate, x, number(value));
  }
  Value less(Value x, double value) {
    return is(arith::CmpFPredicate::OLT, x, value);
  }
  Value equal(Value x, double value) {
    return is(arith::CmpFPredicate::OEQ, x, value);
  }
  Value choose(Value condition, Value x, Value y) {
    return arith::SelectOp::create(b, condition, x, y);
  }
  Value both(Value x, Value y) { return arith::AndIOp::create(b, x, y); }
  Value either(Value x, Value y) { return arith::OrIOp::create(b, x, y); }
  Value opposite(Value x) {
    return arith::XOrIOp::create(b, x, arith::ConstantIntOp::create(b, 1, 1));
  }
  Value integer(int64_t value) {
    return arith::ConstantIntOp::create(b, value, 64);
  }

  /// c[0] + c[1] x + c[2] x^2 + ...
  Value polynomial(Value x, ArrayRef<double> coefficients) {
    Value sum = number(coefficients.back());
    for (double coefficient : llvm::reverse(coefficients.drop_back()))
      sum = fma(sum, x, number(coefficient));
    return sum;
  }

  /// 2^k.
  Value power(Value k);
  /// 2^k e^r.
  Value scaledExp(Value k, Value r);
  Value exp(Value x);
  Value exp2(Value x);
  Value tanh(Value x);
  Value log(Value x);
  std::pair<Value, Value> sinAndCos(Value x);
  Value atan(Value x);
  Value asin(Value x);
  Value pow(Value x, Value y);

  ImplicitLocOpBuilder b;
};

constexpr double kInfinity = INFINITY;

Value Writer::power(Value k) {
  Value whole = arith::FPToSIOp::create(b, b.getI64Type(), k);
  Value bits = arith::ShLIOp::create(
      b, arith::AddIOp::create(b, whole, integer(1023)), integer(52));
  return arith::BitcastOp::create(b, b.getF64Type(), bits);
}

/// |r| <= ln(2) / 2, |k| < 2000: the scale is applied in two parts, so that
/// neither overflows.
Value Writer::scaledExp(Value k, Value r) {
  SmallVector<double> coefficients;
  double factorial = 1;
  for (int i = 0; i <= 14; ++i, factorial *= i)
    coefficients.push_back(1 / factorial);
  Value half = nearest(mul(k, number(0.5)));
  return mul(mul(polynomial(r, coefficients), power(half)),
             power(sub(k, half)));
}

Value Writer::exp(Value x) {
  Value isNumber = is(arith::CmpFPredicate::ORD, x, 0);
  // Beyond these everything is infinite or zero.
  Value bounded =
      arith::MinNumFOp::create(b, choose(isNumber, x, number(0)), number(800));
  bounded = arith::MaxNumFOp::create(b, bounded, number(-800));
  Value k = nearest(mul(bounded, number(1 / M_LN2)));
  // ln(2) in two parts.
  Value r = fma(k, number(-0x1.62e42fefa39efp-1), bounded);
  r = fma(k, number(-0x1.abc9e3b39803fp-56), r);
  return choose(isNumber, scaledExp(k, r), x);
}

Value Writer::exp2(Value x) {
  Value isNumber = is(arith::CmpFPredicate::ORD, x, 0);
  Value bounded =
      arith::MinNumFOp::create(b, choose(isNumber, x, number(0)), number(1100));
  bounded = arith::MaxNumFOp::create(b, bounded, number(-1200));
  Value k = nearest(bounded);
  Value r = mul(sub(bounded, k), number(M_LN2));
  return choose(isNumber, scaledExp(k, r), x);
}

/// Near zero the quotient of two series, elsewhere 1 - 2 / (e^2|x| + 1).
Value Writer::tanh(Value x) {
  Value size = abs(x), square = mul(x, x);
  SmallVector<double> sines, cosines;
  double factorial = 1;
  for (int i = 0; i <= 17; ++i) {
    if (i)
      factorial *= i;
    ((i & 1) ? sines : cosines).push_back(1 / factorial);
  }
  Value near =
      div(mul(size, polynomial(square, sines)), polynomial(square, cosines));
  Value far =
      sub(number(1), div(number(2), add(exp(mul(size, number(2))), number(1))));
  return withSign(choose(less(size, 0.5), near, far), x);
}

/// k ln(2) + 2 atanh((m - 1) / (m + 1)) with m in [sqrt(1/2), sqrt(2)).
Value Writer::log(Value x) {
  // Denormal numbers are brought into the range of the others.
  Value isSmall = less(x, 0x1p-1000);
  Value normal = choose(isSmall, mul(x, number(0x1p200)), x);
  Value bits = arith::BitcastOp::create(b, b.getI64Type(), normal);
  // The exponent of x / sqrt(1/2), and x without it.
  Value shifted = arith::SubIOp::create(b, bits, integer(0x3fe6a09e667f3bcd));
  Value exponent = arith::ShRSIOp::create(b, shifted, integer(52));
  Value fraction = arith::SubIOp::create(
      b, bits, arith::ShLIOp::create(b, exponent, integer(52)));
  Value m = arith::BitcastOp::create(b, b.getF64Type(), fraction);
  Value s = div(sub(m, number(1)), add(m, number(1)));
  SmallVector<double> coefficients;
  for (int i = 0; i <= 11; ++i)
    coefficients.push_back(2.0 / (2 * i + 1));
  Value series = mul(s, polynomial(mul(s, s), coefficients));
  Value k = arith::SIToFPOp::create(b, b.getF64Type(), exponent);
  k = sub(k, choose(isSmall, number(200), number(0)));
  Value result = fma(k, number(M_LN2), series);
  result = choose(equal(x, 0), number(-kInfinity), result);
  result = choose(equal(x, kInfinity), x, result);
  return choose(is(arith::CmpFPredicate::UGE, x, 0),
                choose(is(arith::CmpFPredicate::ORD, x, 0), result, x),
                number(NAN));
}

/// Both of x - k pi/2 with |r| <= pi/4, swapped and negated by k.
std::pair<Value, Value> Writer::sinAndCos(Value x) {
  Value isFinite = less(abs(x), kInfinity);
  Value bounded = choose(isFinite, x, number(0));
  Value k = nearest(mul(bounded, number(M_2_PI)));
  // pi/2 in two parts: k has at most the 24 + 103 bits that an f32 can give;
  // from 2^53 on neighbouring f32 numbers are many periods apart.
  Value r = fma(k, number(-1.5707963267948966), bounded);
  r = fma(k, number(-6.123233995736766e-17), r);
  SmallVector<double> sines, cosines;
  double factorial = 1;
  for (int i = 0; i <= 15; ++i) {
    if (i)
      factorial *= i;
    ((i & 1) ? sines : cosines).push_back((i & 2 ? -1 : 1) / factorial);
  }
  Value square = mul(r, r);
  Value sine = mul(r, polynomial(square, sines));
  Value cosine = polynomial(square, cosines);
  // The quadrant, also where k is beyond 64 bits.
  Value turns = math::FloorOp::create(b, mul(k, number(0.25)));
  Value quadrant =
      arith::FPToSIOp::create(b, b.getI64Type(), fma(turns, number(-4), k));
  auto has = [&](Value value, int64_t mask) -> Value {
    Value bits = arith::AndIOp::create(b, value, integer(mask));
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, bits, integer(0));
  };
  auto negate = [&](Value value) -> Value {
    return arith::NegFOp::create(b, value);
  };
  Value isOdd = has(quadrant, 1);
  Value s = choose(isOdd, cosine, sine), c = choose(isOdd, sine, cosine);
  s = choose(has(quadrant, 2), negate(s), s);
  Value next = arith::AddIOp::create(b, quadrant, integer(1));
  c = choose(has(next, 2), negate(c), c);
  return {choose(isFinite, s, number(NAN)), choose(isFinite, c, number(NAN))};
}

/// Reduced to |t| <= tan(pi/8) by the angles pi/2 and pi/4.
Value Writer::atan(Value x) {
  Value size = abs(x);
  Value isLarge = is(arith::CmpFPredicate::OGT, size, 1);
  Value t = choose(isLarge, div(number(1), size), size);
  Value isMiddle = is(arith::CmpFPredicate::OGT, t, 0.41421356237309503);
  t = choose(isMiddle, div(sub(t, number(1)), add(t, number(1))), t);
  SmallVector<double> coefficients;
  for (int i = 0; i <= 16; ++i)
    coefficients.push_back((i & 1 ? -1.0 : 1.0) / (2 * i + 1));
  Value angle = mul(t, polynomial(mul(t, t), coefficients));
  angle = choose(isMiddle, add(number(M_PI_4), angle), angle);
  angle = choose(isLarge, sub(number(M_PI_2), angle), angle);
  return withSign(angle, x);
}

Value Writer::asin(Value x) {
  Value root = sqrt(mul(sub(number(1), x), add(number(1), x)));
  // At +-1 the quotient is infinite, and so is the tangent.
  return atan(div(x, root));
}

/// exp(y log|x|) with the signs and corners of C's pow.
Value Writer::pow(Value x, Value y) {
  Value result = exp(mul(y, log(abs(x))));
  Value isWhole = arith::CmpFOp::create(
      b, arith::CmpFPredicate::OEQ, math::FloorOp::create(b, y).getResult(), y);
  Value half = mul(y, number(0.5));
  Value isEven =
      arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ,
                            math::FloorOp::create(b, half).getResult(), half);
  Value isOdd = both(isWhole, opposite(isEven));
  Value signedResult = withSign(result, x);
  result = choose(isOdd, signedResult, result);
  Value isNegative =
      both(less(x, 0), is(arith::CmpFPredicate::OGT, x, -kInfinity));
  Value isFinite = less(abs(y), kInfinity);
  result = choose(both(isNegative, both(isFinite, opposite(isWhole))),
                  number(NAN), result);
  Value isOne = either(equal(x, 1), equal(y, 0));
  // |x| = 1 and y infinite: the product of 0 and infinity would be no number.
  isOne = either(isOne, both(equal(x, -1), opposite(isFinite)));
  Value ordered = is(arith::CmpFPredicate::ORD, y, 0);
  isOne = both(isOne, either(ordered, equal(x, 1)));
  return choose(isOne, number(1), result);
}

/// The function's value, computed in f64; null for others.
Value expand(Writer &w, Operation *op, ArrayRef<Value> x) {
  auto tiny = [&](Value value) {
    // Where the function is its argument, and differences would lose it.
    return w.choose(w.less(w.abs(x[0]), 1e-5), x[0], value);
  };
  if (isa<math::SinOp>(op))
    return w.sinAndCos(x[0]).first;
  if (isa<math::CosOp>(op))
    return w.sinAndCos(x[0]).second;
  if (isa<math::TanOp>(op)) {
    auto [sine, cosine] = w.sinAndCos(x[0]);
    return w.div(sine, cosine);
  }
  if (isa<math::AtanOp>(op))
    return w.atan(x[0]);
  if (isa<math::AsinOp>(op))
    return w.asin(x[0]);
  if (isa<math::AcosOp>(op))
    return w.sub(w.number(M_PI_2), w.asin(x[0]));
  if (isa<math::SinhOp>(op))
    return tiny(w.mul(w.number(0.5),
                      w.sub(w.exp(x[0]), w.exp(w.sub(w.number(0), x[0])))));
  if (isa<math::CoshOp>(op))
    return w.mul(w.number(0.5),
                 w.add(w.exp(x[0]), w.exp(w.sub(w.number(0), x[0]))));
  if (isa<math::AsinhOp>(op)) {
    Value size = w.abs(x[0]);
    Value root = w.sqrt(w.fma(size, size, w.number(1)));
    return tiny(w.withSign(w.log(w.add(size, root)), x[0]));
  }
  if (isa<math::AcoshOp>(op)) {
    Value root =
        w.sqrt(w.mul(w.sub(x[0], w.number(1)), w.add(x[0], w.number(1))));
    // Both factors are negative below -1.
    return w.choose(w.less(x[0], 1), w.number(NAN), w.log(w.add(x[0], root)));
  }
  if (isa<math::AtanhOp>(op))
    return tiny(w.mul(w.number(0.5), w.log(w.div(w.add(w.number(1), x[0]),
                                                 w.sub(w.number(1), x[0])))));
  if (isa<math::ExpOp>(op))
    return w.exp(x[0]);
  if (isa<math::Exp2Op>(op))
    return w.exp2(x[0]);
  if (isa<math::TanhOp>(op))
    return w.tanh(x[0]);
  if (isa<math::LogOp>(op))
    return w.log(x[0]);
  if (isa<math::Log2Op>(op))
    return w.mul(w.log(x[0]), w.number(1 / M_LN2));
  if (isa<math::Log10Op>(op))
    return w.mul(w.log(x[0]), w.number(1 / M_LN10));
  if (isa<math::CbrtOp>(op))
    return w.withSign(w.exp(w.div(w.log(w.abs(x[0])), w.number(3))), x[0]);
  if (isa<math::PowFOp>(op))
    return w.pow(x[0], x[1]);
  return {};
}

/// Functions that are as exact as f64 itself.
bool isExpandedForDouble(Operation *op) {
  return isa<math::ExpOp, math::Exp2Op, math::LogOp, math::Log2Op,
             math::Log10Op, math::TanhOp, math::PowFOp>(op);
}

// Pattern: math.f(x : f32) -> truncf(arithmetic on extf(x) : f64)
// Pattern: math.f(x : f64) -> arithmetic on x
struct ExpandInDouble : RewritePattern {
  explicit ExpandInDouble(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/1, context) {}

  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    if (op->getNumResults() != 1 ||
        !isExpandedInDouble(op, op->getResult(0).getType()))
      return failure();
    Writer w(op->getLoc(), rewriter);
    if (op->getResult(0).getType().isF64()) {
      rewriter.replaceOp(op,
                         expand(w, op, SmallVector<Value>(op->getOperands())));
      return success();
    }
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(arith::ExtFOp::create(w.b, w.b.getF64Type(), operand));
    Value result = expand(w, op, operands);
    rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, rewriter.getF32Type(),
                                                 result);
    return success();
  }
};

} // namespace

bool isExpandedInDouble(Operation *op, Type type) {
  if (type.isF64())
    return isExpandedForDouble(op);
  return type.isF32() &&
         isa<math::SinOp, math::CosOp, math::TanOp, math::AtanOp, math::AsinOp,
             math::AcosOp, math::SinhOp, math::CoshOp, math::AsinhOp,
             math::AcoshOp, math::AtanhOp, math::Exp2Op, math::Log10Op,
             math::CbrtOp, math::PowFOp>(op);
}

void populateExpandDeviceMathPatterns(RewritePatternSet &patterns) {
  patterns.add<ExpandInDouble>(patterns.getContext());
}

} // namespace onnx_aot

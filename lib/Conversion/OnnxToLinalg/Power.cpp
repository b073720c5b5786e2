//===- Power.cpp - lower Pow ----------------------------------------------===//

#include "ScalarBuilder.h"

using namespace mlir;
using namespace onnx_aot;

using Scalars = ScalarBuilder;
using Compare = ScalarBuilder::Compare;

/// The exponent when all its elements are one constant.
static std::optional<double> getConstantExponent(Value exponent) {
  auto constant = exponent.getDefiningOp<onnx::ConstantOp>();
  auto dense = constant ? dyn_cast<DenseElementsAttr>(constant.getValue())
                        : DenseElementsAttr();
  if (!dense || !dense.isSplat())
    return std::nullopt;
  if (isa<FloatType>(dense.getElementType()))
    return dense.getSplatValue<APFloat>().convertToDouble();
  APInt value = dense.getSplatValue<APInt>();
  return dense.getElementType().isUnsignedInteger()
             ? value.roundToDouble()
             : value.signedRoundToDouble();
}

/// Powers that need no logarithm; all of them agree with pow, also for zeros,
/// infinities and NaN.
static Value createSmallPower(Scalars &s, Value x, double exponent) {
  if (exponent == 1)
    return x;
  if (exponent == 2)
    return s.mul(x, x);
  if (exponent == 3)
    return s.mul(s.mul(x, x), x);
  if (exponent == -1)
    return s.div(s.like(x, 1), x);
  if (exponent == 0.5) {
    // pow(-0, 0.5) is +0 and pow(-inf, 0.5) is +inf.
    constexpr double kInf = std::numeric_limits<double>::infinity();
    Value isLowest = s.compare(Compare::Equal, x, s.like(x, -kInf));
    Value root = s.add(s.sqrt(x), s.like(x, 0));
    return s.select(isLowest, s.like(x, kInf), root);
  }
  return {};
}

/// base ^ exponent by squaring, modulo the width; the exponent is an i64.
static Value createIntegerPower(Scalars &s, Value base, Value exponent,
                                bool isSignedExponent) {
  OpBuilder &builder = s.getBuilder();
  Type type = base.getType(), exponentType = exponent.getType();
  Value one = s.like(base, 1), zero = s.like(base, 0);
  auto loop = scf::WhileOp::create(
      builder, s.getLoc(), TypeRange{type, type, exponentType},
      ValueRange{one, base, exponent},
      [&](OpBuilder &b, Location loc, ValueRange args) {
        Scalars inner(b, loc, false);
        Value more =
            inner.compare(Compare::NotEqual, args[2], inner.like(args[2], 0));
        scf::ConditionOp::create(b, loc, more, args);
      },
      [&](OpBuilder &b, Location loc, ValueRange args) {
        Scalars inner(b, loc, false);
        Value bit = inner.create<arith::TruncIOp>(b.getI1Type(), args[2]);
        Value power = inner.select(bit, inner.mul(args[0], args[1]), args[0]);
        Value square = inner.mul(args[1], args[1]);
        Value rest =
            inner.create<arith::ShRUIOp>(args[2], inner.like(args[2], 1));
        scf::YieldOp::create(b, loc, ValueRange{power, square, rest});
      });
  Value power = loop.getResult(0);
  if (!isSignedExponent)
    return power;
  // x ^ -n is 0 for all but 1 and -1, whose powers only depend on the last bit.
  // The loop still gives these: it reads the exponent modulo 2 ^ 64.
  Value isUnit =
      s.create<arith::OrIOp>(s.compare(Compare::Equal, base, one),
                             s.compare(Compare::Equal, base, s.like(base, -1)));
  Value isNegative = s.create<arith::CmpIOp>(arith::CmpIPredicate::slt,
                                             exponent, s.like(exponent, 0));
  Value vanishes = s.create<arith::AndIOp>(
      isNegative,
      s.create<arith::XOrIOp>(isUnit, s.constant(1, builder.getI1Type())));
  return s.select(vanishes, zero, power);
}

namespace {

struct LowerPow : OnnxLowering<onnx::PowOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::PowOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Type type = onnx::getElementType(op.getX());
    Type exponentType = onnx::getElementType(op.getY());
    std::optional<double> constant = getConstantExponent(op.getY());
    bool isFloat = isa<FloatType>(type);
    bool isFloatExponent = isa<FloatType>(exponentType);
    return lowerPointwise(
        rewriter, lowering, op, adaptor.getOperands(),
        [&](OpBuilder &b, Location loc, ValueRange args) -> Value {
          Scalars base(b, loc, type.isUnsignedInteger());
          Scalars exponent(b, loc, exponentType.isUnsignedInteger());
          if (!isFloat && !isFloatExponent) {
            Value wide = exponent.convert(args[1], b.getI64Type(), false);
            return createIntegerPower(base, args[0], wide,
                                      !exponentType.isUnsignedInteger());
          }
          Value x = base.widen(args[0]);
          if (isFloat && constant)
            if (Value power = createSmallPower(base, x, *constant))
              return base.convert(power, args[0].getType(), false);
          // A wide exponent would not be exact in f32: its parity matters.
          Type computeType = getComputeType(type);
          if (!isFloat || exponentType.getIntOrFloatBitWidth() > 32 ||
              (!isFloatExponent && exponentType.getIntOrFloatBitWidth() > 16))
            computeType = b.getF64Type();
          Value power = base.create<math::PowFOp>(
              base.convert(args[0], computeType, false),
              exponent.convert(args[1], computeType, false));
          return base.convert(power, args[0].getType(),
                              type.isUnsignedInteger());
        });
  }
};

} // namespace

void onnx_aot::populateOnnxToLinalgPowerPatterns(
    const LoweringContext &lowering, RewritePatternSet &patterns) {
  patterns.add<LowerPow>(lowering, patterns.getContext());
}

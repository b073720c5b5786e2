//===- Elementwise.cpp - lower pointwise arithmetic -----------------------===//
//
// Casts and powers have files of their own.
//
//===----------------------------------------------------------------------===//

#include "PointwiseLowering.h"

using namespace mlir;
using namespace onnx_aot;

using Scalars = ScalarBuilder;
using Compare = ScalarBuilder::Compare;

//===--- Arithmetic -------------------------------------------------------===//

/// Folds all operands into one from the left.
template <Value (Scalars::*combine)(Value, Value)>
static Value foldLeft(Scalars &s, ValueRange args) {
  Value result = args[0];
  for (Value arg : args.drop_front())
    result = (s.*combine)(result, arg);
  return result;
}

static void addArithmetic(PointwisePatterns &pointwise) {
  pointwise.add<onnx::AddOp>([](auto, Scalars &s, ValueRange args) {
    return s.add(args[0], args[1]);
  });
  pointwise.add<onnx::SubOp>([](auto, Scalars &s, ValueRange args) {
    return s.sub(args[0], args[1]);
  });
  pointwise.add<onnx::MulOp>([](auto, Scalars &s, ValueRange args) {
    return s.mul(args[0], args[1]);
  });
  pointwise.add<onnx::DivOp>([](auto, Scalars &s, ValueRange args) {
    return s.div(args[0], args[1]);
  });
  pointwise.add<onnx::ModOp>([](onnx::ModOp op, Scalars &s, ValueRange args) {
    return op.getFmod() ? s.remainder(args[0], args[1])
                        : s.modulo(args[0], args[1]);
  });
  pointwise.add<onnx::MaxOp>([](auto, Scalars &s, ValueRange args) {
    return foldLeft<&Scalars::max>(s, args);
  });
  pointwise.add<onnx::MinOp>([](auto, Scalars &s, ValueRange args) {
    return foldLeft<&Scalars::min>(s, args);
  });
  pointwise.add<onnx::SumOp>([](auto, Scalars &s, ValueRange args) {
    return foldLeft<&Scalars::add>(s, args);
  });
  pointwise.add<onnx::MeanOp>([](auto, Scalars &s, ValueRange args) {
    Value sum = foldLeft<&Scalars::add>(s, args);
    return s.div(sum, s.like(sum, args.size()));
  });
  pointwise.add<onnx::NegOp>(
      [](auto, Scalars &s, ValueRange args) { return s.negate(args[0]); });
  pointwise.add<onnx::AbsOp>(
      [](auto, Scalars &s, ValueRange args) { return s.absolute(args[0]); });
  pointwise.add<onnx::SignOp>(
      [](auto, Scalars &s, ValueRange args) { return s.sign(args[0]); });
  pointwise.add<onnx::ReciprocalOp>([](auto, Scalars &s, ValueRange args) {
    return s.div(s.like(args[0], 1), args[0]);
  });
  pointwise.addDirect<onnx::CeilOp, math::CeilOp>();
  pointwise.addDirect<onnx::FloorOp, math::FloorOp>();
  pointwise.addDirect<onnx::RoundOp, math::RoundEvenOp>();
  pointwise.add<onnx::BitShiftOp>(
      [](onnx::BitShiftOp op, Scalars &s, ValueRange args) -> Value {
        Value zero = s.like(args[0], 0);
        Value width = s.like(args[0], zero.getType().getIntOrFloatBitWidth());
        Value inside = s.compare(Compare::Less, args[1], width);
        Value count = s.select(inside, args[1], zero);
        Value shifted = op.getDirection() == "LEFT"
                            ? s.create<arith::ShLIOp>(args[0], count)
                            : s.create<arith::ShRUIOp>(args[0], count);
        return s.select(inside, shifted, zero);
      });
}

namespace {

/// The bounds are scalars, read once outside of the body.
struct LowerClip : OnnxLowering<onnx::ClipOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::ClipOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto readScalar = [&](Value bound) -> Value {
      Value zero = arith::ConstantIndexOp::create(rewriter, op.getLoc(), 0);
      auto type = cast<RankedTensorType>(bound.getType());
      return tensor::ExtractOp::create(
          rewriter, op.getLoc(), bound,
          SmallVector<Value>(type.getRank(), zero));
    };
    Value min, max;
    for (auto [bound, scalar] : {std::pair(adaptor.getMin(), &min),
                                 std::pair(adaptor.getMax(), &max)}) {
      if (!bound)
        continue;
      if (!cast<RankedTensorType>(bound.getType()).hasStaticShape())
        return unsupported(op, "bound of dynamic shape (supported: scalars)");
      *scalar = readScalar(bound);
    }
    bool isUnsigned = onnx::getElementType(op.getX()).isUnsignedInteger();
    return lowerPointwise(rewriter, lowering, op, op.getX(), adaptor.getX(),
                          [&](OpBuilder &b, Location loc, ValueRange args) {
                            Scalars s(b, loc, isUnsigned);
                            Value x = args[0];
                            if (min)
                              x = s.max(x, min);
                            return max ? s.min(x, max) : x;
                          });
  }
};

/// Converted types of input and output differ at most in what is static.
struct LowerIdentity : OnnxLowering<onnx::IdentityOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::IdentityOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Type type = typeConverter->convertType(op.getType());
    Value input = adaptor.getInput();
    if (!type)
      return unsupported(op, "input without memory form");
    if (input.getType() != type)
      input = tensor::CastOp::create(rewriter, op.getLoc(), type, input);
    rewriter.replaceOp(op, input);
    return success();
  }
};

} // namespace

//===--- Functions --------------------------------------------------------===//

static void addFunctions(PointwisePatterns &pointwise) {
  pointwise.addDirect<onnx::SqrtOp, math::SqrtOp>();
  pointwise.addDirect<onnx::ExpOp, math::ExpOp>();
  pointwise.addDirect<onnx::LogOp, math::LogOp>();
  pointwise.addDirect<onnx::ErfOp, math::ErfOp>();
  pointwise.addDirect<onnx::SinOp, math::SinOp>();
  pointwise.addDirect<onnx::CosOp, math::CosOp>();
  pointwise.addDirect<onnx::TanOp, math::TanOp>();
  pointwise.addDirect<onnx::AsinOp, math::AsinOp>();
  pointwise.addDirect<onnx::AcosOp, math::AcosOp>();
  pointwise.addDirect<onnx::AtanOp, math::AtanOp>();
  pointwise.addDirect<onnx::SinhOp, math::SinhOp>();
  pointwise.addDirect<onnx::CoshOp, math::CoshOp>();
  pointwise.addDirect<onnx::TanhOp, math::TanhOp>();
  pointwise.addDirect<onnx::AsinhOp, math::AsinhOp>();
  pointwise.addDirect<onnx::AcoshOp, math::AcoshOp>();
  pointwise.addDirect<onnx::AtanhOp, math::AtanhOp>();
}

//===--- Activations ------------------------------------------------------===//

/// A float attribute as a scalar of the type of x.
static Value attribute(Scalars &s, Value x, const APFloat &value) {
  return s.like(x, value.convertToFloat());
}

/// max(0, min(1, x)), NaN stays NaN.
static Value clampToOne(Scalars &s, Value x) {
  return s.max(s.min(x, s.like(x, 1)), s.like(x, 0));
}

static void addRectifiers(PointwisePatterns &pointwise) {
  pointwise.add<onnx::ReluOp>([](auto, Scalars &s, ValueRange args) {
    return s.max(args[0], s.like(args[0], 0));
  });
  pointwise.add<onnx::LeakyReluOp>(
      [](onnx::LeakyReluOp op, Scalars &s, ValueRange args) {
        Value x = args[0];
        Value negative = s.compare(Compare::Less, x, s.like(x, 0));
        return s.select(negative, s.mul(attribute(s, x, op.getAlpha()), x), x);
      });
  pointwise.add<onnx::PReluOp>([](auto, Scalars &s, ValueRange args) {
    Value x = args[0];
    Value negative = s.compare(Compare::Less, x, s.like(x, 0));
    return s.select(negative, s.mul(args[1], x), x);
  });
  pointwise.add<onnx::ThresholdedReluOp>(
      [](onnx::ThresholdedReluOp op, Scalars &s, ValueRange args) {
        Value x = args[0];
        Value alpha = attribute(s, x, op.getAlpha());
        return s.select(s.compare(Compare::Greater, x, alpha), x, s.like(x, 0));
      });
  pointwise.add<onnx::EluOp>([](onnx::EluOp op, Scalars &s, ValueRange args) {
    Value x = args[0];
    Value below = s.mul(attribute(s, x, op.getAlpha()), s.expMinusOne(x));
    return s.select(s.compare(Compare::Greater, x, s.like(x, 0)), x, below);
  });
  pointwise.add<onnx::CeluOp>([](onnx::CeluOp op, Scalars &s, ValueRange args) {
    Value x = args[0], zero = s.like(x, 0);
    Value alpha = attribute(s, x, op.getAlpha());
    Value below = s.mul(alpha, s.expMinusOne(s.div(x, alpha)));
    return s.add(s.max(x, zero), s.min(below, zero));
  });
  pointwise.add<onnx::SeluOp>([](onnx::SeluOp op, Scalars &s, ValueRange args) {
    Value x = args[0];
    Value below = s.mul(attribute(s, x, op.getAlpha()), s.expMinusOne(x));
    Value positive = s.compare(Compare::Greater, x, s.like(x, 0));
    return s.mul(attribute(s, x, op.getGamma()), s.select(positive, x, below));
  });
  pointwise.add<onnx::ShrinkOp>(
      [](onnx::ShrinkOp op, Scalars &s, ValueRange args) {
        // The attributes are floats also where x is an integer.
        Type type = args[0].getType();
        bool isUnsigned = onnx::getElementType(op.getX()).isUnsignedInteger();
        Value x = isa<FloatType>(type)
                      ? args[0]
                      : s.convert(args[0], s.getBuilder().getF64Type(), false);
        Value bias = attribute(s, x, op.getBias());
        Value lambd = attribute(s, x, op.getLambd());
        Value low = s.compare(Compare::Less, x, s.negate(lambd));
        Value high = s.compare(Compare::Greater, x, lambd);
        Value result = s.select(high, s.sub(x, bias), s.like(x, 0));
        result = s.select(low, s.add(x, bias), result);
        return s.convert(result, type, isUnsigned);
      });
}

static void addSigmoids(PointwisePatterns &pointwise) {
  pointwise.add<onnx::SigmoidOp>(
      [](auto, Scalars &s, ValueRange args) { return s.sigmoid(args[0]); });
  pointwise.add<onnx::HardSigmoidOp>(
      [](onnx::HardSigmoidOp op, Scalars &s, ValueRange args) {
        Value x = args[0];
        Value line = s.add(s.mul(attribute(s, x, op.getAlpha()), x),
                           attribute(s, x, op.getBeta()));
        return clampToOne(s, line);
      });
  pointwise.add<onnx::HardSwishOp>([](auto, Scalars &s, ValueRange args) {
    Value x = args[0];
    Value line = s.add(s.div(x, s.like(x, 6)), s.like(x, 0.5));
    return s.mul(x, clampToOne(s, line));
  });
  pointwise.add<onnx::SwishOp>(
      [](onnx::SwishOp op, Scalars &s, ValueRange args) {
        Value x = args[0];
        return s.mul(x, s.sigmoid(s.mul(attribute(s, x, op.getAlpha()), x)));
      });
  pointwise.add<onnx::MishOp>([](auto, Scalars &s, ValueRange args) {
    return s.mul(args[0], s.tanh(s.softplus(args[0])));
  });
  pointwise.add<onnx::SoftplusOp>(
      [](auto, Scalars &s, ValueRange args) { return s.softplus(args[0]); });
  pointwise.add<onnx::SoftsignOp>([](auto, Scalars &s, ValueRange args) {
    Value x = args[0];
    return s.div(x, s.add(s.like(x, 1), s.absolute(x)));
  });
  pointwise.add<onnx::GeluOp>([](onnx::GeluOp op, Scalars &s, ValueRange args) {
    Value x = args[0], inner;
    if (op.getApproximate() == "tanh") {
      Value cube = s.mul(s.mul(x, x), x);
      Value sum = s.add(x, s.mul(s.like(x, 0.044715), cube));
      inner = s.tanh(s.mul(s.like(x, std::sqrt(2 / M_PI)), sum));
    } else {
      inner = s.create<math::ErfOp>(s.mul(x, s.like(x, M_SQRT1_2)));
    }
    return s.mul(s.mul(s.like(x, 0.5), x), s.add(s.like(x, 1), inner));
  });
}

void onnx_aot::populateOnnxToLinalgElementwisePatterns(
    const LoweringContext &lowering, RewritePatternSet &patterns) {
  PointwisePatterns pointwise{lowering, patterns};
  addArithmetic(pointwise);
  addFunctions(pointwise);
  addRectifiers(pointwise);
  addSigmoids(pointwise);
  patterns.add<LowerClip, LowerIdentity>(lowering, patterns.getContext());
}

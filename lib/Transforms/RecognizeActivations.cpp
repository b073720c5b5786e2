//===- RecognizeActivations.cpp - activations as exporters write them -----===//
//
// Exporters spell activations as products in any order: x * 0.5 * (1 +
// erf(...)), (x * (1 + erf(...))) * 0.5, ... A product is flattened to one
// number and a list of factors before it is compared.
//
//===----------------------------------------------------------------------===//

#include "TransformUtils.h"
#include "onnx-aot/Transforms/Passes.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#include <cmath>

using namespace mlir;
using namespace onnx_aot;
using namespace onnx_aot::onnx;

namespace onnx_aot {
#define GEN_PASS_DEF_RECOGNIZEACTIVATIONS
#include "onnx-aot/Transforms/Passes.h.inc"
} // namespace onnx_aot

//===--- Products and sums ------------------------------------------------===//

namespace {
/// coefficient * factors[0] * factors[1] * ...
struct Product {
  double coefficient = 1;
  SmallVector<Value> factors;
};
} // namespace

/// Products of activations have at most this many factors, numbers included.
static constexpr unsigned kMaxDepth = 8;
static constexpr size_t kMaxFactors = 6;

/// Multiplies the value into the product, looking through Mul, and Div by a
/// number. False where it has too many factors to be an activation.
static bool flatten(Value value, Product &product, unsigned depth = 0) {
  if (product.factors.size() > kMaxFactors || depth > kMaxDepth)
    return false;
  if (std::optional<double> number = getSplatNumber(value)) {
    product.coefficient *= *number;
    return true;
  }
  if (auto mul = value.getDefiningOp<MulOp>())
    return flatten(mul.getA(), product, depth + 1) &&
           flatten(mul.getB(), product, depth + 1);
  if (auto div = value.getDefiningOp<DivOp>())
    if (std::optional<double> number = getSplatNumber(div.getB())) {
      product.coefficient /= *number;
      return flatten(div.getA(), product, depth + 1);
    }
  product.factors.push_back(value);
  return true;
}

static std::optional<Product> getProduct(Value value) {
  Product product;
  if (!flatten(value, product))
    return std::nullopt;
  return product;
}

/// Equal but for the rounding of a decimal to the element type. A number given
/// with fewer digits (0.7071 for 1 / sqrt 2) is another function.
static bool isNear(double number, double expected) {
  return std::fabs(number - expected) <= 1e-6 * std::fabs(expected);
}

/// The other operand of number + value.
static Value getAddend(Value sum, double number) {
  auto add = sum.getDefiningOp<AddOp>();
  if (!add)
    return {};
  for (unsigned side : {0, 1}) {
    std::optional<double> found = getSplatNumber(add->getOperand(side));
    if (found && isNear(*found, number))
      return add->getOperand(1 - side);
  }
  return {};
}

/// Whether the value is coefficient * x^power.
static bool isMonomial(Value value, double coefficient, Value x, size_t power) {
  std::optional<Product> product = getProduct(value);
  return product && isNear(product->coefficient, coefficient) &&
         product->factors.size() == power &&
         llvm::all_of(product->factors,
                      [&](Value factor) { return factor == x; });
}

//===--- Gelu -------------------------------------------------------------===//

/// x, where the value is 1 + erf(x / sqrt 2).
static Value matchErfGate(Value value) {
  Value inner = getAddend(value, 1);
  auto erf = inner ? inner.getDefiningOp<ErfOp>() : ErfOp();
  std::optional<Product> argument = erf ? getProduct(erf.getX()) : std::nullopt;
  if (!argument || argument->factors.size() != 1 ||
      !isNear(argument->coefficient, std::sqrt(0.5)))
    return {};
  return argument->factors[0];
}

/// x, where the value is 1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)), or
/// 1 + tanh(sqrt(2 / pi) * x * (1 + 0.044715 * x^2)).
static Value matchTanhGate(Value value) {
  Value inner = getAddend(value, 1);
  auto tanh = inner ? inner.getDefiningOp<TanhOp>() : TanhOp();
  std::optional<Product> argument =
      tanh ? getProduct(tanh.getX()) : std::nullopt;
  if (!argument || !isNear(argument->coefficient, std::sqrt(2 / M_PI)))
    return {};
  if (argument->factors.size() == 1) {
    auto add = argument->factors[0].getDefiningOp<AddOp>();
    if (!add)
      return {};
    if (isMonomial(add.getB(), 0.044715, add.getA(), 3))
      return add.getA();
    return isMonomial(add.getA(), 0.044715, add.getB(), 3) ? add.getB()
                                                           : Value();
  }
  if (argument->factors.size() != 2)
    return {};
  for (unsigned side : {0, 1}) {
    Value x = argument->factors[side];
    Value square = getAddend(argument->factors[1 - side], 1);
    if (square && isMonomial(square, 0.044715, x, 2))
      return x;
  }
  return {};
}

namespace {

// Pattern: 0.5 * x * (1 + Erf(x / sqrt 2)) -> Gelu(x), in any order; with the
// tanh approximation alike
struct RecognizeGelu : OpRewritePattern<MulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MulOp op,
                                PatternRewriter &rewriter) const override {
    std::optional<Product> product = getProduct(op.getResult());
    if (!product || product->factors.size() != 2 ||
        !isNear(product->coefficient, 0.5))
      return failure();
    for (unsigned side : {0, 1}) {
      Value x = product->factors[side], gate = product->factors[1 - side];
      StringRef form = matchErfGate(gate) == x    ? "none"
                       : matchTanhGate(gate) == x ? "tanh"
                                                  : "";
      if (form.empty() || !haveSameType(x, op.getResult()) ||
          !isa<FloatType>(getElementType(x)))
        continue;
      rewriter.replaceOp(op,
                         createInferred<GeluOp>(rewriter, op.getLoc(), x,
                                                rewriter.getStringAttr(form)));
      return success();
    }
    return failure();
  }
};

//===--- Gates of x -------------------------------------------------------===//

// Pattern: Mul(x, Sigmoid(x)) -> Swish(x); Mul(x, Tanh(Softplus(x))) ->
// Mish(x); Mul(x, HardSigmoid(x, 1/6, 1/2)) -> HardSwish(x)
struct RecognizeSelfGate : OpRewritePattern<MulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MulOp op,
                                PatternRewriter &rewriter) const override {
    for (unsigned side : {0, 1}) {
      Value x = op->getOperand(side), gate = op->getOperand(1 - side);
      Location loc = op.getLoc();
      if (auto sigmoid = gate.getDefiningOp<SigmoidOp>();
          sigmoid && sigmoid.getX() == x) {
        rewriter.replaceOp(
            op, createInferred<SwishOp>(rewriter, loc, x, APFloat(1.0f)));
        return success();
      }
      if (auto hard = gate.getDefiningOp<HardSigmoidOp>();
          hard && hard.getX() == x &&
          isNear(hard.getAlpha().convertToDouble(), 1.0 / 6) &&
          hard.getBeta().convertToDouble() == 0.5) {
        rewriter.replaceOp(op, createInferred<HardSwishOp>(rewriter, loc, x));
        return success();
      }
      auto tanh = gate.getDefiningOp<TanhOp>();
      auto softplus =
          tanh ? tanh.getX().getDefiningOp<SoftplusOp>() : SoftplusOp();
      if (softplus && softplus.getX() == x) {
        rewriter.replaceOp(op, createInferred<MishOp>(rewriter, loc, x));
        return success();
      }
    }
    return failure();
  }
};

struct RecognizeActivations
    : onnx_aot::impl::RecognizeActivationsBase<RecognizeActivations> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<RecognizeGelu, RecognizeSelfGate>(&getContext());
    (void)applyPatternsGreedily(getOperation(), std::move(patterns));
    if (failed(inferAllTypes(getOperation())))
      signalPassFailure();
  }
};
} // namespace

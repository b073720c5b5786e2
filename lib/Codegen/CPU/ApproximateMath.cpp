//===- ApproximateMath.cpp - elementary functions as arithmetic -----------===//

#include "ElementaryFunctions.h"

#include "onnx-aot/Codegen/CPU/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#include <cmath>

using namespace mlir;
using namespace onnx_aot;
using onnx_aot::cpu::ElementaryFunctions;

namespace onnx_aot {
#define GEN_PASS_DEF_APPROXIMATEMATH
#include "onnx-aot/Codegen/CPU/Passes.h.inc"
} // namespace onnx_aot

/// Whether every element is this constant, up to rounding.
static bool isConstant(Value value, double wanted) {
  if (auto broadcast = value.getDefiningOp<vector::BroadcastOp>())
    return isConstant(broadcast.getSource(), wanted);
  APFloat number(0.0f);
  return matchPattern(value, m_ConstantFloat(&number)) &&
         number.convertToDouble() == static_cast<float>(wanted);
}

/// The other operand of a sum or product with a constant; null where it is
/// none.
template <typename OpTy>
static Value getOperandBeside(Value value, double wanted) {
  auto op = value.getDefiningOp<OpTy>();
  if (!op)
    return {};
  if (isConstant(op.getRhs(), wanted))
    return op.getLhs();
  return isConstant(op.getLhs(), wanted) ? op.getRhs() : Value();
}

namespace {

// Pattern: f(x) -> arithmetic
template <typename OpTy, Value (ElementaryFunctions::*function)(Value)>
struct Expand : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    Type type = op.getType();
    if (!getElementTypeOrSelf(type).isF32())
      return failure();
    ElementaryFunctions functions(rewriter, op.getLoc(), type);
    rewriter.replaceOp(op, (functions.*function)(op.getOperand()));
    return success();
  }
};

// Pattern: 1 / (1 + exp(-x)) -> sigmoid(x)
struct ExpandSigmoid : OpRewritePattern<arith::DivFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::DivFOp op,
                                PatternRewriter &rewriter) const override {
    if (!getElementTypeOrSelf(op.getType()).isF32() ||
        !isConstant(op.getLhs(), 1))
      return failure();
    Value power = getOperandBeside<arith::AddFOp>(op.getRhs(), 1);
    auto exp = power ? power.getDefiningOp<math::ExpOp>() : math::ExpOp();
    auto negated =
        exp ? exp.getOperand().getDefiningOp<arith::NegFOp>() : arith::NegFOp();
    if (!negated)
      return failure();
    ElementaryFunctions functions(rewriter, op.getLoc(), op.getType());
    rewriter.replaceOp(op, functions.sigmoid(negated.getOperand()));
    return success();
  }
};

/// x of 1 + erf(x * sqrt(1/2)), or null.
static Value getNormalArgument(Value value) {
  Value other = getOperandBeside<arith::AddFOp>(value, 1);
  auto erf = other ? other.getDefiningOp<math::ErfOp>() : math::ErfOp();
  if (!erf)
    return {};
  return getOperandBeside<arith::MulFOp>(erf.getOperand(), M_SQRT1_2);
}

// Pattern: 1 + erf(x * sqrt(1/2)) -> twice the normal distribution's function
struct ExpandNormal : OpRewritePattern<arith::AddFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::AddFOp op,
                                PatternRewriter &rewriter) const override {
    Value x = getElementTypeOrSelf(op.getType()).isF32()
                  ? getNormalArgument(op.getResult())
                  : Value();
    if (!x)
      return failure();
    ElementaryFunctions functions(rewriter, op.getLoc(), op.getType());
    rewriter.replaceOp(op, functions.twiceNormal(x));
    return success();
  }
};

// Pattern: x / 2 * (1 + erf(x * sqrt(1/2))) -> gelu(x)
struct ExpandGelu : OpRewritePattern<arith::MulFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::MulFOp op,
                                PatternRewriter &rewriter) const override {
    if (!getElementTypeOrSelf(op.getType()).isF32())
      return failure();
    for (auto [half, sum] : {std::pair(op.getLhs(), op.getRhs()),
                             std::pair(op.getRhs(), op.getLhs())}) {
      Value x = getNormalArgument(sum);
      if (!x || getOperandBeside<arith::MulFOp>(half, 0.5) != x)
        continue;
      ElementaryFunctions functions(rewriter, op.getLoc(), op.getType());
      rewriter.replaceOp(op, functions.gelu(x));
      return success();
    }
    return failure();
  }
};

struct ApproximateMath : onnx_aot::impl::ApproximateMathBase<ApproximateMath> {
  void runOnOperation() override {
    MLIRContext *context = &getContext();
    // What is made of several functions goes first, the largest before all.
    RewritePatternSet largest(context), composites(context), single(context);
    largest.add<ExpandGelu>(context);
    composites.add<ExpandSigmoid, ExpandNormal>(context);
    single.add<Expand<math::ExpOp, &ElementaryFunctions::exp>,
               Expand<math::LogOp, &ElementaryFunctions::log>,
               Expand<math::TanhOp, &ElementaryFunctions::tanh>,
               Expand<math::ErfOp, &ElementaryFunctions::erf>>(context);
    if (failed(applyPatternsGreedily(getOperation(), std::move(largest))) ||
        failed(applyPatternsGreedily(getOperation(), std::move(composites))) ||
        failed(applyPatternsGreedily(getOperation(), std::move(single))))
      signalPassFailure();
  }
};

} // namespace

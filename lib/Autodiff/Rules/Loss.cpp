//===- Loss.cpp - gradients of losses -------------------------------------===//

#include "Rules.h"

using namespace mlir;
using namespace onnx_aot;
using namespace onnx_aot::onnx;

namespace {

/// loss = -sum or mean of weight[target] input[target], whichever op has it.
struct NegativeLogLikelihood {
  Value input, target, weight, loss;
  std::optional<int64_t> ignoreIndex;
  StringRef reduction;
};

/// The gradients of input, of its shape, and of the weights. A target that is
/// no class makes the loss NaN, and gives its input no gradient.
Value gradLikelihood(const NegativeLogLikelihood &nll, Value dLoss,
                     GradientBuilder &b) {
  Value zero = b.scalar(0.0, nll.input), one = b.scalar(1.0, nll.input);
  Value target = b.cast(nll.target, b.getBuilder().getI64Type()), counts;
  if (nll.ignoreIndex) {
    counts =
        b.create<NotOp>(b.create<EqualOp>(target, b.integer(*nll.ignoreIndex)));
    target = b.where(counts, target, b.integer(0));
  }
  // A negative target would count from the end.
  Value isClass = b.create<GreaterOrEqualOp>(target, b.integer(0));
  isClass = b.create<AndOp>(isClass,
                            b.create<LessOp>(target, b.sizeOf(nll.input, 1)));
  target = b.where(isClass, target, b.integer(0));
  Value factor = nll.weight ? b.create<GatherOp>(nll.weight, target, 0)
                            : b.where(isClass, one, zero);
  if (counts)
    factor = b.select(counts, factor);
  Value share = dLoss;
  if (nll.reduction == "mean") {
    SmallVector<int64_t> all =
        llvm::to_vector(llvm::seq<int64_t>(0, b.getRank(target)));
    Value divisor = nll.weight || counts
                        ? b.sum(factor, all, /*keepDims=*/false)
                        : b.castLike(b.create<SizeOp>(target), nll.input);
    share = b.div(dLoss, divisor);
  }
  Value values = b.concat(
      {b.reshape(zero, b.integers({1})), b.reshape(one, b.integers({1}))});
  Value chosen = b.create<OneHotOp>(target, b.sizeOf(nll.input, 1), values, 1);
  if (nll.weight && b.isActive(nll.weight)) {
    Value x = b.sum(b.mul(chosen, nll.input), {1}, /*keepDims=*/false);
    if (nll.reduction == "mean")
      x = b.add(x, nll.loss);
    Value dFactor = b.neg(b.mul(x, share));
    if (counts)
      dFactor = b.select(counts, dFactor);
    SmallVector<int64_t> others{0};
    for (int64_t axis = 2; axis < b.getRank(chosen); ++axis)
      others.push_back(axis);
    b.accumulate(nll.weight, b.sum(b.mul(chosen, b.unsqueeze(dFactor, {1})),
                                   others, /*keepDims=*/false));
  }
  Value each = b.neg(b.mul(factor, share));
  return b.mul(chosen, b.unsqueeze(each, {1}));
}

} // namespace

template <typename OpTy>
static std::optional<int64_t> getIgnoreIndex(OpTy op) {
  if (IntegerAttr attribute = op.getIgnoreIndexAttr())
    return attribute.getInt();
  return std::nullopt;
}

/// loss = -weight[target] input[target]
static LogicalResult gradNegativeLogLikelihood(NegativeLogLikelihoodLossOp op,
                                               GradientBuilder &b) {
  NegativeLogLikelihood nll{op.getInput(),      op.getTarget(),
                            op.getWeight(),     op.getLoss(),
                            getIgnoreIndex(op), op.getReduction()};
  b.accumulate(op.getInput(),
               gradLikelihood(nll, b.getGradient(op.getLoss()), b));
  return success();
}

/// log_prob = logsoftmax(scores), output = nll(log_prob)
static LogicalResult gradSoftmaxCrossEntropy(SoftmaxCrossEntropyLossOp op,
                                             GradientBuilder &b) {
  Value dLogProb = b.getGradient(op.getLogProb());
  if (Value dLoss = b.getGradient(op.getOutput())) {
    NegativeLogLikelihood nll{op.getLogProb(),    op.getLabels(),
                              op.getWeights(),    op.getOutput(),
                              getIgnoreIndex(op), op.getReduction()};
    Value own = gradLikelihood(nll, dLoss, b);
    dLogProb = dLogProb ? b.add(dLogProb, own) : own;
  }
  Value total = b.sum(dLogProb, {1}, /*keepDims=*/true);
  Value spread = b.mul(b.create<ExpOp>(op.getLogProb()), total);
  b.accumulate(op.getScores(), b.sub(dLogProb, spread));
  return success();
}

void onnx_aot::populateLossGradientRules(MLIRContext *context) {
  attachRule<NegativeLogLikelihoodLossOp, gradNegativeLogLikelihood>(context);
  attachRule<SoftmaxCrossEntropyLossOp, gradSoftmaxCrossEntropy>(context);
}

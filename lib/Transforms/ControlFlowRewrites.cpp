//===- ControlFlowRewrites.cpp - branches and loops that are decided ------===//

#include "Rewrites.h"

using namespace mlir;
using namespace onnx_aot;
using namespace onnx_aot::onnx;

namespace {

// Pattern: If(constant) -> the branch taken
struct InlineDecidedIf : OpRewritePattern<IfOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(IfOp op,
                                PatternRewriter &rewriter) const override {
    std::optional<double> condition = getSplatNumber(op.getCond());
    if (!condition)
      return failure();
    Region &branch = *condition != 0 ? op.getThenBranch() : op.getElseBranch();
    Block *body = &branch.front();
    Operation *yield = body->getTerminator();
    if (body->getNumArguments() != 0 ||
        yield->getNumOperands() != op->getNumResults())
      return failure();
    SmallVector<Value> results(yield->getOperands());
    rewriter.eraseOp(yield);
    rewriter.inlineBlockBefore(body, op);
    rewriter.replaceOp(op, results);
    return success();
  }
};

// Pattern: Loop that runs 0 times, without scan outputs -> its initial values
struct DropEmptyLoop : OpRewritePattern<LoopOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(LoopOp op,
                                PatternRewriter &rewriter) const override {
    std::optional<double> trips =
        op.getM() ? getSplatNumber(op.getM()) : std::nullopt;
    std::optional<double> condition =
        op.getCond() ? getSplatNumber(op.getCond()) : std::nullopt;
    bool isEmpty = (trips && *trips <= 0) || (condition && *condition == 0);
    if (!isEmpty || op.getVInitial().size() != op->getNumResults())
      return failure();
    rewriter.replaceOp(op, op.getVInitial());
    return success();
  }
};

// Pattern: Dropout(x) outside training, mask unused -> x
struct DropDropout : OpRewritePattern<DropoutOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(DropoutOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.getMask().use_empty())
      return failure();
    if (op.getTrainingMode() && getSplatNumber(op.getTrainingMode()) != 0.0)
      return failure();
    rewriter.replaceAllUsesWith(op.getOutput(), op.getData());
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

void onnx_aot::populateControlFlowRewrites(RewritePatternSet &patterns) {
  patterns.add<InlineDecidedIf, DropEmptyLoop, DropDropout>(
      patterns.getContext());
}

//===- AssignLayouts.cpp - channels last for convolutions -----------------===//

#include "LayoutRewrites.h"
#include "Rewrites.h"
#include "onnx-aot/Dialect/Train/IR/Train.h"
#include "onnx-aot/Transforms/Passes.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace onnx_aot;
using namespace onnx_aot::onnx;

namespace onnx_aot {
#define GEN_PASS_DEF_ASSIGNLAYOUTS
#include "onnx-aot/Transforms/Passes.h.inc"
} // namespace onnx_aot

/// An op that exists in both layouts and is still channels first.
static bool isChannelsFirst(Operation *op) {
  if (!isa<ConvOp, ConvIntegerOp, MaxPoolOp, AveragePoolOp, LpPoolOp,
           GlobalAveragePoolOp, GlobalMaxPoolOp, GlobalLpPoolOp,
           train::ConvBackwardDataOp, train::MaxPoolBackwardOp>(op) ||
      op->hasAttr("channels_last"))
    return false;
  // MaxPool's indices count elements in the order of its own layout.
  if (auto pool = dyn_cast<MaxPoolOp>(op);
      pool && !pool.getIndices().use_empty())
    return false;
  return getRank(op->getOperand(0)).value_or(0) >= 3;
}

/// A convolution whose arithmetic outweighs the transposes round it: they cost
/// about as much as 32 multiplications for each output.
static bool paysForTransposes(Operation *op) {
  bool isBackward = isa<train::ConvBackwardDataOp>(op);
  auto weight = isBackward || isa<ConvOp, ConvIntegerOp>(op)
                    ? dyn_cast<RankedTensorType>(op->getOperand(1).getType())
                    : RankedTensorType();
  if (!weight || !weight.hasStaticShape() || weight.getRank() < 3)
    return false;
  // All sizes but that of the result's channels.
  int64_t perOutput = 1;
  for (auto [axis, size] : llvm::enumerate(weight.getShape()))
    if (axis != (isBackward ? 1 : 0))
      perOutput *= size;
  if (auto backward = dyn_cast<train::ConvBackwardDataOp>(op))
    perOutput /= std::max<int64_t>(backward.getGroup(), 1);
  return perOutput >= 32;
}

/// Whether all that the value goes into, through ops that any layout
/// suits alone, is transposed to channels-last.
static bool goesToChannelsLast(Value value, unsigned depth = 0) {
  // Longer chains of pointwise ops are rare, and the answer only costs speed.
  constexpr unsigned kMaxDepth = 8;
  std::optional<int64_t> rank = getRank(value);
  if (depth > kMaxDepth || value.use_empty() || !rank)
    return false;
  return llvm::all_of(value.getUsers(), [&](Operation *user) {
    if (auto transpose = dyn_cast<TransposeOp>(user))
      return transpose.getPermutation(*rank) == getToChannelsLast(*rank);
    bool keepsLayout = isPointwise(user) || isa<DynamicQuantizeLinearOp>(user);
    return keepsLayout && getRank(user->getResult(0)) == rank &&
           goesToChannelsLast(user->getResult(0), depth + 1);
  });
}

/// The operands that have the layout of the result.
static MutableArrayRef<OpOperand> getImages(Operation *op) {
  return op->getOpOperands().take_front(isa<train::MaxPoolBackwardOp>(op) ? 3
                                                                          : 1);
}

/// Replaces the op by its channels-last form between transposes.
static void makeChannelsLast(Operation *op, PatternRewriter &rewriter) {
  Location loc = op->getLoc();
  int64_t rank = *getRank(op->getOperand(0));
  SmallVector<Value> images;
  for (OpOperand &image : getImages(op))
    images.push_back(
        createTranspose(rewriter, loc, image.get(), getToChannelsLast(rank)));
  Operation *moved = rewriter.clone(*op);
  for (auto [index, image] : llvm::enumerate(images))
    moved->setOperand(index, image);
  moved->setAttr("channels_last", rewriter.getUnitAttr());
  inferMovedTypes(moved, getToChannelsFirst(rank));
  Value output = createTranspose(rewriter, loc, moved->getResult(0),
                                 getToChannelsFirst(rank));
  rewriter.replaceAllUsesWith(op->getResult(0), output);
  rewriter.eraseOp(op);
}

namespace {

// Pattern: Conv(x) -> Transpose(Conv(Transpose(x)) {channels_last}), where the
// convolution pays for the transposes; the same for ConvInteger
template <typename OpTy>
struct SeedConvolution : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    if (!isChannelsFirst(op) || !paysForTransposes(op))
      return failure();
    makeChannelsLast(op, rewriter);
    return success();
  }
};

// Pattern: op(Transpose(x)) -> Transpose(op(x) {channels_last}), for Conv and
// the pools, where the Transpose comes from a channels-last x
struct FollowInput : RewritePattern {
  FollowInput(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/1, context) {}
  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    if (!isChannelsFirst(op))
      return failure();
    auto isLast = [](OpOperand &image) {
      auto transposed = getTransposed(image.get());
      return transposed &&
             transposed->permutation ==
                 getToChannelsFirst(transposed->permutation.size());
    };
    if (llvm::none_of(getImages(op), isLast))
      return failure();
    makeChannelsLast(op, rewriter);
    return success();
  }
};

// Pattern: ConvBackwardWeight(Transpose(x), dy) -> ConvBackwardWeight(x,
// Transpose(dy)) {channels_last}, where the Transpose comes from a
// channels-last x; the same for dy
struct FollowEitherInput : OpRewritePattern<train::ConvBackwardWeightOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(train::ConvBackwardWeightOp op,
                                PatternRewriter &rewriter) const override {
    std::optional<int64_t> rank = getRank(op.getX());
    if (op.getChannelsLast() || !rank || rank != getRank(op.getDy()))
      return failure();
    SmallVector<int64_t> last = getToChannelsLast(*rank);
    auto isLast = [&](Value value) {
      auto transposed = getTransposed(value);
      return transposed && transposed->permutation == getToChannelsFirst(*rank);
    };
    if (!isLast(op.getX()) && !isLast(op.getDy()))
      return failure();
    Value x = createTranspose(rewriter, op.getLoc(), op.getX(), last),
          dy = createTranspose(rewriter, op.getLoc(), op.getDy(), last);
    rewriter.modifyOpInPlace(op, [&] {
      op.getXMutable().assign(x);
      op.getDyMutable().assign(dy);
      op.setChannelsLast(true);
    });
    return success();
  }
};

// Pattern: Transpose(f(op(x))) -> f(op(Transpose(x)) {channels_last}), for Conv
// and the pools, where the Transpose is what a channels-last op wants
struct FollowOutput : RewritePattern {
  FollowOutput(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/1, context) {}
  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    if (!isChannelsFirst(op) || !goesToChannelsLast(op->getResult(0)))
      return failure();
    makeChannelsLast(op, rewriter);
    return success();
  }
};

struct AssignLayouts : onnx_aot::impl::AssignLayoutsBase<AssignLayouts> {
  void runOnOperation() override {
    WalkResult found = getOperation().walk([](Operation *op) {
      return isChannelsFirst(op) && paysForTransposes(op)
                 ? WalkResult::interrupt()
                 : WalkResult::advance();
    });
    // The transposes of other graphs stand where their exporters want them.
    if (found.wasInterrupted()) {
      RewritePatternSet patterns(&getContext());
      patterns.add<SeedConvolution<ConvOp>, SeedConvolution<ConvIntegerOp>,
                   SeedConvolution<train::ConvBackwardDataOp>, FollowInput,
                   FollowEitherInput, FollowOutput>(&getContext());
      populatePushTransposePatterns(patterns);
      populatePushTransposeAxisPatterns(patterns);
      populateCancelTransposePatterns(patterns);
      (void)applyPatternsGreedily(getOperation(), std::move(patterns));
    }
    RewritePatternSet patterns(&getContext());
    populateTransposeOfUnitDimsPatterns(patterns);
    populateShapeRewrites(patterns);
    (void)applyPatternsGreedily(getOperation(), std::move(patterns));
    if (failed(inferAllTypes(getOperation())))
      signalPassFailure();
  }
};
} // namespace

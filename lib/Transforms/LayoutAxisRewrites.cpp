//===- LayoutAxisRewrites.cpp - transposes past ops that name dimensions --===//
//
// See LayoutRewrites.cpp for why these terminate.
//
//===----------------------------------------------------------------------===//

#include "LayoutRewrites.h"

using namespace mlir;
using namespace onnx_aot;
using namespace onnx_aot::onnx;

/// The dimension of the source that an axis of the transposed value is.
static std::optional<int64_t> mapAxis(int64_t axis,
                                      const TransposedValue &transposed) {
  FailureOr<int64_t> normalized =
      normalizeAxis(axis, transposed.permutation.size());
  if (failed(normalized))
    return std::nullopt;
  return transposed.permutation[*normalized];
}

/// The dimensions that constant axes name; nothing when not constant.
static std::optional<SmallVector<int64_t>>
mapAxes(Value axes, const TransposedValue &transposed) {
  std::optional<SmallVector<int64_t>> given = getConstantIntegers(axes);
  if (!given)
    return std::nullopt;
  for (int64_t &axis : *given) {
    std::optional<int64_t> mapped = mapAxis(axis, transposed);
    if (!mapped)
      return std::nullopt;
    axis = *mapped;
  }
  return given;
}

/// The permutation that is left when some source dimensions are dropped.
static SmallVector<int64_t> dropDims(ArrayRef<int64_t> permutation,
                                     ArrayRef<int64_t> dropped) {
  SmallVector<int64_t> left;
  for (int64_t axis : permutation) {
    if (llvm::is_contained(dropped, axis))
      continue;
    left.push_back(axis - llvm::count_if(dropped, [&](int64_t other) {
                     return other < axis;
                   }));
  }
  return left;
}

/// Replaces all results of an op by transposes of those of another.
static void replaceWithTransposed(PatternRewriter &rewriter, Operation *op,
                                  Operation *moved,
                                  ArrayRef<int64_t> permutation) {
  SmallVector<Value> results;
  for (Value result : moved->getResults())
    results.push_back(
        createTranspose(rewriter, op->getLoc(), result, permutation));
  rewriter.replaceOp(op, results);
}

/// A copy of the op on the transposed value's source, types not yet right.
template <typename OpTy>
static OpTy cloneOnSource(PatternRewriter &rewriter, OpTy op,
                          const TransposedValue &transposed) {
  auto moved = cast<OpTy>(rewriter.clone(*op.getOperation()));
  moved->setOperand(0, transposed.source);
  return moved;
}

namespace {

// Pattern: Softmax(Transpose(x)) -> Transpose(Softmax(x)) along the moved axis;
// the same for LogSoftmax and Hardmax
template <typename OpTy>
struct PushThroughAlongAxis : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    std::optional<TransposedValue> transposed = getTransposed(op.getX());
    std::optional<int64_t> axis =
        transposed ? mapAxis(op.getAxis(), *transposed) : std::nullopt;
    if (!axis)
      return failure();
    OpTy moved = cloneOnSource(rewriter, op, *transposed);
    moved.setAxis(*axis);
    inferMovedTypes(moved, transposed->permutation);
    replaceWithTransposed(rewriter, op, moved, transposed->permutation);
    return success();
  }
};

// Pattern: Split(Transpose(x)) -> Transpose(Split(x)) along the moved axis
struct PushThroughSplit : OpRewritePattern<SplitOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SplitOp op,
                                PatternRewriter &rewriter) const override {
    std::optional<TransposedValue> transposed = getTransposed(op.getInput());
    std::optional<int64_t> axis =
        transposed ? mapAxis(op.getAxis(), *transposed) : std::nullopt;
    if (!axis)
      return failure();
    SplitOp moved = cloneOnSource(rewriter, op, *transposed);
    moved.setAxis(*axis);
    inferMovedTypes(moved, transposed->permutation);
    replaceWithTransposed(rewriter, op, moved, transposed->permutation);
    return success();
  }
};

// Pattern: Concat(Transpose(x), Transpose(y)) -> Transpose(Concat(x, y)), also
// when a minority of the operands is not transposed
struct PushThroughConcat : OpRewritePattern<ConcatOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ConcatOp op,
                                PatternRewriter &rewriter) const override {
    std::optional<TransposedValue> model;
    for (Value input : op.getInputs())
      if (!model)
        model = getTransposed(input);
    std::optional<int64_t> axis =
        model ? mapAxis(op.getAxis(), *model) : std::nullopt;
    if (!axis)
      return failure();
    size_t matching = 0;
    for (Value input : op.getInputs()) {
      if (getRank(input) != static_cast<int64_t>(model->permutation.size()))
        return failure();
      auto transposed = getTransposed(input);
      matching += transposed && transposed->permutation == model->permutation;
    }
    // A strict majority: its inverse on the others cannot have one.
    if (2 * matching <= op.getInputs().size())
      return failure();
    SmallVector<Value> inputs;
    for (Value input : op.getInputs()) {
      auto transposed = getTransposed(input);
      bool matches =
          transposed && transposed->permutation == model->permutation;
      inputs.push_back(matches ? transposed->source
                               : createTranspose(rewriter, op.getLoc(), input,
                                                 invert(model->permutation)));
    }
    auto moved =
        ConcatOp::create(rewriter, op.getLoc(), op.getType(), inputs, *axis);
    inferMovedTypes(moved, model->permutation);
    replaceWithTransposed(rewriter, op, moved, model->permutation);
    return success();
  }
};

// Pattern: ReduceMean(Transpose(x), axes) -> Transpose(ReduceMean(x, axes'));
// the Transpose loses the dimensions that the reduction drops. All Reduce* ops
// alike.
struct PushThroughReduction : RewritePattern {
  PushThroughReduction(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/1, context) {}

  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    if (!isa<ReduceSumOp, ReduceMeanOp, ReduceMaxOp, ReduceMinOp, ReduceProdOp,
             ReduceL1Op, ReduceL2Op, ReduceLogSumOp, ReduceLogSumExpOp,
             ReduceSumSquareOp>(op) ||
        op->getNumOperands() != 2)
      return failure();
    std::optional<TransposedValue> transposed =
        getTransposed(op->getOperand(0));
    if (!transposed)
      return failure();
    auto axes = mapAxes(op->getOperand(1), *transposed);
    auto keepdims = op->getAttrOfType<IntegerAttr>("keepdims");
    if (!axes || axes->empty())
      return failure();
    bool keeps = !keepdims || keepdims.getInt() != 0;
    Location loc = op->getLoc();
    Value newAxes = createIntegers(rewriter, loc, *axes);
    Operation *moved = rewriter.clone(*op);
    moved->setOperands({transposed->source, newAxes});
    SmallVector<int64_t> permutation =
        keeps ? transposed->permutation
              : dropDims(transposed->permutation, *axes);
    inferMovedTypes(moved, permutation);
    replaceWithTransposed(rewriter, op, moved, permutation);
    return success();
  }
};

// Pattern: Squeeze(Transpose(x), axes) -> Transpose(Squeeze(x, axes'))
struct PushThroughSqueeze : OpRewritePattern<SqueezeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SqueezeOp op,
                                PatternRewriter &rewriter) const override {
    std::optional<TransposedValue> transposed = getTransposed(op.getData());
    if (!transposed || !op.getAxes())
      return failure();
    auto axes = mapAxes(op.getAxes(), *transposed);
    if (!axes)
      return failure();
    SmallVector<int64_t> permutation = dropDims(transposed->permutation, *axes);
    auto moved = SqueezeOp::create(
        rewriter, op.getLoc(), op.getType(), transposed->source,
        createIntegers(rewriter, op.getLoc(), *axes));
    inferMovedTypes(moved, permutation);
    replaceWithTransposed(rewriter, op, moved, permutation);
    return success();
  }
};

// Pattern: Unsqueeze(Transpose(x, p), axes) -> Transpose(Unsqueeze(x, axes)),
// the new dimensions staying where they are
struct PushThroughUnsqueeze : OpRewritePattern<UnsqueezeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(UnsqueezeOp op,
                                PatternRewriter &rewriter) const override {
    std::optional<TransposedValue> transposed = getTransposed(op.getData());
    auto axes = getConstantIntegers(op.getAxes());
    std::optional<int64_t> rank = getRank(op.getResult());
    if (!transposed || !axes || !rank)
      return failure();
    for (int64_t &axis : *axes) {
      FailureOr<int64_t> normalized = normalizeAxis(axis, *rank);
      if (failed(normalized))
        return failure();
      axis = *normalized;
    }
    // Positions of the old dimensions among the new ones.
    SmallVector<int64_t> old;
    for (int64_t axis = 0; axis < *rank; ++axis)
      if (!llvm::is_contained(*axes, axis))
        old.push_back(axis);
    if (old.size() != transposed->permutation.size())
      return failure();
    auto permutation = llvm::to_vector(llvm::seq<int64_t>(0, *rank));
    for (auto [index, axis] : llvm::enumerate(transposed->permutation))
      permutation[old[index]] = old[axis];
    auto moved = UnsqueezeOp::create(
        rewriter, op.getLoc(), op.getType(), transposed->source,
        createIntegers(rewriter, op.getLoc(), *axes));
    inferMovedTypes(moved, permutation);
    replaceWithTransposed(rewriter, op, moved, permutation);
    return success();
  }
};

// Pattern: Slice(Transpose(x), axes) -> Transpose(Slice(x, axes'))
struct PushThroughSlice : OpRewritePattern<SliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SliceOp op,
                                PatternRewriter &rewriter) const override {
    std::optional<TransposedValue> transposed = getTransposed(op.getData());
    std::optional<SmallVector<int64_t>> axes = op.getSlicedAxes();
    if (!transposed || !axes)
      return failure();
    for (int64_t &axis : *axes)
      axis = transposed->permutation[axis];
    auto moved = SliceOp::create(
        rewriter, op.getLoc(), op.getType(), transposed->source, op.getStarts(),
        op.getEnds(), createIntegers(rewriter, op.getLoc(), *axes),
        op.getSteps());
    inferMovedTypes(moved, transposed->permutation);
    replaceWithTransposed(rewriter, op, moved, transposed->permutation);
    return success();
  }
};

// Pattern: Pad(Transpose(x), pads) -> Transpose(Pad(x, pads'))
struct PushThroughPad : OpRewritePattern<PadOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(PadOp op,
                                PatternRewriter &rewriter) const override {
    std::optional<TransposedValue> transposed = getTransposed(op.getData());
    auto pads = getConstantIntegers(op.getPads());
    if (!transposed || !pads || op.getAxes() ||
        pads->size() != 2 * transposed->permutation.size())
      return failure();
    SmallVector<int64_t> moved(pads->size());
    size_t rank = transposed->permutation.size();
    for (auto [index, axis] : llvm::enumerate(transposed->permutation)) {
      moved[axis] = (*pads)[index];
      moved[rank + axis] = (*pads)[rank + index];
    }
    auto padded = cloneOnSource(rewriter, op, *transposed);
    padded.getPadsMutable().assign(
        createIntegersBefore(rewriter, padded, moved));
    inferMovedTypes(padded, transposed->permutation);
    replaceWithTransposed(rewriter, op, padded, transposed->permutation);
    return success();
  }

private:
  static Value createIntegersBefore(PatternRewriter &rewriter, Operation *op,
                                    ArrayRef<int64_t> values) {
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPoint(op);
    return createIntegers(rewriter, op->getLoc(), values);
  }
};

// Pattern: Resize(Transpose(x), scales) -> Transpose(Resize(x, scales'))
struct PushThroughResize : OpRewritePattern<ResizeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ResizeOp op,
                                PatternRewriter &rewriter) const override {
    std::optional<TransposedValue> transposed = getTransposed(op.getX());
    if (!transposed ||
        op.getCoordinateTransformationMode() == "tf_crop_and_resize")
      return failure();
    // With axes the sizes stay in their order; without, there is one for each
    // dimension.
    SmallVector<int64_t> axes;
    if (op.getAxes()) {
      ArrayRef<int64_t> given = *op.getAxes();
      for (int64_t axis : given) {
        std::optional<int64_t> mapped = mapAxis(axis, *transposed);
        if (!mapped)
          return failure();
        axes.push_back(*mapped);
      }
    } else {
      axes = transposed->permutation;
    }
    auto moved = cast<ResizeOp>(rewriter.clone(*op.getOperation()));
    moved.getXMutable().assign(transposed->source);
    moved.getRoiMutable().clear();
    moved.setAxes(ArrayRef(axes));
    inferMovedTypes(moved, transposed->permutation);
    replaceWithTransposed(rewriter, op, moved, transposed->permutation);
    return success();
  }
};

} // namespace

void onnx_aot::populatePushTransposeAxisPatterns(RewritePatternSet &patterns) {
  patterns
      .add<PushThroughAlongAxis<SoftmaxOp>, PushThroughAlongAxis<LogSoftmaxOp>,
           PushThroughAlongAxis<HardmaxOp>, PushThroughSplit, PushThroughConcat,
           PushThroughReduction, PushThroughSqueeze, PushThroughUnsqueeze,
           PushThroughSlice, PushThroughPad, PushThroughResize>(
          patterns.getContext());
}

//===- ShapeRewrites.cpp - data movement that cancels ---------------------===//

#include "Rewrites.h"

using namespace mlir;
using namespace onnx_aot;
using namespace onnx_aot::onnx;

//===--- Reshapes ---------------------------------------------------------===//

/// True when it is known which dimensions go, and that they are 1.
static bool isSafe(SqueezeOp op) {
  std::optional<Shape> shape = getShape(op.getData());
  auto isStatic = [](Dim dim) { return dim.isStatic(); };
  if (!shape || !op.getAxes())
    return shape && llvm::all_of(*shape, isStatic);
  auto axes = getConstantIntegers(op.getAxes());
  return axes && llvm::all_of(*axes, [&](int64_t axis) {
           FailureOr<int64_t> index = normalizeAxis(axis, shape->size());
           return succeeded(index) && (*shape)[*index].isStatic(1);
         });
}

/// The operand of an op that keeps the elements in row-major order, else null.
static Value getReshapeSource(Operation *op) {
  if (!isa_and_nonnull<ReshapeOp, FlattenOp, SqueezeOp, UnsqueezeOp>(op))
    return {};
  // A squeeze also checks sizes that only the run knows.
  if (auto squeeze = dyn_cast<SqueezeOp>(op); squeeze && !isSafe(squeeze))
    return {};
  return op->getOperand(0);
}

/// Reshape's operand for a result shape that it can say without the input's
/// help: at most one size unknown, none of the others zero.
static std::optional<SmallVector<int64_t>> getReshapeSizes(Value result) {
  std::optional<Shape> shape = getShape(result);
  if (!shape)
    return std::nullopt;
  SmallVector<int64_t> sizes;
  unsigned unknown = 0;
  for (Dim dim : *shape) {
    if (dim.isStatic(0))
      return std::nullopt;
    unknown += !dim.isStatic();
    sizes.push_back(dim.isStatic() ? dim.getStatic() : -1);
  }
  return unknown <= 1 ? std::optional(sizes) : std::nullopt;
}

namespace {

// Pattern: reshape(reshape(x)) -> x, where the shape is x's
// (reshape: Reshape, Flatten, Squeeze, Unsqueeze)
struct DropReshapes : RewritePattern {
  DropReshapes(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/2, context) {}
  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    for (Value source = getReshapeSource(op); source;
         source = getReshapeSource(source.getDefiningOp())) {
      if (!haveSameType(source, op->getResult(0)))
        continue;
      rewriter.replaceOp(op, source);
      return success();
    }
    return failure();
  }
};

// Pattern: reshape(reshape(x)) -> Reshape(x, constant)
struct MergeReshapes : RewritePattern {
  MergeReshapes(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/1, context) {}
  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    Value inner = getReshapeSource(op);
    Value source = inner ? getReshapeSource(inner.getDefiningOp()) : Value();
    if (!source)
      return failure();
    auto sizes = getReshapeSizes(op->getResult(0));
    if (!sizes)
      return failure();
    auto reshape = ReshapeOp::create(
        rewriter, op->getLoc(), op->getResult(0).getType(), source,
        createIntegers(rewriter, op->getLoc(), *sizes));
    rewriter.replaceOp(op, reshape.getResult());
    return success();
  }
};

// Pattern: Reshape(x, sizes computed from x's) -> Reshape(x, constant), where 0
// copies a size of x at the same position
struct SimplifyReshapeSizes : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReshapeOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getShape().getDefiningOp<ConstantOp>())
      return failure();
    std::optional<Shape> source = getShape(op.getData());
    std::optional<SmallVector<Dim>> given = getShapeValue(op.getShape());
    if (!source || !given)
      return failure();
    SmallVector<int64_t> sizes;
    for (auto [index, dim] : llvm::enumerate(*given)) {
      if (dim.isStatic() && (dim.getStatic() != 0 || !op.getAllowzero()))
        sizes.push_back(dim.getStatic());
      else if (index < source->size() && dim == (*source)[index])
        sizes.push_back(0);
      else
        return failure();
    }
    rewriter.modifyOpInPlace(op, [&] {
      op.getShapeMutable().assign(createIntegers(rewriter, op.getLoc(), sizes));
      op.setAllowzero(0);
    });
    return success();
  }
};

//===--- Transposes -------------------------------------------------------===//

static std::optional<SmallVector<int64_t>> getPermutation(TransposeOp op) {
  std::optional<int64_t> rank = getRank(op.getData());
  if (!rank)
    return std::nullopt;
  return op.getPermutation(*rank);
}

// Pattern: Transpose(x, identity) -> x
struct DropIdentityTranspose : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(TransposeOp op,
                                PatternRewriter &rewriter) const override {
    auto permutation = getPermutation(op);
    if (!permutation || !isIdentity(*permutation))
      return failure();
    rewriter.replaceOp(op, op.getData());
    return success();
  }

private:
  static bool isIdentity(ArrayRef<int64_t> permutation) {
    for (auto [index, axis] : llvm::enumerate(permutation))
      if (axis != static_cast<int64_t>(index))
        return false;
    return true;
  }
};

// Pattern: Transpose(Transpose(x, p), q) -> Transpose(x, q.p)
struct MergeTransposes : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(TransposeOp op,
                                PatternRewriter &rewriter) const override {
    auto inner = op.getData().getDefiningOp<TransposeOp>();
    if (!inner)
      return failure();
    auto outerAxes = getPermutation(op), innerAxes = getPermutation(inner);
    if (!outerAxes || !innerAxes)
      return failure();
    SmallVector<int64_t> merged;
    for (int64_t axis : *outerAxes)
      merged.push_back((*innerAxes)[axis]);
    rewriter.replaceOp(
        op, createInferred<TransposeOp>(rewriter, op.getLoc(), inner.getData(),
                                        rewriter.getDenseI64ArrayAttr(merged)));
    return success();
  }
};

//===--- Parts and wholes -------------------------------------------------===//

// Pattern: Slice(x) of all of x, forwards -> x
struct DropWholeSlice : OpRewritePattern<SliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SliceOp op,
                                PatternRewriter &rewriter) const override {
    if (!haveSameType(op.getData(), op.getResult()))
      return failure();
    // A slice of step -1 has the same shape, too.
    if (op.getSteps()) {
      auto steps = getConstantIntegers(op.getSteps());
      if (!steps ||
          llvm::any_of(*steps, [](int64_t step) { return step != 1; }))
        return failure();
    }
    rewriter.replaceOp(op, op.getData());
    return success();
  }
};

// Pattern: Expand(x) to x's own shape -> x; Tile(x) that repeats nothing -> x
template <typename OpTy>
struct DropSameShape : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    if (!haveSameType(op.getInput(), op.getResult()))
      return failure();
    rewriter.replaceOp(op, op.getInput());
    return success();
  }
};

// Pattern: f(Expand(x), y) -> f(x, y), f pointwise, where y has the size anyway
struct DropExpandBeforeBroadcast : RewritePattern {
  DropExpandBeforeBroadcast(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/1, context) {}
  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    if (!isa<AddOp, SubOp, MulOp, DivOp, MaxOp, MinOp, PowOp, EqualOp, LessOp,
             LessOrEqualOp, GreaterOp, GreaterOrEqualOp, AndOp, OrOp, WhereOp>(
            op))
      return failure();
    for (OpOperand &operand : op->getOpOperands()) {
      auto expand = operand.get().getDefiningOp<ExpandOp>();
      if (!expand || !isBroadcast(op, operand, expand.getInput()))
        continue;
      rewriter.modifyOpInPlace(op, [&] { operand.set(expand.getInput()); });
      return success();
    }
    return failure();
  }

private:
  /// Whether the op has the same result shape with `value` for one operand.
  static bool isBroadcast(Operation *op, OpOperand &replaced, Value value) {
    SmallVector<Shape> shapes;
    for (OpOperand &operand : op->getOpOperands()) {
      std::optional<Shape> shape =
          getShape(&operand == &replaced ? value : operand.get());
      if (!shape)
        return false;
      shapes.push_back(*shape);
    }
    FailureOr<Shape> result = broadcastShapes(shapes);
    std::optional<Shape> expected = getShape(op->getResult(0));
    return succeeded(result) && expected &&
           result->size() == expected->size() &&
           llvm::all_of(llvm::zip_equal(*result, *expected), [](auto dims) {
             return std::get<0>(dims) == std::get<1>(dims);
           });
  }
};

// Pattern: Pad(x) by nothing -> x
struct DropEmptyPad : OpRewritePattern<PadOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(PadOp op,
                                PatternRewriter &rewriter) const override {
    auto pads = getConstantIntegers(op.getPads());
    if (!pads || llvm::any_of(*pads, [](int64_t pad) { return pad != 0; }))
      return failure();
    rewriter.replaceOp(op, op.getData());
    return success();
  }
};

// Pattern: Concat(x, <empty>, y) -> Concat(x, y); Concat(x) -> x
struct DropEmptyConcatInputs : OpRewritePattern<ConcatOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ConcatOp op,
                                PatternRewriter &rewriter) const override {
    std::optional<int64_t> rank = getRank(op.getResult());
    FailureOr<int64_t> axis =
        rank ? normalizeAxis(op.getAxis(), *rank) : FailureOr<int64_t>();
    if (failed(axis))
      return failure();
    SmallVector<Value> kept;
    for (Value input : op.getInputs()) {
      std::optional<Shape> shape = getShape(input);
      if (!shape || static_cast<int64_t>(shape->size()) != *rank)
        return failure();
      if (!(*shape)[*axis].isStatic(0))
        kept.push_back(input);
    }
    if (kept.empty())
      kept.push_back(op.getInputs()[0]);
    if (kept.size() == 1) {
      rewriter.replaceOp(op, kept[0]);
      return success();
    }
    if (kept.size() == op.getInputs().size())
      return failure();
    rewriter.modifyOpInPlace(op, [&] { op.getInputsMutable().assign(kept); });
    return success();
  }
};

// Pattern: Concat(Split(x)) of all parts in order along the same axis -> x
struct JoinSplit : OpRewritePattern<ConcatOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ConcatOp op,
                                PatternRewriter &rewriter) const override {
    auto split = op.getInputs().empty()
                     ? SplitOp()
                     : op.getInputs()[0].getDefiningOp<SplitOp>();
    std::optional<int64_t> rank = getRank(op.getResult());
    if (!split || !rank)
      return failure();
    FailureOr<int64_t> joined = normalizeAxis(op.getAxis(), *rank);
    FailureOr<int64_t> cut = normalizeAxis(split.getAxis(), *rank);
    if (failed(joined) || failed(cut) || *joined != *cut ||
        !llvm::equal(op.getInputs(), split.getResults()))
      return failure();
    rewriter.replaceOp(op, split.getInput());
    return success();
  }
};

// Pattern: Split(x) into one part -> x
struct DropSingleSplit : OpRewritePattern<SplitOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SplitOp op,
                                PatternRewriter &rewriter) const override {
    if (op->getNumResults() != 1 ||
        !haveSameType(op.getInput(), op->getResult(0)))
      return failure();
    rewriter.replaceOp(op, op.getInput());
    return success();
  }
};

} // namespace

void onnx_aot::populateShapeRewrites(RewritePatternSet &patterns) {
  patterns.add<DropReshapes, MergeReshapes, SimplifyReshapeSizes,
               DropIdentityTranspose, MergeTransposes, DropWholeSlice,
               DropExpandBeforeBroadcast, DropSameShape<ExpandOp>,
               DropSameShape<TileOp>, DropEmptyPad, DropEmptyConcatInputs,
               JoinSplit, DropSingleSplit>(patterns.getContext());
}

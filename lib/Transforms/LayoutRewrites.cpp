//===- LayoutRewrites.cpp - transposes on their way down ------------------===//
//
// Every rewrite moves a Transpose from an op's operands to its results, so that
// it meets its inverse or the end of the graph. Termination: a Transpose moves
// downwards only. New ones above the op are made of values that are free to
// transpose, or where they are fewer than those that go, and neither starts a
// rewrite that would bring the old one back.
//
//===----------------------------------------------------------------------===//

#include "LayoutRewrites.h"
#include "ConstantEvaluators.h"

#include "onnx-aot/Dialect/Onnx/IR/Quantization.h"

using namespace mlir;
using namespace onnx_aot;
using namespace onnx_aot::onnx;

std::optional<TransposedValue> onnx_aot::getTransposed(Value value) {
  auto transpose = value.getDefiningOp<TransposeOp>();
  std::optional<int64_t> rank =
      transpose ? getRank(transpose.getData()) : std::nullopt;
  if (!rank)
    return std::nullopt;
  return TransposedValue{transpose.getData(), transpose.getPermutation(*rank)};
}

SmallVector<int64_t> onnx_aot::invert(ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> inverse(permutation.size());
  for (auto [index, axis] : llvm::enumerate(permutation))
    inverse[axis] = index;
  return inverse;
}

SmallVector<int64_t> onnx_aot::getToChannelsLast(int64_t rank) {
  SmallVector<int64_t> permutation = {0};
  for (int64_t axis = 2; axis < rank; ++axis)
    permutation.push_back(axis);
  permutation.push_back(1);
  return permutation;
}

SmallVector<int64_t> onnx_aot::getToChannelsFirst(int64_t rank) {
  return invert(getToChannelsLast(rank));
}

Value onnx_aot::createTranspose(OpBuilder &builder, Location loc, Value value,
                                ArrayRef<int64_t> permutation) {
  auto attribute = builder.getDenseI64ArrayAttr(permutation);
  if (value.getDefiningOp<ConstantOp>()) {
    // Unknown to the builder's listener: a rewriter that heard of this op would
    // visit it after its end.
    OpBuilder silent(builder.getContext());
    silent.setInsertionPoint(builder.getInsertionBlock(),
                             builder.getInsertionPoint());
    auto transpose = createInferred<TransposeOp>(silent, loc, value, attribute);
    SmallVector<ElementsAttr> results;
    LogicalResult evaluated = evaluateDataMovement(transpose, results);
    transpose.erase();
    if (succeeded(evaluated))
      return createConstant(builder, loc, results[0]);
  }
  return createInferred<TransposeOp>(builder, loc, value, attribute);
}

Type onnx_aot::getSourceType(Type transposed, ArrayRef<int64_t> permutation) {
  std::optional<Shape> shape = getShape(transposed);
  Type elementType = getElementTypeOrSelf(transposed);
  if (!shape || shape->size() != permutation.size())
    return UnrankedTensorType::get(elementType);
  Shape source(shape->size(), Dim::unknown());
  for (auto [index, axis] : llvm::enumerate(permutation))
    source[axis] = (*shape)[index];
  return getTensorType(source, elementType);
}

void onnx_aot::inferMovedTypes(Operation *moved,
                               ArrayRef<int64_t> permutation) {
  for (Value result : moved->getResults())
    result.setType(getSourceType(result.getType(), permutation));
  (void)inferAndSetResultTypes(moved);
}

bool onnx_aot::isFreeToTranspose(Value value) {
  std::optional<Shape> shape = getShape(value);
  return shape &&
         llvm::count_if(*shape, [](Dim dim) { return !dim.isStatic(1); }) <= 1;
}

//===--- Pointwise --------------------------------------------------------===//

bool onnx_aot::isPointwise(Operation *op) {
  // With one scale for all the position does not matter.
  if (isa<QuantizeLinearOp, DequantizeLinearOp>(op))
    return llvm::all_of(op->getOperands().drop_front(), isSingleElement);
  return isa<AddOp, SubOp, MulOp, DivOp, PowOp, MaxOp, MinOp, SumOp, MeanOp,
             ModOp, NegOp, AbsOp, SignOp, ReciprocalOp, CeilOp, FloorOp,
             RoundOp, ClipOp, SqrtOp, ExpOp, LogOp, ErfOp, SinOp, CosOp, TanhOp,
             ReluOp, LeakyReluOp, PReluOp, ThresholdedReluOp, EluOp, CeluOp,
             SeluOp, GeluOp, SigmoidOp, HardSigmoidOp, HardSwishOp, SwishOp,
             SoftplusOp, SoftsignOp, MishOp, CastOp, IdentityOp, EqualOp,
             GreaterOp, GreaterOrEqualOp, LessOp, LessOrEqualOp, AndOp, OrOp,
             XorOp, NotOp, WhereOp, IsNaNOp, IsInfOp>(op);
}

/// One element: broadcasts the same way in every layout.
static bool isScalar(const Shape &shape) {
  return llvm::all_of(shape, [](Dim dim) { return dim.isStatic(1); });
}

/// Whether a value of this shape has, transposed, all its dimensions of more
/// than one element in the same order: broadcast per channel and sample, as
/// what spreads a gradient over an image.
static bool keepsOrder(const Shape &shape, ArrayRef<int64_t> permutation) {
  int64_t last = -1, missing = permutation.size() - shape.size();
  for (int64_t axis : permutation) {
    if (axis < missing || shape[axis - missing].isStatic(1))
      continue;
    if (axis < last)
      return false;
    last = axis;
  }
  return true;
}

/// Whether an operand can be brought into the layout before the permutation at
/// no cost. `mayInsert` allows a Transpose that moves no element.
static bool canUntranspose(Value operand, const TransposedValue &pushed,
                           bool mayInsert) {
  if (std::optional<TransposedValue> transposed = getTransposed(operand))
    if (transposed->permutation == pushed.permutation)
      return true;
  int64_t rank = pushed.permutation.size();
  std::optional<Shape> shape = getShape(operand);
  if (!shape || static_cast<int64_t>(shape->size()) > rank)
    return false;
  if (isScalar(*shape))
    return true;
  if (operand.getDefiningOp<ConstantOp>())
    return ConstantData::get(operand).has_value();
  if (!mayInsert)
    return false;
  return isFreeToTranspose(operand) ||
         keepsOrder(*shape, invert(pushed.permutation));
}

/// The operand in that layout; canUntranspose() must hold.
static Value untranspose(OpBuilder &builder, Location loc, Value operand,
                         const TransposedValue &pushed) {
  if (std::optional<TransposedValue> transposed = getTransposed(operand))
    if (transposed->permutation == pushed.permutation)
      return transposed->source;
  int64_t rank = pushed.permutation.size();
  Shape shape = *getShape(operand);
  if (isScalar(shape))
    return operand;
  // Broadcasting aligns the last dimensions: name the missing first ones.
  Value aligned = operand;
  int64_t missing = rank - static_cast<int64_t>(shape.size());
  auto constant = operand.getDefiningOp<ConstantOp>();
  if (missing > 0 && constant) {
    SmallVector<int64_t> sizes(missing, 1);
    llvm::append_range(sizes, cast<ShapedType>(operand.getType()).getShape());
    aligned = createConstant(builder, loc,
                             reshapeConstant(constant.getValue(), sizes));
  } else if (missing > 0) {
    auto axes = llvm::to_vector(llvm::seq<int64_t>(0, missing));
    aligned = createInferred<UnsqueezeOp>(builder, loc, operand,
                                          createIntegers(builder, loc, axes));
  }
  return createTranspose(builder, loc, aligned, invert(pushed.permutation));
}

namespace {

// Pattern: f(Transpose(x, p), y) -> Transpose(f(x, Transpose(y, 1/p)), p), f
// pointwise, y a constant, transposed by p too, or free to transpose
struct PushThroughPointwise : RewritePattern {
  PushThroughPointwise(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/1, context) {}

  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    if (!isPointwise(op))
      return failure();
    std::optional<int64_t> rank = getRank(op->getResult(0));
    for (Value operand : op->getOperands()) {
      std::optional<TransposedValue> pushed = getTransposed(operand);
      if (!pushed || !rank ||
          *rank != static_cast<int64_t>(pushed->permutation.size()))
        continue;
      if (succeeded(push(op, *pushed, rewriter)))
        return success();
    }
    return failure();
  }

private:
  static LogicalResult push(Operation *op, const TransposedValue &pushed,
                            PatternRewriter &rewriter) {
    // A free transpose may not make others, or the two would go round in
    // circles.
    std::optional<Shape> source = getShape(pushed.source);
    bool mayInsert = source && !isFreeToTranspose(pushed.source) &&
                     !keepsOrder(*source, pushed.permutation);
    SmallVector<OpOperand *> changed;
    for (OpOperand &operand : op->getOpOperands()) {
      // Clip's bounds are scalars in any layout.
      if (isa<ClipOp>(op) && operand.getOperandNumber() > 0)
        continue;
      if (!canUntranspose(operand.get(), pushed, mayInsert))
        return failure();
      changed.push_back(&operand);
    }
    SmallVector<Value> operands(op->getOperands());
    for (OpOperand *operand : changed)
      operands[operand->getOperandNumber()] =
          untranspose(rewriter, op->getLoc(), operand->get(), pushed);
    Operation *moved = rewriter.clone(*op);
    moved->setOperands(operands);
    inferMovedTypes(moved, pushed.permutation);
    rewriter.replaceOp(op, createTranspose(rewriter, op->getLoc(),
                                           moved->getResult(0),
                                           pushed.permutation));
    return success();
  }
};

// Pattern: DynamicQuantizeLinear(Transpose(x)) -> Transpose of its numbers; the
// range of all elements, and so scale and zero point, is that of x
struct PushThroughDynamicQuantize : OpRewritePattern<DynamicQuantizeLinearOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(DynamicQuantizeLinearOp op,
                                PatternRewriter &rewriter) const override {
    std::optional<TransposedValue> pushed = getTransposed(op.getX());
    if (!pushed)
      return failure();
    auto moved = cast<DynamicQuantizeLinearOp>(rewriter.clone(*op));
    moved.getXMutable().assign(pushed->source);
    moved.getY().setType(
        getSourceType(op.getY().getType(), pushed->permutation));
    (void)inferAndSetResultTypes(moved);
    Value numbers = createTranspose(rewriter, op.getLoc(), moved.getY(),
                                    pushed->permutation);
    rewriter.replaceOp(op, {numbers, moved.getYScale(), moved.getYZeroPoint()});
    return success();
  }
};

//===--- Cancelling -------------------------------------------------------===//

// Pattern: Transpose(Transpose(x, p), q) -> Transpose(x, q.p), or x
struct CancelTransposes : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(TransposeOp op,
                                PatternRewriter &rewriter) const override {
    auto outer = getTransposed(op.getResult());
    if (!outer)
      return failure();
    SmallVector<int64_t> merged = outer->permutation;
    Value source = outer->source;
    if (auto inner = getTransposed(source)) {
      for (int64_t &axis : merged)
        axis = inner->permutation[axis];
      source = inner->source;
    }
    if (llvm::equal(merged, llvm::seq<int64_t>(0, merged.size()))) {
      rewriter.replaceOp(op, source);
      return success();
    }
    if (source == outer->source)
      return failure();
    rewriter.replaceOp(op,
                       createTranspose(rewriter, op.getLoc(), source, merged));
    return success();
  }
};

// Pattern: Transpose(x) that moves only dimensions of size 1
//          -> Unsqueeze(Squeeze(x))
struct TransposeOfUnitDims : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(TransposeOp op,
                                PatternRewriter &rewriter) const override {
    auto transposed = getTransposed(op.getResult());
    std::optional<Shape> shape = getShape(op.getData());
    if (!transposed || !shape)
      return failure();
    SmallVector<int64_t> dropped, added;
    int64_t last = -1;
    for (auto [index, axis] : llvm::enumerate(transposed->permutation)) {
      if ((*shape)[axis].isStatic(1)) {
        added.push_back(index);
        continue;
      }
      if (axis < last)
        return failure();
      last = axis;
    }
    if (added.empty())
      return failure();
    for (auto [index, dim] : llvm::enumerate(*shape))
      if (dim.isStatic(1))
        dropped.push_back(index);
    Location loc = op.getLoc();
    Value squeezed = createInferred<SqueezeOp>(
        rewriter, loc, op.getData(), createIntegers(rewriter, loc, dropped));
    rewriter.replaceOp(
        op, createInferred<UnsqueezeOp>(rewriter, loc, squeezed,
                                        createIntegers(rewriter, loc, added)));
    return success();
  }
};

} // namespace

void onnx_aot::populatePushTransposePatterns(RewritePatternSet &patterns) {
  patterns.add<PushThroughPointwise, PushThroughDynamicQuantize>(
      patterns.getContext());
}

void onnx_aot::populateCancelTransposePatterns(RewritePatternSet &patterns) {
  patterns.add<CancelTransposes>(patterns.getContext());
}

void onnx_aot::populateTransposeOfUnitDimsPatterns(
    RewritePatternSet &patterns) {
  patterns.add<TransposeOfUnitDims>(patterns.getContext());
}

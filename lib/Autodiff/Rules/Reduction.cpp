//===- Reduction.cpp - gradients of reductions and scans ------------------===//

#include "Rules.h"

using namespace mlir;
using namespace onnx_aot;
using namespace onnx_aot::onnx;

//===--- What is common to Reduce* ----------------------------------------===//

/// Whether nothing is reduced: only the elementwise part is left.
template <typename OpTy>
static bool isNoop(OpTy op) {
  if (!op.getNoopWithEmptyAxes())
    return false;
  auto shape = op.getAxes() ? getShape(op.getAxes()) : Shape();
  return !op.getAxes() ||
         (shape && shape->size() == 1 && (*shape)[0].isStatic(0));
}

/// A value of the result's shape with the reduced dimensions as size 1, so that
/// it broadcasts to the operand.
template <typename OpTy>
static Value keepDims(OpTy op, Value value, GradientBuilder &b) {
  if (op.getKeepdims() || isNoop(op))
    return value;
  std::optional<SmallVector<int64_t>> axes = getConstantIntegers(op.getAxes());
  if (!op.getAxes() || (axes && axes->empty()))
    return b.reshape(
        value, b.integers(SmallVector<int64_t>(b.getRank(op.getData()), 1)));
  if (axes)
    return b.unsqueeze(value, *axes);
  // The run tells which dimensions are left: those that a reduction leaves.
  Value kept = b.create<ReduceSumOp>(op.getData(), op.getAxes(), /*keepdims=*/1,
                                     op.getNoopWithEmptyAxes());
  return b.reshapeLike(value, kept);
}

/// The gradient of the result, broadcast to the operand.
template <typename OpTy>
static Value spread(OpTy op, GradientBuilder &b) {
  Value dy = keepDims(op, b.getGradient(op.getReduced()), b);
  return b.expandLike(dy, op.getData());
}

/// How many elements make one of the result, as a scalar of its type.
template <typename OpTy>
static Value count(OpTy op, GradientBuilder &b) {
  auto from = cast<RankedTensorType>(op.getData().getType()),
       to = cast<RankedTensorType>(op.getReduced().getType());
  if (from.hasStaticShape() && to.hasStaticShape() && to.getNumElements() != 0)
    return b.scalar(from.getNumElements() / to.getNumElements(),
                    op.getReduced());
  Value quotient =
      b.div(b.create<SizeOp>(op.getData()), b.create<SizeOp>(op.getReduced()));
  return b.castLike(quotient, op.getReduced());
}

//===--- Reduce* ----------------------------------------------------------===//

/// y = sum x
static LogicalResult gradReduceSum(ReduceSumOp op, GradientBuilder &b) {
  b.accumulate(op.getData(), spread(op, b));
  return success();
}

/// y = sum x / count
static LogicalResult gradReduceMean(ReduceMeanOp op, GradientBuilder &b) {
  b.accumulate(op.getData(), b.div(spread(op, b), count(op, b)));
  return success();
}

/// y = max x or min x: equal elements share the gradient evenly.
template <typename OpTy>
static LogicalResult gradReduceExtremum(OpTy op, GradientBuilder &b) {
  Value x = op.getData(), kept = keepDims(op, op.getReduced(), b);
  Value isTie = b.create<EqualOp>(x, kept);
  Value ties = b.sumLike(b.castLike(isTie, x), kept);
  Value share = b.div(keepDims(op, b.getGradient(op.getReduced()), b), ties);
  b.accumulate(x, b.select(isTie, share));
  return success();
}

/// For each element the product of all others along an axis.
static Value productOfOthers(Value x, int64_t axis, GradientBuilder &b) {
  Value before = b.create<CumProdOp>(x, b.integer(axis), /*exclusive=*/1);
  Value after = b.create<CumProdOp>(x, b.integer(axis), /*exclusive=*/1,
                                    /*reverse=*/1);
  return b.mul(before, after);
}

/// y = product of x, one axis after the other; exact where elements are 0.
static LogicalResult gradReduceProd(ReduceProdOp op, GradientBuilder &b) {
  Value x = op.getData(), dy = b.getGradient(op.getReduced());
  std::optional<SmallVector<int64_t>> axes =
      op.getAxes() ? getConstantIntegers(op.getAxes()) : SmallVector<int64_t>();
  if (!axes)
    return b.unsupported(op, "has no gradient for axes known at run time only");
  if (isNoop(op)) {
    b.accumulate(x, dy);
    return success();
  }
  if (axes->empty())
    axes = llvm::to_vector(llvm::seq<int64_t>(0, b.getRank(x)));
  dy = keepDims(op, dy, b);
  SmallVector<Value> partial{x};
  for (int64_t axis : *axes)
    partial.push_back(
        b.create<ReduceProdOp>(partial.back(), b.integers({axis})));
  for (auto [axis, factors] :
       llvm::reverse(llvm::zip_equal(*axes, ArrayRef(partial).drop_back())))
    dy = b.mul(dy, productOfOthers(factors, axis, b));
  b.accumulate(x, b.expandLike(dy, x));
  return success();
}

/// y = sum |x|
static LogicalResult gradReduceL1(ReduceL1Op op, GradientBuilder &b) {
  Value dy = keepDims(op, b.getGradient(op.getReduced()), b);
  Value sign = b.create<train::StopGradientOp>(b.create<SignOp>(op.getData()));
  b.accumulate(op.getData(), b.mul(dy, sign));
  return success();
}

/// y = sqrt(sum x ^ 2); 0 where y is 0
static LogicalResult gradReduceL2(ReduceL2Op op, GradientBuilder &b) {
  Value y = op.getReduced(), zero = b.scalar(0.0, y), one = b.scalar(1.0, y);
  Value isZero = b.create<EqualOp>(y, zero);
  Value quotient = b.div(b.getGradient(y), b.where(isZero, one, y));
  quotient = keepDims(op, b.where(isZero, zero, quotient), b);
  b.accumulate(op.getData(), b.mul(op.getData(), quotient));
  return success();
}

/// y = log(sum x)
static LogicalResult gradReduceLogSum(ReduceLogSumOp op, GradientBuilder &b) {
  Value y = op.getReduced();
  Value quotient = b.div(b.getGradient(y), b.create<ExpOp>(y));
  b.accumulate(op.getData(),
               b.expandLike(keepDims(op, quotient, b), op.getData()));
  return success();
}

/// y = log(sum e ^ x)
static LogicalResult gradReduceLogSumExp(ReduceLogSumExpOp op,
                                         GradientBuilder &b) {
  Value dy = keepDims(op, b.getGradient(op.getReduced()), b);
  Value y = keepDims(op, op.getReduced(), b);
  Value share = b.create<ExpOp>(b.sub(op.getData(), y));
  b.accumulate(op.getData(), b.mul(dy, share));
  return success();
}

/// y = sum x ^ 2
static LogicalResult gradReduceSumSquare(ReduceSumSquareOp op,
                                         GradientBuilder &b) {
  Value dy = keepDims(op, b.getGradient(op.getReduced()), b);
  b.accumulate(op.getData(), b.mul(op.getData(), b.mul(dy, 2.0)));
  return success();
}

//===--- Scans ------------------------------------------------------------===//

/// y = running sums: those of the gradient the other way round
static LogicalResult gradCumSum(CumSumOp op, GradientBuilder &b) {
  b.accumulate(op.getX(),
               b.create<CumSumOp>(b.getGradient(op.getY()), op.getAxis(),
                                  op.getExclusive(), !op.getReverse()));
  return success();
}

/// The slice of x that a Scan along `axis` hands to its body.
static Type getSliceType(Value x, int64_t axis) {
  Shape shape = *getShape(x);
  shape.erase(shape.begin() + axis);
  return getTensorType(shape, getElementType(x));
}

/// y = running products. With e the exclusive ones, dx_k = e_k s_k, where s is
/// a recurrence from the end: s_k = dy_k + x_{k+1} s_{k+1}; exclusively it is
/// s_k = dy_{k+1} + x_{k+1} s_{k+1}. Exact where elements are 0.
static LogicalResult gradCumProd(CumProdOp op, GradientBuilder &b) {
  Value x = op.getX(), dy = b.getGradient(op.getY());
  auto axes = getConstantIntegers(op.getAxis());
  if (!axes || axes->size() != 1)
    return b.unsupported(op,
                         "has no gradient for an axis known at run time only");
  int64_t axis = (*axes)[0] < 0 ? (*axes)[0] + b.getRank(x) : (*axes)[0];
  OpBuilder &builder = b.getBuilder();
  Value start = b.sum(x, {axis}, /*keepDims=*/false);
  start = b.zerosLike(start);
  auto list = [&](ArrayRef<int64_t> values) {
    return builder.getDenseI64ArrayAttr(values);
  };
  int64_t backwards = !op.getReverse();
  Type slice = getSliceType(x, axis);
  auto scan = ScanOp::create(builder, b.getLoc(), TypeRange{slice, x.getType()},
                             ValueRange{start, dy, x}, /*num_scan_inputs=*/2,
                             list({axis, axis}), list({backwards, backwards}),
                             list({axis}), list({backwards}));
  {
    OpBuilder::InsertionGuard guard(builder);
    Block *body =
        builder.createBlock(&scan.getBody(), {}, {slice, slice, slice},
                            {b.getLoc(), b.getLoc(), b.getLoc()});
    Value s = body->getArgument(0), dySlice = body->getArgument(1),
          xSlice = body->getArgument(2);
    Value sum = b.add(dySlice, op.getExclusive() ? b.mul(xSlice, s) : s);
    Value next = op.getExclusive() ? sum : b.mul(xSlice, sum);
    YieldOp::create(builder, b.getLoc(),
                    ValueRange{next, op.getExclusive() ? s : sum});
  }
  Value before =
      b.create<CumProdOp>(x, op.getAxis(), /*exclusive=*/1, op.getReverse());
  b.accumulate(x, b.mul(before, scan.getResult(1)));
  return success();
}

void onnx_aot::populateReductionGradientRules(MLIRContext *context) {
  attachRule<ReduceSumOp, gradReduceSum>(context);
  attachRule<ReduceMeanOp, gradReduceMean>(context);
  attachRule<ReduceMaxOp, gradReduceExtremum<ReduceMaxOp>>(context);
  attachRule<ReduceMinOp, gradReduceExtremum<ReduceMinOp>>(context);
  attachRule<ReduceProdOp, gradReduceProd>(context);
  attachRule<ReduceL1Op, gradReduceL1>(context);
  attachRule<ReduceL2Op, gradReduceL2>(context);
  attachRule<ReduceLogSumOp, gradReduceLogSum>(context);
  attachRule<ReduceLogSumExpOp, gradReduceLogSumExp>(context);
  attachRule<ReduceSumSquareOp, gradReduceSumSquare>(context);
  attachRule<CumSumOp, gradCumSum>(context);
  attachRule<CumProdOp, gradCumProd>(context);
}

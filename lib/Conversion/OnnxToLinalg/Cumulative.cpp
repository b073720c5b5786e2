//===- Cumulative.cpp - lower CumSum and CumProd --------------------------===//

#include "GenericBuilder.h"
#include "ScalarBuilder.h"

using namespace mlir;
using namespace onnx_aot;

using Compare = ScalarBuilder::Compare;

namespace {

/// A loop nest over all elements: each result is made of the one before it
/// along the axis, which the nest has visited already. The axis may be known at
/// run time only; comparisons with a constant axis fold away.
template <typename OpTy, bool isProduct>
class LowerCumulative : public OnnxLowering<OpTy> {
public:
  using OnnxLowering<OpTy>::OnnxLowering;
  LogicalResult
  matchAndRewrite(OpTy op, typename OpTy::Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value x = adaptor.getX();
    auto type = cast<RankedTensorType>(x.getType());
    auto axisType = dyn_cast<RankedTensorType>(adaptor.getAxis().getType());
    if (!axisType || !axisType.hasStaticShape())
      return this->unsupported(op, "axis that is no scalar");
    ScalarBuilder s(rewriter, loc, false);
    Value zero = s.constant(0, rewriter.getIndexType());
    Value one = s.constant(1, rewriter.getIndexType());
    Value axis = readAxis(s, adaptor.getAxis(), type.getRank());
    Value inRange = s.create<arith::AndIOp>(
        s.compare(Compare::GreaterOrEqual, axis, zero),
        s.compare(Compare::Less, axis, s.like(axis, type.getRank())));
    createCheck(rewriter, op, inRange, "the axis is out of range");

    SmallVector<OpFoldResult> sizes = getRuntimeSizes(rewriter, loc, x);
    SmallVector<Value> ends;
    for (OpFoldResult size : sizes)
      ends.push_back(getValueOrCreateConstantIndexOp(rewriter, loc, size));
    SmallVector<Value> begins(ends.size(), zero), steps(ends.size(), one);
    // Narrow floats are accumulated in f32 and rounded at the end.
    Type computeType = getComputeType(type.getElementType());
    Value neutral = s.constant(isProduct ? 1 : 0, computeType);
    Value empty = createEmpty(rewriter, loc, sizes, computeType);
    auto body = [&](OpBuilder &b, Location l, ValueRange loops,
                    ValueRange carried) -> scf::ValueVector {
      ScalarBuilder inner(b, l, false);
      Position position = locate(inner, op, loops, ends, axis);
      Value before =
          inner.create<tensor::ExtractOp>(carried[0], position.before);
      before = inner.select(position.isFirst, neutral, before);
      Value element = inner.widen(inner.create<tensor::ExtractOp>(
          x, op.getExclusive() ? position.before : position.here));
      if (op.getExclusive())
        element = inner.select(position.isFirst, neutral, element);
      Value result =
          isProduct ? inner.mul(before, element) : inner.add(before, element);
      return {
          inner.create<tensor::InsertOp>(result, carried[0], position.here)};
    };
    Value result =
        scf::buildLoopNest(rewriter, loc, begins, ends, steps, empty, body)
            .results[0];
    if (computeType != type.getElementType())
      result = createMap(rewriter, loc, sizes, type.getElementType(), {result},
                         [&](OpBuilder &b, Location l, ValueRange args) {
                           return ScalarBuilder(b, l, false)
                               .convert(args[0], type.getElementType(), false);
                         });
    rewriter.replaceOp(
        op, castToOnnxType(rewriter, loc, result, op.getY().getType()));
    return success();
  }

private:
  struct Position {
    SmallVector<Value> here, before;
    Value isFirst;
  };

  /// The axis as an index, counted from the front.
  static Value readAxis(ScalarBuilder &s, Value axis, int64_t rank) {
    Value zero = s.constant(0, s.getBuilder().getIndexType());
    int64_t axisRank = cast<RankedTensorType>(axis.getType()).getRank();
    Value element =
        s.create<tensor::ExtractOp>(axis, SmallVector<Value>(axisRank, zero));
    Value index =
        s.create<arith::IndexCastOp>(s.getBuilder().getIndexType(), element);
    Value isNegative = s.compare(Compare::Less, index, zero);
    return s.select(isNegative, s.add(index, s.like(index, rank)), index);
  }

  /// Where an iteration writes and where the one before it along the axis did.
  /// The first one of a row is told and stays within bounds.
  static Position locate(ScalarBuilder &s, OpTy op, ValueRange loops,
                         ArrayRef<Value> ends, Value axis) {
    Value zero = s.like(axis, 0), one = s.like(axis, 1);
    Position position;
    position.isFirst = s.constant(0, s.getBuilder().getI1Type());
    for (auto [dim, loop, end] : llvm::enumerate(loops, ends)) {
      Value isAxis = s.compare(Compare::Equal, axis, s.like(axis, dim));
      Value atStart = s.compare(Compare::Equal, loop, zero);
      Value previous = s.select(atStart, loop, s.sub(loop, one));
      Value here = loop;
      if (op.getReverse()) {
        Value last = s.sub(end, one);
        here = s.sub(last, loop);
        previous = s.sub(last, previous);
      }
      position.here.push_back(s.select(isAxis, here, loop));
      position.before.push_back(s.select(isAxis, previous, loop));
      position.isFirst = s.create<arith::OrIOp>(
          position.isFirst, s.create<arith::AndIOp>(isAxis, atStart));
    }
    return position;
  }
};

} // namespace

void onnx_aot::populateOnnxToLinalgCumulativePatterns(
    const LoweringContext &lowering, RewritePatternSet &patterns) {
  patterns.add<LowerCumulative<onnx::CumSumOp, false>,
               LowerCumulative<onnx::CumProdOp, true>>(lowering,
                                                       patterns.getContext());
}

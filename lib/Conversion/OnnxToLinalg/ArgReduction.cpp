//===- ArgReduction.cpp - lower ArgMax and ArgMin -------------------------===//

#include "ArgReduction.h"
#include "GenericBuilder.h"
#include "ScalarBuilder.h"

using namespace mlir;
using namespace onnx_aot;

using Compare = ScalarBuilder::Compare;

/// Whether the candidate (x, at) beats the best one so far.
static Value createIsBetter(ScalarBuilder &s, ArgRule rule, Value x, Value at,
                            Value best, Value bestAt) {
  Value better =
      s.compare(rule.smallest ? Compare::Less : Compare::Greater, x, best);
  Value equal = s.compare(Compare::Equal, x, best);
  if (isa<FloatType>(x.getType())) {
    Value isNaN = s.isNaN(x), bestIsNaN = s.isNaN(best);
    Value one = s.constant(1, isNaN.getType());
    Value onlyNaN =
        s.create<arith::AndIOp>(isNaN, s.create<arith::XOrIOp>(bestIsNaN, one));
    better = s.create<arith::OrIOp>(better, onlyNaN);
    equal = s.create<arith::OrIOp>(equal,
                                   s.create<arith::AndIOp>(isNaN, bestIsNaN));
  }
  // Positions are signed, and -1 or the greatest number before the first one.
  Value wanted = s.create<arith::CmpIOp>(
      rule.lastOfEqual ? arith::CmpIPredicate::sgt : arith::CmpIPredicate::slt,
      at, bestAt);
  return s.create<arith::OrIOp>(better, s.create<arith::AndIOp>(equal, wanted));
}

Value onnx_aot::createArgReduction(OpBuilder &builder, Location loc, Value data,
                                   int64_t axis, ArgRule rule) {
  auto type = cast<RankedTensorType>(data.getType());
  SmallVector<bool> reduced(type.getRank(), false);
  reduced[axis] = true;
  SmallVector<OpFoldResult> kept =
      getKeptSizes(getRuntimeSizes(builder, loc, data), reduced);
  ScalarBuilder s(builder, loc, rule.isUnsigned);
  ScalarBuilder positions(builder, loc, false);
  Value worst = rule.smallest ? s.highest(type.getElementType())
                              : s.lowest(type.getElementType());
  Value nowhere = rule.lastOfEqual
                      ? positions.constant(-1, builder.getI64Type())
                      : positions.highest(builder.getI64Type());
  Value bestInit = createFilled(builder, loc, kept, worst);
  Value positionInit = createFilled(builder, loc, kept, nowhere);

  SmallVector<utils::IteratorType> iterators(type.getRank(),
                                             utils::IteratorType::parallel);
  iterators[axis] = utils::IteratorType::reduction;
  AffineMap keptMap = getKeptMap(builder.getContext(), reduced);
  SmallVector<AffineMap> maps{builder.getMultiDimIdentityMap(type.getRank()),
                              keptMap, keptMap};
  auto generic = linalg::GenericOp::create(
      builder, loc, TypeRange{bestInit.getType(), positionInit.getType()}, data,
      ValueRange{bestInit, positionInit}, maps, iterators,
      [&](OpBuilder &b, Location l, ValueRange args) {
        ScalarBuilder inner(b, l, rule.isUnsigned);
        Value at = inner.create<arith::IndexCastOp>(
            b.getI64Type(), inner.create<linalg::IndexOp>(axis));
        Value better =
            createIsBetter(inner, rule, args[0], at, args[1], args[2]);
        linalg::YieldOp::create(
            b, l,
            ValueRange{inner.select(better, args[0], args[1]),
                       inner.select(better, at, args[2])});
      });
  return generic.getResult(1);
}

namespace {

template <typename OpTy, bool smallest>
struct LowerArg : OnnxLowering<OpTy> {
  using OnnxLowering<OpTy>::OnnxLowering;
  LogicalResult
  matchAndRewrite(OpTy op, typename OpTy::Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value data = adaptor.getData();
    int64_t rank = cast<RankedTensorType>(data.getType()).getRank();
    FailureOr<int64_t> axis = onnx::normalizeAxis(op.getAxis(), rank);
    if (failed(axis))
      return this->unsupported(op, "axis out of range");
    ArgRule rule;
    rule.isUnsigned = onnx::getElementType(op.getData()).isUnsignedInteger();
    rule.smallest = smallest;
    rule.lastOfEqual = op.getSelectLastIndex();
    Value result = createArgReduction(rewriter, loc, data, *axis, rule);
    SmallVector<bool> reduced(rank, false);
    reduced[*axis] = true;
    if (op.getKeepdims())
      result = expandReduced(rewriter, loc, result,
                             getRuntimeSizes(rewriter, loc, data), reduced);
    rewriter.replaceOp(
        op, castToOnnxType(rewriter, loc, result, op.getReduced().getType()));
    return success();
  }
};

} // namespace

void onnx_aot::populateOnnxToLinalgArgReductionPatterns(
    const LoweringContext &lowering, RewritePatternSet &patterns) {
  patterns.add<LowerArg<onnx::ArgMaxOp, false>, LowerArg<onnx::ArgMinOp, true>>(
      lowering, patterns.getContext());
}

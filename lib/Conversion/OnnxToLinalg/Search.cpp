//===- Search.cpp - lower OneHot, NonZero, TopK and Compress --------------===//

#include "Generate.h"
#include "ReshapeUtils.h"
#include "ScalarBuilder.h"
#include "ShapeScalars.h"

using namespace mlir;
using namespace onnx_aot;

namespace {

//===--- OneHot -----------------------------------------------------------===//

struct LowerOneHot : OnnxLowering<onnx::OneHotOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::OneHotOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value indices = adaptor.getIndices();
    int64_t rank = cast<RankedTensorType>(indices.getType()).getRank();
    int64_t axis = *onnx::normalizeAxis(op.getAxis(), rank + 1);
    IndexBuilder outside(rewriter, loc);
    Value depth = toIndex(rewriter, loc,
                          getOnlyElement(rewriter, loc, adaptor.getDepth()),
                          op.getDepth());
    createCheck(
        rewriter, op,
        outside.compare(arith::CmpIPredicate::sge, depth, outside.constant(0)),
        "depth is negative");
    checkSize(rewriter, op, adaptor.getValues(), 0, rewriter.getIndexAttr(2),
              "values must be two");
    SmallVector<Value> values(2);
    for (int64_t i : {0, 1})
      values[i] = rewriter.createOrFold<tensor::ExtractOp>(
          loc, adaptor.getValues(), ValueRange{outside.constant(i)});
    SmallVector<OpFoldResult> sizes = getRuntimeSizes(rewriter, loc, indices);
    sizes.insert(sizes.begin() + axis, getAsOpFoldResult(depth));
    GeneratedInput input{indices, {}};
    for (int64_t i = 0; i <= rank; ++i)
      if (i != axis)
        input.dims.push_back(i);
    Value result = createGenerated(
        rewriter, loc, sizes, values[0].getType(), input,
        [&](OpBuilder &b, Location l, ArrayRef<Value> at,
            ValueRange args) -> Value {
          IndexBuilder inside(b, l);
          Value index = toIndex(b, l, args[0], op.getIndices());
          index = inside.select(inside.isNegative(index),
                                inside.add(index, depth), index);
          Value hit = inside.compare(arith::CmpIPredicate::eq, index, at[axis]);
          return arith::SelectOp::create(b, l, hit, values[1], values[0]);
        });
    replaceWithCast(rewriter, op, result);
    return success();
  }

private:
  /// Any number as an index; floats lose their fraction.
  static Value toIndex(OpBuilder &builder, Location loc, Value scalar,
                       Value original) {
    bool isUnsigned = onnx::getElementType(original).isUnsignedInteger();
    if (isa<FloatType>(scalar.getType()))
      scalar = ScalarBuilder(builder, loc, false)
                   .convert(scalar, builder.getI64Type(), false);
    return IndexBuilder(builder, loc).fromInteger(scalar, isUnsigned);
  }
};

//===--- NonZero and Compress ---------------------------------------------===//

/// i1: the scalar is not zero.
Value isNonZero(OpBuilder &builder, Location loc, Value scalar) {
  Value zero = createScalarConstant(builder, loc, 0, scalar.getType());
  if (isa<FloatType>(scalar.getType()))
    return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNE,
                                 scalar, zero);
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, scalar,
                               zero);
}

/// How many elements of the first `sizes` of a tensor are not zero.
Value countNonZero(OpBuilder &builder, Location loc, Value tensor,
                   ArrayRef<OpFoldResult> sizes) {
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  return createLoopNest(
      builder, loc, sizes, zero,
      [&](OpBuilder &b, Location l, ArrayRef<Value> at,
          ValueRange carried) -> SmallVector<Value> {
        IndexBuilder inside(b, l);
        Value hit =
            isNonZero(b, l, tensor::ExtractOp::create(b, l, tensor, at));
        return {inside.add(carried[0], inside.select(hit, inside.constant(1),
                                                     inside.constant(0)))};
      })[0];
}

struct LowerNonZero : OnnxLowering<onnx::NonZeroOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::NonZeroOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value x = adaptor.getX();
    int64_t rank = cast<RankedTensorType>(x.getType()).getRank();
    SmallVector<OpFoldResult> sizes = getRuntimeSizes(rewriter, loc, x);
    Value count = countNonZero(rewriter, loc, x, sizes);
    Type i64 = rewriter.getI64Type();
    Value empty = createEmpty(
        rewriter, loc, {rewriter.getIndexAttr(rank), getAsOpFoldResult(count)},
        i64);
    Value zero = arith::ConstantIndexOp::create(rewriter, loc, 0);
    SmallVector<Value> filled = createLoopNest(
        rewriter, loc, sizes, {empty, zero},
        [&](OpBuilder &b, Location l, ArrayRef<Value> at,
            ValueRange carried) -> SmallVector<Value> {
          Value hit = isNonZero(b, l, tensor::ExtractOp::create(b, l, x, at));
          return createIf(
              b, l, hit,
              [&](OpBuilder &then, Location thenLoc) -> SmallVector<Value> {
                IndexBuilder inside(then, thenLoc);
                Value result = carried[0];
                for (auto [i, index] : llvm::enumerate(at)) {
                  Value number =
                      arith::IndexCastOp::create(then, thenLoc, i64, index);
                  result = tensor::InsertOp::create(
                      then, thenLoc, number, result,
                      ValueRange{inside.constant(i), carried[1]});
                }
                return {result, inside.add(carried[1], inside.constant(1))};
              },
              [&](OpBuilder &, Location) {
                return SmallVector<Value>(carried);
              });
        });
    replaceWithCast(rewriter, op, filled[0]);
    return success();
  }
};

struct LowerCompress : OnnxLowering<onnx::CompressOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::CompressOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value input = adaptor.getInput(), condition = adaptor.getCondition();
    int64_t axis = 0;
    if (op.getAxis())
      axis = *onnx::normalizeAxis(
          *op.getAxis(), cast<RankedTensorType>(input.getType()).getRank());
    else
      input = createFlat(rewriter, loc, input);
    IndexBuilder outside(rewriter, loc);
    SmallVector<OpFoldResult> sizes = getRuntimeSizes(rewriter, loc, input);
    // A condition may be shorter than the dimension; longer, the rest is
    // unused.
    OpFoldResult searched = getAsOpFoldResult(
        outside.min(outside.get(getRuntimeSizes(rewriter, loc, condition)[0]),
                    outside.get(sizes[axis])));
    Value count = countNonZero(rewriter, loc, condition, searched);
    Value positions = createEmpty(rewriter, loc, getAsOpFoldResult(count),
                                  rewriter.getIndexType());
    positions = createLoopNest(
        rewriter, loc, searched, {positions, outside.constant(0)},
        [&](OpBuilder &b, Location l, ArrayRef<Value> at,
            ValueRange carried) -> SmallVector<Value> {
          Value hit =
              isNonZero(b, l, tensor::ExtractOp::create(b, l, condition, at));
          return createIf(
              b, l, hit,
              [&](OpBuilder &then, Location thenLoc) -> SmallVector<Value> {
                IndexBuilder inside(then, thenLoc);
                return {tensor::InsertOp::create(then, thenLoc, at[0],
                                                 carried[0], carried[1]),
                        inside.add(carried[1], inside.constant(1))};
              },
              [&](OpBuilder &, Location) {
                return SmallVector<Value>(carried);
              });
        })[0];
    sizes[axis] = getAsOpFoldResult(count);
    Value result = createGenerated(
        rewriter, loc, sizes, getElementTypeOrSelf(input.getType()),
        GeneratedInput{positions, {axis}},
        [&](OpBuilder &b, Location l, ArrayRef<Value> at,
            ValueRange args) -> Value {
          SmallVector<Value> source(at);
          source[axis] = args[0];
          return tensor::ExtractOp::create(b, l, input, source);
        });
    replaceWithCast(rewriter, op, result);
    return success();
  }
};

//===--- TopK -------------------------------------------------------------===//

/// i1: a goes strictly before b. NaN is the greatest number of all.
Value goesBefore(OpBuilder &builder, Location loc, Value a, Value b,
                 bool largest, bool isUnsigned) {
  ScalarBuilder scalars(builder, loc, isUnsigned);
  if (!largest)
    std::swap(a, b);
  Value greater = scalars.compare(ScalarBuilder::Compare::Greater, a, b);
  if (!isa<FloatType>(a.getType()))
    return greater;
  Value truth = arith::ConstantIntOp::create(builder, loc, 1, 1);
  Value onlyFirst = arith::AndIOp::create(
      builder, loc, scalars.isNaN(a),
      arith::XOrIOp::create(builder, loc, scalars.isNaN(b), truth));
  return arith::OrIOp::create(builder, loc, greater, onlyFirst);
}

struct LowerTopK : OnnxLowering<onnx::TopKOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::TopKOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value x = adaptor.getX();
    auto type = cast<RankedTensorType>(x.getType());
    int64_t axis = *onnx::normalizeAxis(op.getAxis(), type.getRank());
    IndexBuilder outside(rewriter, loc);
    SmallVector<OpFoldResult> sizes = getRuntimeSizes(rewriter, loc, x);
    Value size = outside.get(sizes[axis]), zero = outside.constant(0);
    Value k =
        outside.fromInteger(getOnlyElement(rewriter, loc, adaptor.getK()));
    createCheck(rewriter, op,
                outside.compare(arith::CmpIPredicate::ule, k, size),
                "k is negative or larger than the dimension");
    SmallVector<OpFoldResult> rows = sizes;
    rows[axis] = rewriter.getIndexAttr(1);
    sizes[axis] = getAsOpFoldResult(k);
    Value values = createEmpty(rewriter, loc, sizes, type.getElementType());
    Value indices = createEmpty(rewriter, loc, sizes, rewriter.getI64Type());
    // Nothing is inserted into an empty list.
    Value isEmpty = outside.compare(arith::CmpIPredicate::eq, k, zero);
    Value searched = outside.select(isEmpty, zero, size);
    SmallVector<Value> results = createLoopNest(
        rewriter, loc, rows, {values, indices},
        [&](OpBuilder &b, Location l, ArrayRef<Value> row, ValueRange carried) {
          return createLoop(b, l, searched, carried,
                            [&](OpBuilder &inner, Location innerLoc, Value i,
                                ValueRange lists) {
                              return insert(inner, innerLoc, op, x, row, axis,
                                            i, k, lists);
                            });
        });
    rewriter.replaceOp(
        op, {createCast(rewriter, loc, results[0],
                        convertOnnxType(op.getValues().getType())),
             createCast(rewriter, loc, results[1],
                        convertOnnxType(op.getIndices().getType()))});
    return success();
  }

private:
  /// Inserts element i of a row into the row's sorted list of at most k.
  static SmallVector<Value> insert(OpBuilder &builder, Location loc,
                                   onnx::TopKOp op, Value x,
                                   ArrayRef<Value> row, int64_t axis, Value i,
                                   Value k, ValueRange lists) {
    IndexBuilder outside(builder, loc);
    bool largest = op.getLargest() != 0;
    bool isUnsigned = onnx::getElementType(op.getX()).isUnsignedInteger();
    Value last = outside.sub(k, outside.constant(1));
    auto at = [&](Value position) {
      SmallVector<Value> place(row);
      place[axis] = position;
      return place;
    };
    Value element = tensor::ExtractOp::create(builder, loc, x, at(i));
    SmallVector<Value> initial{outside.min(i, k)};
    llvm::append_range(initial, lists);
    SmallVector<Type> types;
    for (Value value : initial)
      types.push_back(value.getType());
    // Moves worse elements back by one; the one behind the end is lost.
    auto loop = scf::WhileOp::create(
        builder, loc, types, initial,
        [&](OpBuilder &b, Location l, ValueRange carried) {
          IndexBuilder inside(b, l);
          Value before = inside.max(inside.sub(carried[0], inside.constant(1)),
                                    inside.constant(0));
          Value other = tensor::ExtractOp::create(b, l, carried[1], at(before));
          Value moves = arith::AndIOp::create(
              b, l,
              inside.compare(arith::CmpIPredicate::sgt, carried[0],
                             inside.constant(0)),
              goesBefore(b, l, element, other, largest, isUnsigned));
          scf::ConditionOp::create(b, l, moves, carried);
        },
        [&](OpBuilder &b, Location l, ValueRange carried) {
          IndexBuilder inside(b, l);
          Value before = inside.sub(carried[0], inside.constant(1));
          SmallVector<Value> next{before};
          for (Value list : carried.drop_front()) {
            Value moved = tensor::ExtractOp::create(b, l, list, at(before));
            next.push_back(tensor::InsertOp::create(
                b, l, moved, list, at(inside.min(carried[0], last))));
          }
          scf::YieldOp::create(b, l, next);
        });
    Value place = loop.getResult(0), target = outside.min(place, last);
    Value fits = outside.compare(arith::CmpIPredicate::slt, place, k);
    Value number =
        arith::IndexCastOp::create(builder, loc, builder.getI64Type(), i);
    SmallVector<Value> results;
    for (auto [list, added] :
         {std::pair<Value, Value>{loop.getResult(1), element},
          {loop.getResult(2), number}}) {
      Value old = tensor::ExtractOp::create(builder, loc, list, at(target));
      Value next = arith::SelectOp::create(builder, loc, fits, added, old);
      results.push_back(
          tensor::InsertOp::create(builder, loc, next, list, at(target)));
    }
    return results;
  }
};

} // namespace

void onnx_aot::populateOnnxToLinalgSearchPatterns(
    const LoweringContext &lowering, RewritePatternSet &patterns) {
  patterns.add<LowerOneHot, LowerNonZero, LowerCompress, LowerTopK>(
      lowering, patterns.getContext());
}

//===- Unique.cpp - lower Unique ------------------------------------------===//
//
// The input is seen as rows: slices along the axis, or single elements. Rows
// are compared with all distinct ones before them; the distinct ones are then
// ranked by how many are smaller.
//
//===----------------------------------------------------------------------===//

#include "Generate.h"
#include "ReshapeUtils.h"
#include "ScalarBuilder.h"
#include "ShapeScalars.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;
using namespace onnx_aot;

namespace {

struct LowerUnique : OnnxLowering<onnx::UniqueOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::UniqueOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    IndexBuilder b(rewriter, loc);
    Value input = adaptor.getX();
    auto type = cast<RankedTensorType>(input.getType());
    // The axis first, everything else flat.
    SmallVector<int64_t> perm;
    SmallVector<OpFoldResult> sizes;
    if (op.getAxis()) {
      int64_t axis = *onnx::normalizeAxis(*op.getAxis(), type.getRank());
      perm.push_back(axis);
      for (int64_t i = 0; i < type.getRank(); ++i)
        if (i != axis)
          perm.push_back(i);
      input = createTransposed(rewriter, loc, input, perm);
    } else {
      input = createFlat(rewriter, loc, input);
    }
    sizes = getRuntimeSizes(rewriter, loc, input);
    Value width = b.constant(1);
    for (OpFoldResult size : ArrayRef(sizes).drop_front())
      width = b.mul(width, b.get(size));
    Value rows = createUnflat(rewriter, loc, createFlat(rewriter, loc, input),
                              {sizes[0], getAsOpFoldResult(width)});

    Rows table{op, rows, b.get(sizes[0]), width};
    Distinct distinct = findDistinct(rewriter, loc, table);
    if (op.getSorted() != 0)
      sortDistinct(rewriter, loc, table, distinct);
    Value y = createResult(rewriter, loc, input, sizes, distinct, perm);
    replaceAll(rewriter, op, y, distinct);
    return success();
  }

private:
  struct Rows {
    mutable onnx::UniqueOp op;
    Value tensor, count, width;
  };
  /// The distinct rows: row numbers, how often they occur, and for each row of
  /// the input which one it is. Only the first `count` of the former two count.
  struct Distinct {
    Value first, counts, inverse, count;
  };

  static Value emptyNumbers(OpBuilder &builder, Location loc, Value size) {
    return createEmpty(builder, loc, getAsOpFoldResult(size),
                       builder.getI64Type());
  }

  static Value toNumber(OpBuilder &builder, Location loc, Value index) {
    return arith::IndexCastOp::create(builder, loc, builder.getI64Type(),
                                      index);
  }

  static Value getNumber(OpBuilder &builder, Location loc, Value list,
                         Value at) {
    Value number = tensor::ExtractOp::create(builder, loc, list, at);
    return IndexBuilder(builder, loc).fromInteger(number);
  }

  /// -1, 0 or 1 as i64: how row a compares with row b. NaN is the greatest.
  static Value compareRows(OpBuilder &builder, Location loc, const Rows &rows,
                           Value a, Value b) {
    Value zero = createScalarConstant(builder, loc, 0, builder.getI64Type());
    bool isUnsigned =
        onnx::getElementType(rows.op.getX()).isUnsignedInteger() ||
        onnx::getElementType(rows.op.getX()).isInteger(1);
    return createLoop(
        builder, loc, rows.width, zero,
        [&](OpBuilder &inner, Location l, Value column,
            ValueRange carried) -> SmallVector<Value> {
          ScalarBuilder scalars(inner, l, isUnsigned);
          Value x = tensor::ExtractOp::create(inner, l, rows.tensor,
                                              ValueRange{a, column});
          Value y = tensor::ExtractOp::create(inner, l, rows.tensor,
                                              ValueRange{b, column});
          Value less = scalars.compare(ScalarBuilder::Compare::Less, x, y);
          Value greater =
              scalars.compare(ScalarBuilder::Compare::Greater, x, y);
          if (isa<FloatType>(x.getType())) {
            Value xIsNaN = scalars.isNaN(x), yIsNaN = scalars.isNaN(y);
            Value differs = arith::XOrIOp::create(inner, l, xIsNaN, yIsNaN);
            less = arith::SelectOp::create(inner, l, differs, yIsNaN, less);
            greater =
                arith::SelectOp::create(inner, l, differs, xIsNaN, greater);
          }
          auto number = [&](int64_t value) {
            return createScalarConstant(inner, l, value, inner.getI64Type());
          };
          Value here = arith::SelectOp::create(
              inner, l, less, number(-1),
              arith::SelectOp::create(inner, l, greater, number(1), number(0)));
          Value isOpen = arith::CmpIOp::create(
              inner, l, arith::CmpIPredicate::eq, carried[0], number(0));
          return {arith::SelectOp::create(inner, l, isOpen, here, carried[0])};
        })[0];
  }

  static Distinct findDistinct(OpBuilder &builder, Location loc,
                               const Rows &rows) {
    Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
    SmallVector<Value> results = createLoop(
        builder, loc, rows.count,
        {emptyNumbers(builder, loc, rows.count),
         emptyNumbers(builder, loc, rows.count),
         emptyNumbers(builder, loc, rows.count), zero},
        [&](OpBuilder &b, Location l, Value row, ValueRange carried) {
          return addRow(b, l, rows, row, carried);
        });
    return {results[0], results[1], results[2], results[3]};
  }

  static SmallVector<Value> addRow(OpBuilder &builder, Location loc,
                                   const Rows &rows, Value row,
                                   ValueRange carried) {
    Value first = carried[0], counts = carried[1], inverse = carried[2];
    Value count = carried[3];
    // The equal one among the distinct rows so far, or their number.
    Value found = createLoop(
        builder, loc, count, count,
        [&](OpBuilder &b, Location l, Value i,
            ValueRange best) -> SmallVector<Value> {
          Value order = compareRows(b, l, rows, row, getNumber(b, l, first, i));
          Value zero = createScalarConstant(b, l, 0, b.getI64Type());
          Value isEqual = arith::CmpIOp::create(b, l, arith::CmpIPredicate::eq,
                                                order, zero);
          return {arith::SelectOp::create(b, l, isEqual, i, best[0])};
        })[0];
    IndexBuilder b(builder, loc);
    Value isNew = b.compare(arith::CmpIPredicate::eq, found, count);
    Value oldFirst = getNumber(builder, loc, first, found);
    Value oldCount = getNumber(builder, loc, counts, found);
    auto put = [&](Value list, Value index, Value at) -> Value {
      return tensor::InsertOp::create(builder, loc,
                                      toNumber(builder, loc, index), list, at);
    };
    Value one = b.constant(1);
    return {put(first, b.select(isNew, row, oldFirst), found),
            put(counts, b.select(isNew, one, b.add(oldCount, one)), found),
            put(inverse, found, row),
            b.add(count, b.select(isNew, one, b.constant(0)))};
  }

  static void sortDistinct(OpBuilder &builder, Location loc, const Rows &rows,
                           Distinct &distinct) {
    OpFoldResult count = getAsOpFoldResult(distinct.count);
    Value ranks = createGenerated(
        builder, loc, count, builder.getI64Type(), {},
        [&](OpBuilder &b, Location l, ArrayRef<Value> at, ValueRange) -> Value {
          Value own = getNumber(b, l, distinct.first, at[0]);
          Value zero = createScalarConstant(b, l, 0, b.getI64Type());
          return createLoop(
              b, l, distinct.count, zero,
              [&](OpBuilder &inner, Location innerLoc, Value i,
                  ValueRange smaller) -> SmallVector<Value> {
                Value order = compareRows(
                    inner, innerLoc, rows,
                    getNumber(inner, innerLoc, distinct.first, i), own);
                Value isLess = arith::CmpIOp::create(
                    inner, innerLoc, arith::CmpIPredicate::slt, order, zero);
                Value add = arith::ExtUIOp::create(inner, innerLoc,
                                                   inner.getI64Type(), isLess);
                return {
                    arith::AddIOp::create(inner, innerLoc, smaller[0], add)};
              })[0];
        });
    SmallVector<Value> sorted = createLoop(
        builder, loc, distinct.count,
        {emptyNumbers(builder, loc, distinct.count),
         emptyNumbers(builder, loc, distinct.count)},
        [&](OpBuilder &b, Location l, Value i,
            ValueRange lists) -> SmallVector<Value> {
          Value rank = getNumber(b, l, ranks, i);
          Value first = tensor::ExtractOp::create(b, l, distinct.first, i);
          Value times = tensor::ExtractOp::create(b, l, distinct.counts, i);
          return {tensor::InsertOp::create(b, l, first, lists[0], rank),
                  tensor::InsertOp::create(b, l, times, lists[1], rank)};
        });
    distinct.first = sorted[0];
    distinct.counts = sorted[1];
    distinct.inverse = createGenerated(
        builder, loc, getAsOpFoldResult(rows.count), builder.getI64Type(),
        GeneratedInput{distinct.inverse, {0}},
        [&](OpBuilder &b, Location l, ArrayRef<Value>,
            ValueRange args) -> Value {
          Value old = IndexBuilder(b, l).fromInteger(args[0]);
          return tensor::ExtractOp::create(b, l, ranks, old);
        });
  }

  /// The distinct rows in the input's layout.
  static Value createResult(OpBuilder &builder, Location loc, Value input,
                            ArrayRef<OpFoldResult> inputSizes,
                            const Distinct &distinct, ArrayRef<int64_t> perm) {
    SmallVector<OpFoldResult> sizes(inputSizes);
    sizes[0] = getAsOpFoldResult(distinct.count);
    Value y = createGenerated(
        builder, loc, sizes, getElementTypeOrSelf(input.getType()), {},
        [&](OpBuilder &b, Location l, ArrayRef<Value> at, ValueRange) -> Value {
          SmallVector<Value> source(at);
          source[0] = getNumber(b, l, distinct.first, at[0]);
          return tensor::ExtractOp::create(b, l, input, source);
        });
    return perm.empty() ? y
                        : createTransposed(builder, loc, y,
                                           invertPermutationVector(perm));
  }

  static void replaceAll(ConversionPatternRewriter &rewriter, onnx::UniqueOp op,
                         Value y, const Distinct &distinct) {
    Location loc = op.getLoc();
    auto trim = [&](Value list) -> Value {
      OpFoldResult zero = rewriter.getIndexAttr(0),
                   one = rewriter.getIndexAttr(1);
      return tensor::ExtractSliceOp::create(
          rewriter, loc, list, ArrayRef<OpFoldResult>{zero},
          ArrayRef<OpFoldResult>{getAsOpFoldResult(distinct.count)},
          ArrayRef<OpFoldResult>{one});
    };
    SmallVector<Value> results{y, trim(distinct.first), distinct.inverse,
                               trim(distinct.counts)};
    for (auto [result, original] : llvm::zip_equal(results, op.getResults()))
      result = createCast(rewriter, loc, result,
                          convertOnnxType(original.getType()));
    rewriter.replaceOp(op, results);
  }
};

} // namespace

void onnx_aot::populateOnnxToLinalgUniquePatterns(
    const LoweringContext &lowering, RewritePatternSet &patterns) {
  patterns.add<LowerUnique>(lowering, patterns.getContext());
}

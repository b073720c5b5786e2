//===- NonMaxSuppression.cpp - lower NonMaxSuppression --------------------===//
//
// Per batch entry and class: take the box of the highest score that is left (of
// equals the first), drop all that overlap it by more than the threshold.
//
//===----------------------------------------------------------------------===//

#include "Generate.h"
#include "ShapeScalars.h"

#include "ReshapeUtils.h"

using namespace mlir;
using namespace onnx_aot;

namespace {

/// Corners of a box in order, and its area.
struct Box {
  Value top, left, bottom, right, area;
};

struct LowerNonMaxSuppression : OnnxLowering<onnx::NonMaxSuppressionOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::NonMaxSuppressionOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    IndexBuilder b(rewriter, loc);
    Search search{op, adaptor.getBoxes(), adaptor.getScores(), {}, {}, {}};
    SmallVector<OpFoldResult> sizes =
        getRuntimeSizes(rewriter, loc, search.scores);
    SmallVector<OpFoldResult> boxSizes =
        getRuntimeSizes(rewriter, loc, search.boxes);
    Value numBoxes = b.get(sizes[2]);
    createCheck(
        rewriter, op,
        b.compare(arith::CmpIPredicate::eq, numBoxes, b.get(boxSizes[1])),
        "boxes and scores have different numbers of boxes");
    createCheck(rewriter, op,
                b.compare(arith::CmpIPredicate::eq, b.get(sizes[0]),
                          b.get(boxSizes[0])),
                "boxes and scores have different numbers of batches");
    createCheck(
        rewriter, op,
        b.compare(arith::CmpIPredicate::eq, b.get(boxSizes[2]), b.constant(4)),
        "a box does not have four coordinates");
    Type f32 = rewriter.getF32Type();
    Value limit = b.constant(0);
    if (Value operand = adaptor.getMaxOutputBoxesPerClass())
      limit = b.fromInteger(getOnlyElement(rewriter, loc, operand));
    limit = b.clamp(limit, b.constant(0), numBoxes);
    search.numBoxes = numBoxes;
    search.maxOverlap =
        adaptor.getIouThreshold()
            ? getOnlyElement(rewriter, loc, adaptor.getIouThreshold())
            : createScalarConstant(rewriter, loc, 0, f32);
    if (Value operand = adaptor.getScoreThreshold())
      search.minScore = getOnlyElement(rewriter, loc, operand);

    Value most = b.mul(b.mul(b.get(sizes[0]), b.get(sizes[1])), limit);
    Value rows = createEmpty(
        rewriter, loc, {getAsOpFoldResult(most), rewriter.getIndexAttr(3)},
        rewriter.getI64Type());
    SmallVector<Value> found = createLoopNest(
        rewriter, loc, {sizes[0], sizes[1]}, {rows, b.constant(0)},
        [&](OpBuilder &inner, Location l, ArrayRef<Value> at,
            ValueRange carried) {
          return selectBoxes(inner, l, search, at[0], at[1], limit, carried);
        });
    SmallVector<OpFoldResult> offsets(2, rewriter.getIndexAttr(0));
    SmallVector<OpFoldResult> strides(2, rewriter.getIndexAttr(1));
    SmallVector<OpFoldResult> counts{getAsOpFoldResult(found[1]),
                                     rewriter.getIndexAttr(3)};
    replaceWithCast(rewriter, op,
                    tensor::ExtractSliceOp::create(rewriter, loc, found[0],
                                                   offsets, counts, strides));
    return success();
  }

private:
  struct Search {
    mutable onnx::NonMaxSuppressionOp op;
    Value boxes, scores, numBoxes, maxOverlap;
    /// Null where every score is good enough.
    Value minScore;
  };

  static Box readBox(OpBuilder &builder, Location loc, const Search &search,
                     Value batch, Value index) {
    IndexBuilder b(builder, loc);
    SmallVector<Value> c;
    for (int64_t i = 0; i < 4; ++i)
      c.push_back(tensor::ExtractOp::create(
          builder, loc, search.boxes, ValueRange{batch, index, b.constant(i)}));
    auto half = [&](Value x) -> Value {
      return arith::MulFOp::create(
          builder, loc, x,
          createScalarConstant(builder, loc, 0.5, x.getType()));
    };
    auto sub = [&](Value x, Value y) -> Value {
      return arith::SubFOp::create(builder, loc, x, y);
    };
    auto add = [&](Value x, Value y) -> Value {
      return arith::AddFOp::create(builder, loc, x, y);
    };
    Box box;
    if (search.op.getCenterPointBox() == 0) {
      // Any two opposite corners.
      box.top = arith::MinimumFOp::create(builder, loc, c[0], c[2]);
      box.bottom = arith::MaximumFOp::create(builder, loc, c[0], c[2]);
      box.left = arith::MinimumFOp::create(builder, loc, c[1], c[3]);
      box.right = arith::MaximumFOp::create(builder, loc, c[1], c[3]);
    } else {
      box.left = sub(c[0], half(c[2]));
      box.right = add(c[0], half(c[2]));
      box.top = sub(c[1], half(c[3]));
      box.bottom = add(c[1], half(c[3]));
    }
    box.area = arith::MulFOp::create(builder, loc, sub(box.bottom, box.top),
                                     sub(box.right, box.left));
    return box;
  }

  /// i1: the boxes' intersection over their union is above the threshold.
  static Value overlapsTooMuch(OpBuilder &builder, Location loc,
                               const Search &search, const Box &a,
                               const Box &b) {
    Value zero = createScalarConstant(builder, loc, 0, a.area.getType());
    auto extent = [&](Value lowA, Value lowB, Value highA,
                      Value highB) -> Value {
      Value low = arith::MaximumFOp::create(builder, loc, lowA, lowB);
      Value high = arith::MinimumFOp::create(builder, loc, highA, highB);
      return arith::MaximumFOp::create(
          builder, loc, arith::SubFOp::create(builder, loc, high, low), zero);
    };
    Value common = arith::MulFOp::create(
        builder, loc, extent(a.top, b.top, a.bottom, b.bottom),
        extent(a.left, b.left, a.right, b.right));
    Value sum = arith::AddFOp::create(builder, loc, a.area, b.area);
    Value united = arith::SubFOp::create(builder, loc, sum, common);
    Value ratio = arith::DivFOp::create(builder, loc, common, united);
    // False for 0 / 0: empty boxes overlap nothing.
    return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGT, ratio,
                                 search.maxOverlap);
  }

  /// The remaining box of the highest score, or the number of boxes.
  static Value findBest(OpBuilder &builder, Location loc, const Search &search,
                        Value batch, Value group, Value dropped) {
    Value none = createScalarConstant(builder, loc, 0, builder.getF32Type());
    return createLoop(
        builder, loc, search.numBoxes, {search.numBoxes, none},
        [&](OpBuilder &b, Location l, Value i,
            ValueRange best) -> SmallVector<Value> {
          IndexBuilder inside(b, l);
          Value score = tensor::ExtractOp::create(b, l, search.scores,
                                                  ValueRange{batch, group, i});
          Value flag = tensor::ExtractOp::create(b, l, dropped, i);
          Value isLeft = arith::CmpIOp::create(
              b, l, arith::CmpIPredicate::eq, flag,
              createScalarConstant(b, l, 0, flag.getType()));
          auto both = [&](Value x, Value y) -> Value {
            return arith::AndIOp::create(b, l, x, y);
          };
          auto above = [&](Value x, Value y) -> Value {
            return arith::CmpFOp::create(b, l, arith::CmpFPredicate::OGT, x, y);
          };
          Value isFirst = inside.compare(arith::CmpIPredicate::eq, best[0],
                                         search.numBoxes);
          Value isBetter =
              arith::OrIOp::create(b, l, isFirst, above(score, best[1]));
          Value wins = both(isLeft, isBetter);
          if (search.minScore)
            wins = both(wins, above(score, search.minScore));
          return {inside.select(wins, i, best[0]),
                  arith::SelectOp::create(b, l, wins, score, best[1])};
        })[0];
  }

  static SmallVector<Value> selectBoxes(OpBuilder &builder, Location loc,
                                        const Search &search, Value batch,
                                        Value group, Value limit,
                                        ValueRange carried) {
    Value clear = createFilled(
        builder, loc, getAsOpFoldResult(search.numBoxes),
        createScalarConstant(builder, loc, 0, builder.getI8Type()));
    SmallVector<Value> results = createLoop(
        builder, loc, limit, {carried[0], carried[1], clear},
        [&](OpBuilder &b, Location l, Value, ValueRange values) {
          Value best = findBest(b, l, search, batch, group, values[2]);
          Value isFound = IndexBuilder(b, l).compare(arith::CmpIPredicate::ult,
                                                     best, search.numBoxes);
          return createIf(
              b, l, isFound,
              [&](OpBuilder &then, Location thenLoc) {
                return take(then, thenLoc, search, batch, group, best, values);
              },
              [&](OpBuilder &, Location) {
                return SmallVector<Value>(values);
              });
        });
    return {results[0], results[1]};
  }

  /// Notes a box and drops it and those that overlap it.
  static SmallVector<Value> take(OpBuilder &builder, Location loc,
                                 const Search &search, Value batch, Value group,
                                 Value best, ValueRange values) {
    IndexBuilder b(builder, loc);
    Value rows = values[0];
    for (auto [i, index] :
         llvm::enumerate(SmallVector<Value>{batch, group, best})) {
      Value number =
          arith::IndexCastOp::create(builder, loc, builder.getI64Type(), index);
      rows = tensor::InsertOp::create(builder, loc, number, rows,
                                      ValueRange{values[1], b.constant(i)});
    }
    Box chosen = readBox(builder, loc, search, batch, best);
    Value dropped = createLoop(
        builder, loc, search.numBoxes, values[2],
        [&](OpBuilder &inner, Location l, Value i,
            ValueRange flags) -> SmallVector<Value> {
          Box box = readBox(inner, l, search, batch, i);
          Value drops = overlapsTooMuch(inner, l, search, chosen, box);
          Value isItself = arith::CmpIOp::create(
              inner, l, arith::CmpIPredicate::eq, i, best);
          drops = arith::OrIOp::create(inner, l, drops, isItself);
          Value flag =
              arith::ExtUIOp::create(inner, l, inner.getI8Type(), drops);
          Value old = tensor::ExtractOp::create(inner, l, flags[0], i);
          return {tensor::InsertOp::create(
              inner, l, arith::OrIOp::create(inner, l, old, flag), flags[0],
              i)};
        })[0];
    return {rows, b.add(values[1], b.constant(1)), dropped};
  }
};

} // namespace

void onnx_aot::populateOnnxToLinalgNonMaxSuppressionPatterns(
    const LoweringContext &lowering, RewritePatternSet &patterns) {
  patterns.add<LowerNonMaxSuppression>(lowering, patterns.getContext());
}

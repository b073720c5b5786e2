//===- Det.cpp - lower Det to an LU decomposition -------------------------===//

#include "Contraction.h"
#include "IndexedGeneric.h"
#include "ScalarBuilder.h"

using namespace mlir;
using namespace onnx_aot;

namespace {

/// The matrices as one (batch, n, n) tensor.
Value flattenBatch(OpBuilder &builder, Location loc, Value x) {
  auto type = cast<RankedTensorType>(x.getType());
  int64_t rank = type.getRank();
  if (rank == 2) {
    SmallVector<OpFoldResult> sizes = getRuntimeSizes(builder, loc, x);
    sizes.insert(sizes.begin(), builder.getIndexAttr(1));
    auto expanded = RankedTensorType::get(
        {1, type.getDimSize(0), type.getDimSize(1)}, type.getElementType());
    return tensor::ExpandShapeOp::create(
        builder, loc, expanded, x,
        SmallVector<ReassociationIndices>{{0, 1}, {2}}, sizes);
  }
  if (rank == 3)
    return x;
  SmallVector<ReassociationIndices> reassociation(1);
  for (int64_t i = 0; i + 2 < rank; ++i)
    reassociation[0].push_back(i);
  reassociation.push_back({rank - 2});
  reassociation.push_back({rank - 1});
  return tensor::CollapseShapeOp::create(builder, loc, x, reassociation);
}

/// Eliminates below the diagonal of matrix `batch` with partial pivoting, and
/// gives the matrices and the determinant.
std::pair<Value, Value> eliminate(OpBuilder &builder, Location loc,
                                  Value matrices, Value batch, Value n) {
  Type type = getElementTypeOrSelf(matrices.getType());
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value one = createScalarConstant(builder, loc, 1, type);
  SmallVector<Value> result = createFor(
      builder, loc, zero, n, {matrices, one},
      [&](OpBuilder &b, Location l, Value k, ValueRange carried) {
        ScalarBuilder s(b, l, /*isUnsigned=*/false);
        Value a = carried[0], det = carried[1];
        auto at = [&](OpBuilder &ob, Value tensor, Value i, Value j) -> Value {
          return tensor::ExtractOp::create(ob, l, tensor,
                                           ValueRange{batch, i, j});
        };
        // The row whose element of column k is largest.
        Value pivotRow =
            createFor(b, l, k, n, {k, s.like(det, -1)},
                      [&](OpBuilder &ob, Location, Value i,
                          ValueRange best) -> SmallVector<Value> {
                        ScalarBuilder o(ob, l, false);
                        Value size = o.absolute(at(ob, a, i, k));
                        Value larger = o.compare(
                            ScalarBuilder::Compare::Greater, size, best[1]);
                        return {o.select(larger, i, best[0]),
                                o.select(larger, size, best[1])};
                      })[0];
        Value swapped = createFor(
            b, l, k, n, a,
            [&](OpBuilder &ob, Location, Value j,
                ValueRange rows) -> SmallVector<Value> {
              Value upper = at(ob, rows[0], k, j),
                    lower = at(ob, rows[0], pivotRow, j);
              Value first = tensor::InsertOp::create(ob, l, lower, rows[0],
                                                     ValueRange{batch, k, j});
              return {tensor::InsertOp::create(ob, l, upper, first,
                                               ValueRange{batch, pivotRow, j})};
            })[0];
        Value pivot = at(b, swapped, k, k);
        Value isSwap = s.compare(ScalarBuilder::Compare::NotEqual, pivotRow, k);
        Value signedPivot = s.select(isSwap, s.negate(pivot), pivot);
        Value isZero =
            s.compare(ScalarBuilder::Compare::Equal, pivot, s.like(pivot, 0));
        Value divisor = s.select(isZero, s.like(pivot, 1), pivot);
        Value next = s.add(k, s.like(k, 1));
        Value reduced = createFor(
            b, l, next, n, swapped,
            [&](OpBuilder &ob, Location, Value i, ValueRange rows) {
              Value factor =
                  arith::DivFOp::create(ob, l, at(ob, rows[0], i, k), divisor);
              return createFor(
                  ob, l, next, n, rows[0],
                  [&](OpBuilder &ib, Location, Value j,
                      ValueRange row) -> SmallVector<Value> {
                    Value product = arith::MulFOp::create(ib, l, factor,
                                                          at(ib, row[0], k, j));
                    Value rest = arith::SubFOp::create(
                        ib, l, at(ib, row[0], i, j), product);
                    return {tensor::InsertOp::create(ib, l, rest, row[0],
                                                     ValueRange{batch, i, j})};
                  });
            })[0];
        return SmallVector<Value>{reduced, s.mul(det, signedPivot)};
      });
  return {result[0], result[1]};
}

struct LowerDet : OnnxLowering<onnx::DetOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::DetOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto type =
        dyn_cast_or_null<RankedTensorType>(convertOnnxType(op.getType()));
    if (!type || !onnx::getRank(op.getX()) ||
        !isa<FloatType>(type.getElementType()))
      return unsupported(op, "needs float matrices of known rank");
    Location loc = op.getLoc();
    checkSize(
        rewriter, op, adaptor.getX(), type.getRank() + 1,
        tensor::getMixedSize(rewriter, loc, adaptor.getX(), type.getRank()),
        "rows and columns");
    Type accumulator = getAccumulatorType(type.getElementType());
    Value matrices =
        flattenBatch(rewriter, loc,
                     convertFloats(rewriter, loc, adaptor.getX(), accumulator));
    SmallVector<OpFoldResult> sizes = getRuntimeSizes(rewriter, loc, matrices);
    SmallVector<Value> values = toValues(rewriter, loc, sizes);
    Value zero = arith::ConstantIndexOp::create(rewriter, loc, 0);
    Value dets = createEmpty(rewriter, loc, sizes[0], accumulator);
    dets = createFor(
        rewriter, loc, zero, values[0], {matrices, dets},
        [&](OpBuilder &b, Location l, Value batch,
            ValueRange carried) -> SmallVector<Value> {
          auto [rest, det] = eliminate(b, l, carried[0], batch, values[1]);
          return {rest, tensor::InsertOp::create(b, l, det, carried[1], batch)};
        })[1];
    // (batch) takes the shape of the batch dimensions.
    SmallVector<OpFoldResult> resultSizes =
        getRuntimeSizes(rewriter, loc, adaptor.getX());
    resultSizes.pop_back_n(2);
    if (type.getRank() == 0) {
      dets = tensor::CollapseShapeOp::create(rewriter, loc, dets,
                                             ArrayRef<ReassociationIndices>{});
    } else if (type.getRank() > 1) {
      SmallVector<ReassociationIndices> reassociation(1);
      for (int64_t i = 0; i < type.getRank(); ++i)
        reassociation[0].push_back(i);
      dets =
          tensor::ExpandShapeOp::create(rewriter, loc, type.clone(accumulator),
                                        dets, reassociation, resultSizes);
    }
    Value y = convertFloats(rewriter, loc, dets, type.getElementType());
    rewriter.replaceOp(op, castTensor(rewriter, loc, y, type));
    return success();
  }
};

} // namespace

void onnx_aot::populateOnnxToLinalgDetPatterns(const LoweringContext &lowering,
                                               RewritePatternSet &patterns) {
  patterns.add<LowerDet>(lowering, patterns.getContext());
}

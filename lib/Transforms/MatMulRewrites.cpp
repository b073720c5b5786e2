//===- MatMulRewrites.cpp - transposes into matrix products ---------------===//

#include "Rewrites.h"

using namespace mlir;
using namespace onnx_aot;
using namespace onnx_aot::onnx;

/// The matrix that a swap of a matrix's two dimensions takes, else null. A
/// Transpose that leaves both in place is none.
static Value getSwappedMatrix(Value value) {
  auto transpose = value.getDefiningOp<TransposeOp>();
  if (!transpose || getRank(transpose.getData()) != 2)
    return {};
  SmallVector<int64_t> permutation = transpose.getPermutation(2);
  return permutation[0] == 1 ? transpose.getData() : Value();
}

namespace {

// Pattern: Gemm(Transpose(a), b, c) -> Gemm(a, b, c) with trans_a flipped; b
// alike
struct TransposeIntoGemm : OpRewritePattern<GemmOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(GemmOp op,
                                PatternRewriter &rewriter) const override {
    Value a = getSwappedMatrix(op.getA()), b = getSwappedMatrix(op.getB());
    if (!a && !b)
      return failure();
    rewriter.modifyOpInPlace(op, [&] {
      if (a) {
        op.getAMutable().assign(a);
        op.setTransA(op.getTransA() == 0);
      }
      if (b) {
        op.getBMutable().assign(b);
        op.setTransB(op.getTransB() == 0);
      }
    });
    return success();
  }
};

// Pattern: MatMul(a, Transpose(b)) of matrices -> Gemm(a, b), trans_b; a alike
struct TransposeIntoMatMul : OpRewritePattern<MatMulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MatMulOp op,
                                PatternRewriter &rewriter) const override {
    if (getRank(op.getA()) != 2 || getRank(op.getB()) != 2)
      return failure();
    Value a = getSwappedMatrix(op.getA()), b = getSwappedMatrix(op.getB());
    if (!a && !b)
      return failure();
    auto gemm = createInferred<GemmOp>(
        rewriter, op.getLoc(), a ? a : op.getA(), b ? b : op.getB(),
        /*c=*/Value(), /*alpha=*/llvm::APFloat(1.0f),
        /*beta=*/llvm::APFloat(1.0f), /*trans_a=*/a ? 1 : 0,
        /*trans_b=*/b ? 1 : 0);
    rewriter.replaceOp(op, gemm);
    return success();
  }
};

// Pattern: Transpose(Gemm(a, b)) -> Gemm(b, a) with both flags flipped and
// exchanged, where nothing else reads the product
struct TransposeOfGemm : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(TransposeOp op,
                                PatternRewriter &rewriter) const override {
    Value swapped = getSwappedMatrix(op.getResult());
    auto gemm = swapped ? swapped.getDefiningOp<GemmOp>() : GemmOp();
    if (!gemm || gemm.getC() || !gemm->hasOneUse())
      return failure();
    auto turned =
        createInferred<GemmOp>(rewriter, op.getLoc(), gemm.getB(), gemm.getA(),
                               /*c=*/Value(), gemm.getAlpha(), gemm.getBeta(),
                               /*trans_a=*/gemm.getTransB() ? 0 : 1,
                               /*trans_b=*/gemm.getTransA() ? 0 : 1);
    rewriter.replaceOp(op, turned);
    return success();
  }
};

} // namespace

void onnx_aot::populateMatMulRewrites(RewritePatternSet &patterns) {
  patterns.add<TransposeIntoGemm, TransposeIntoMatMul, TransposeOfGemm>(
      patterns.getContext());
}

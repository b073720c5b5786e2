//===- MatMul.cpp - gradients of matrix products --------------------------===//

#include "Rules.h"

using namespace mlir;
using namespace onnx_aot;
using namespace onnx_aot::onnx;

/// a' * b', where the primes transpose the last two dimensions if asked for.
static Value multiply(GradientBuilder &g, Value a, Value b, bool transA,
                      bool transB) {
  APFloat one(1.0f), zero(0.0f);
  if (g.getRank(a) == 2 && g.getRank(b) == 2)
    return g.create<GemmOp>(a, b, Value(), one, zero, transA, transB);
  return g.create<FusedMatMulOp>(a, b, one, transA, transB);
}

/// y = a * b in numpy.matmul's sense, vectors and batches included.
static LogicalResult gradMatmul(MatMulOp op, GradientBuilder &g) {
  Value a = op.getA(), b = op.getB(), dy = g.getGradient(op.getY());
  bool aIsRow = g.getRank(a) == 1, bIsColumn = g.getRank(b) == 1;
  if (bIsColumn) {
    b = g.unsqueeze(b, {1});
    dy = g.unsqueeze(dy, {g.getRank(dy)});
  }
  if (aIsRow) {
    a = g.unsqueeze(a, {0});
    dy = g.unsqueeze(dy, {g.getRank(dy) - 1});
  }
  if (g.isActive(op.getA())) {
    Value da = g.sumLike(multiply(g, dy, b, false, true), a);
    g.accumulate(op.getA(), aIsRow ? g.squeeze(da, {0}) : da);
  }
  if (!g.isActive(op.getB()))
    return success();
  // All rows of a batch that meets one matrix are one sum.
  if (g.getRank(b) == 2 && g.getRank(a) > 2) {
    int64_t rows = g.getRank(a) - 1;
    a = g.create<FlattenOp>(a, rows);
    dy = g.create<FlattenOp>(dy, rows);
  }
  Value db = g.sumLike(multiply(g, a, dy, true, false), b);
  g.accumulate(op.getB(), bIsColumn ? g.squeeze(db, {1}) : db);
  return success();
}

/// y = alpha a' b' + beta c
static LogicalResult gradGemm(GemmOp op, GradientBuilder &g) {
  Value a = op.getA(), b = op.getB(), dy = g.getGradient(op.getY());
  bool transA = op.getTransA() != 0, transB = op.getTransB() != 0;
  APFloat zero(0.0f);
  auto product = [&](Value left, Value right, bool transLeft, bool transRight) {
    return g.create<GemmOp>(left, right, Value(), op.getAlpha(), zero,
                            transLeft, transRight);
  };
  if (g.isActive(a))
    g.accumulate(a, transA ? product(b, dy, transB, true)
                           : product(dy, b, false, !transB));
  if (g.isActive(b))
    g.accumulate(b, transB ? product(dy, a, true, transA)
                           : product(a, dy, !transA, false));
  if (Value c = op.getC())
    g.accumulateBroadcast(c, g.mul(dy, op.getBeta().convertToFloat()));
  return success();
}

void onnx_aot::populateMatMulGradientRules(MLIRContext *context) {
  attachRule<MatMulOp, gradMatmul>(context);
  attachRule<GemmOp, gradGemm>(context);
}

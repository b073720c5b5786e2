//===- WidenSums.cpp - accumulate serial sums in 64 bits ------------------===//

#include "onnx-aot/Codegen/CPU/Passes.h"
#include "onnx-aot/Codegen/Common/StructuredOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace onnx_aot;
using namespace onnx_aot::codegen;

namespace onnx_aot {
#define GEN_PASS_DEF_WIDENSUMS
#include "onnx-aot/Codegen/CPU/Passes.h.inc"
} // namespace onnx_aot

namespace {

/// A reduction that adds to its one result, which starts as a constant.
struct Sum {
  linalg::GenericOp op;
  arith::AddFOp add;
  tensor::EmptyOp empty;
  FloatAttr start;
};

std::optional<Sum> matchSum(linalg::GenericOp op) {
  if (!op.hasPureTensorSemantics() || op->getNumResults() != 1 ||
      op.getNumReductionLoops() == 0 || isContraction(op))
    return std::nullopt;
  BlockArgument accumulated = op.getRegionOutputArgs()[0];
  Sum sum{op, {}, {}, {}};
  sum.add = op.getBody()
                ->getTerminator()
                ->getOperand(0)
                .getDefiningOp<arith::AddFOp>();
  if (!accumulated.getType().isF32() || !accumulated.hasOneUse() || !sum.add ||
      *accumulated.user_begin() != sum.add || !sum.add->hasOneUse())
    return std::nullopt;
  auto fill = op.getDpsInits()[0].getDefiningOp<linalg::FillOp>();
  if (!fill || !matchPattern(fill.getInputs()[0], m_Constant(&sum.start)))
    return std::nullopt;
  sum.empty = fill.getOutputs()[0].getDefiningOp<tensor::EmptyOp>();
  return sum.empty ? std::optional(sum) : std::nullopt;
}

void widen(Sum sum, IRRewriter &rewriter) {
  linalg::GenericOp op = sum.op;
  Location loc = op.getLoc();
  rewriter.setInsertionPoint(op);
  Type wide = rewriter.getF64Type();
  Value empty =
      tensor::EmptyOp::create(rewriter, loc, sum.empty.getMixedSizes(), wide);
  Value start = arith::ConstantOp::create(
      rewriter, loc,
      rewriter.getF64FloatAttr(sum.start.getValue().convertToDouble()));
  Value init = linalg::FillOp::create(rewriter, loc, start, empty).getResult(0);
  BlockArgument accumulated = op.getRegionOutputArgs()[0];
  auto total = linalg::GenericOp::create(
      rewriter, loc, empty.getType(), op.getInputs(), init,
      op.getIndexingMapsArray(), op.getIteratorTypesArray(),
      [&](OpBuilder &b, Location l, ValueRange args) {
        IRMapping values;
        values.map(op.getBody()->getArguments(), args);
        for (Operation &inner : op.getBody()->without_terminator()) {
          if (&inner != sum.add) {
            b.clone(inner, values);
            continue;
          }
          Value term = sum.add.getLhs() == accumulated ? sum.add.getRhs()
                                                       : sum.add.getLhs();
          term = arith::ExtFOp::create(b, l, wide, values.lookup(term));
          values.map(
              sum.add.getResult(),
              arith::AddFOp::create(b, l, args.back(), term).getResult());
        }
        linalg::YieldOp::create(b, l, values.lookup(sum.add.getResult()));
      });
  int64_t rank = cast<RankedTensorType>(empty.getType()).getRank();
  SmallVector<AffineMap> maps(2, rewriter.getMultiDimIdentityMap(rank));
  SmallVector<utils::IteratorType> loops(rank, utils::IteratorType::parallel);
  auto rounded = linalg::GenericOp::create(
      rewriter, loc, sum.empty.getType(), total.getResult(0),
      sum.empty.getResult(), maps, loops,
      [](OpBuilder &b, Location l, ValueRange args) {
        Value result =
            arith::TruncFOp::create(b, l, args[1].getType(), args[0]);
        linalg::YieldOp::create(b, l, result);
      });
  rewriter.replaceOp(op, rounded);
}

struct WidenSums : onnx_aot::impl::WidenSumsBase<WidenSums> {
  void runOnOperation() override {
    SmallVector<Sum> sums;
    getOperation()->walk([&](linalg::GenericOp op) {
      if (std::optional<Sum> sum = matchSum(op))
        sums.push_back(*sum);
    });
    IRRewriter rewriter(&getContext());
    for (const Sum &sum : sums)
      widen(sum, rewriter);
  }
};

} // namespace

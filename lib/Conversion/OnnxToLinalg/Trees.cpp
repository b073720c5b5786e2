//===- Trees.cpp - lower the walk through decision trees ------------------===//
//
// One element of the result is the way of one row through one tree. It takes
// the same number of steps for all, without a branch: a leaf leads to itself.
// So the trees side by side in the lanes of a vector are as many independent
// walks.
//
//===----------------------------------------------------------------------===//

#include "Trees.h"
#include "Generate.h"
#include "ScalarBuilder.h"
#include "ShapeScalars.h"

#include "onnx-aot/Dialect/Onnx/IR/ML.h"

#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;
using namespace onnx_aot;

namespace {

/// Deeper trees are walked in a loop: code grows with the steps.
constexpr int64_t kUnrolledDepth = 24;

/// The elements of a constant of i32; nothing for any other value.
std::optional<SmallVector<int32_t>> getElements(Value value) {
  auto constant = value.getDefiningOp<onnx::ConstantOp>();
  if (!constant)
    return std::nullopt;
  if (auto blob = dyn_cast<DenseI32ResourceElementsAttr>(constant.getValue())) {
    if (std::optional<ArrayRef<int32_t>> data = blob.tryGetAsArrayRef())
      return SmallVector<int32_t>(*data);
    return std::nullopt;
  }
  auto elements = dyn_cast<DenseElementsAttr>(constant.getValue());
  if (!elements || !elements.getElementType().isInteger(32))
    return std::nullopt;
  return SmallVector<int32_t>(elements.getValues<int32_t>());
}

/// What the nodes say about the walk as a whole.
struct Forest {
  int64_t numFeatures = 0;
  bool someLeft = false, someRight = false; ///< where NaN leads
};

struct LowerTreeLeaves : OnnxLowering<onnx::TreeLeavesOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::TreeLeavesOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    FailureOr<Forest> forest = check(op);
    if (failed(forest))
      return failure();
    Location loc = op.getLoc();
    Value x = adaptor.getX(), roots = adaptor.getRoots();
    SmallVector<OpFoldResult> xSizes = getRuntimeSizes(rewriter, loc, x),
                              rootSizes = getRuntimeSizes(rewriter, loc, roots);
    IndexBuilder outside(rewriter, loc);
    createCheck(rewriter, op,
                outside.compare(arith::CmpIPredicate::sge,
                                outside.get(xSizes[1]),
                                outside.constant(forest->numFeatures)),
                "x has fewer features than the trees look at");
    Walk walk{*forest, x, adaptor.getNodes(), adaptor.getThresholds(),
              getElementTypeOrSelf(x.getType())};
    int64_t depth = op.getDepth();
    Value result = createGenerated(
        rewriter, loc, {xSizes[0], rootSizes[0]}, rewriter.getI32Type(),
        GeneratedInput{roots, {1}},
        [&](OpBuilder &b, Location l, ArrayRef<Value> at,
            ValueRange args) -> Value {
          Value node = args[0];
          if (depth <= kUnrolledDepth) {
            for (int64_t step = 0; step < depth; ++step)
              node = walk.step(b, l, at[0], node);
            return node;
          }
          Value zero = arith::ConstantIndexOp::create(b, l, 0);
          Value one = arith::ConstantIndexOp::create(b, l, 1);
          Value count = arith::ConstantIndexOp::create(b, l, depth);
          auto loop = scf::ForOp::create(
              b, l, zero, count, one, node,
              [&](OpBuilder &inner, Location where, Value, ValueRange carried) {
                scf::YieldOp::create(
                    inner, where, walk.step(inner, where, at[0], carried[0]));
              });
          return loop.getResult(0);
        });
    replaceWithCast(rewriter, op, result);
    return success();
  }

private:
  struct Walk {
    Forest forest;
    Value x, nodes, thresholds;
    Type type;

    /// The node behind this one for a row.
    Value step(OpBuilder &b, Location loc, Value row, Value node) const {
      ScalarBuilder s(b, loc, /*isUnsigned=*/false);
      auto toIndex = [&](Value value) {
        return s.create<arith::IndexCastOp>(b.getIndexType(), value);
      };
      auto column = [&](int64_t number) {
        return arith::ConstantIndexOp::create(b, loc, number).getResult();
      };
      Value place = toIndex(node);
      Value packed = tensor::ExtractOp::create(b, loc, nodes,
                                               ValueRange{place, column(0)});
      Value one = s.like(packed, 1);
      Value feature = s.create<arith::ShRUIOp>(packed, one);
      Value value = tensor::ExtractOp::create(
          b, loc, x, ValueRange{row, toIndex(feature)});
      Value threshold;
      if (thresholds)
        threshold = tensor::ExtractOp::create(b, loc, thresholds, place);
      else
        threshold = s.create<arith::BitcastOp>(
            type, tensor::ExtractOp::create(b, loc, nodes,
                                            ValueRange{place, column(1)}));
      // An unordered comparison is true for NaN.
      bool allLeft = !forest.someRight;
      Value isLeft = s.create<arith::CmpFOp>(
          allLeft ? arith::CmpFPredicate::ULE : arith::CmpFPredicate::OLE,
          value, threshold);
      if (forest.someLeft && forest.someRight) {
        Value isDefault = s.create<arith::TruncIOp>(b.getI1Type(), packed);
        Value isNaN =
            s.create<arith::CmpFOp>(arith::CmpFPredicate::UNO, value, value);
        isLeft = s.create<arith::OrIOp>(
            isLeft, s.create<arith::AndIOp>(isNaN, isDefault));
      }
      Value side = s.select(isLeft, column(2), column(3));
      return tensor::ExtractOp::create(b, loc, nodes, ValueRange{place, side});
    }
  };

  /// Every way must stay within the nodes.
  FailureOr<Forest> check(onnx::TreeLeavesOp op) const {
    std::optional<SmallVector<int32_t>> nodes = getElements(op.getNodes()),
                                        roots = getElements(op.getRoots());
    if (!nodes || !roots)
      return FailureOr<Forest>(
          unsupported(op, "the trees are not known at compile time"));
    int64_t count = nodes->size() / 4;
    auto isNode = [&](int32_t node) { return node >= 0 && node < count; };
    Forest forest;
    bool isFine = llvm::all_of(*roots, isNode);
    for (int64_t node = 0; node < count; ++node) {
      ArrayRef<int32_t> row = ArrayRef(*nodes).slice(node * 4, 4);
      isFine &= row[0] >= 0 && isNode(row[2]) && isNode(row[3]);
      forest.numFeatures =
          std::max<int64_t>(forest.numFeatures, (row[0] >> 1) + 1);
      if (row[2] != row[3])
        (row[0] & 1 ? forest.someLeft : forest.someRight) = true;
    }
    if (op.getThresholds()) {
      auto type = dyn_cast<RankedTensorType>(op.getThresholds().getType());
      isFine &= type && type.getRank() == 1 && type.getDimSize(0) == count;
    }
    if (!isFine)
      return FailureOr<Forest>(
          unsupported(op, "the trees lead to nodes that are not there"));
    return forest;
  }
};

} // namespace

void onnx_aot::populateOnnxToLinalgTreesPatterns(
    const LoweringContext &lowering, RewritePatternSet &patterns) {
  patterns.add<LowerTreeLeaves>(lowering, patterns.getContext());
}

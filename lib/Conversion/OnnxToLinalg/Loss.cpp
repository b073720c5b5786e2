//===- Loss.cpp - lower losses --------------------------------------------===//

#include "GenericBuilder.h"
#include "ScalarBuilder.h"
#include "Softmax.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace onnx_aot;

using Scalars = ScalarBuilder;
using Compare = ScalarBuilder::Compare;

namespace {

/// -weight[target] * logits[target] and its reduction.
class NegativeLogLikelihood {
public:
  NegativeLogLikelihood(OpBuilder &builder, Location loc, Value logits,
                        Value target, Value weight,
                        std::optional<uint64_t> ignoreIndex)
      : builder(builder), loc(loc), logits(logits), target(target),
        weight(weight), ignoreIndex(ignoreIndex),
        computeType(getComputeType(getElementTypeOrSelf(logits))),
        sizes(getRuntimeSizes(builder, loc, target)) {}

  Value create(StringRef reduction, Type elementType) {
    Value losses = mapTargets(
        reduction == "none" ? elementType : computeType,
        [&](Scalars &s, Target target) {
          Value loss = s.negate(s.mul(readLogit(s, target), factor(s, target)));
          constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
          loss = s.select(target.isClass, loss, s.like(loss, kNaN));
          return s.select(target.counts, loss, s.like(loss, 0));
        });
    if (reduction == "none")
      return losses;
    Value total = sum(losses), divisor;
    SmallVector<GenericInput> inputs{total};
    if (reduction == "mean" && (weight || ignoreIndex)) {
      divisor = sum(mapTargets(computeType, [&](Scalars &s, Target target) {
        Value one = factor(s, target);
        return s.select(target.counts, one, s.like(one, 0));
      }));
      inputs.push_back(divisor);
    }
    Value count =
        createReducedCount(builder, loc, sizes,
                           SmallVector<bool>(sizes.size(), true), computeType);
    return createMap(builder, loc, {}, elementType, inputs,
                     [&](OpBuilder &b, Location l, ValueRange args) {
                       Scalars s(b, l, false);
                       Value result = args[0];
                       if (reduction == "mean")
                         result = s.div(result, divisor ? args[1] : count);
                       return s.convert(result, elementType, false);
                     });
  }

private:
  struct Target {
    /// The class as an index, 0 where it is none.
    Value index;
    Value isClass, counts;
  };

  /// A tensor like the targets, of a float type.
  Value mapTargets(Type elementType,
                   function_ref<Value(Scalars &, Target)> function) {
    Value classes = getValueOrCreateConstantIndexOp(
        builder, loc, getRuntimeSizes(builder, loc, logits)[1]);
    return createMap(
        builder, loc, sizes, elementType, {target},
        [&](OpBuilder &b, Location l, ValueRange args) {
          Scalars s(b, l, false);
          Value index = s.create<arith::IndexCastOp>(b.getIndexType(), args[0]);
          Value zero = s.like(index, 0);
          Target element;
          element.isClass = s.create<arith::AndIOp>(
              s.compare(Compare::GreaterOrEqual, index, zero),
              s.compare(Compare::Less, index, classes));
          element.index = s.select(element.isClass, index, zero);
          element.counts = s.constant(1, b.getI1Type());
          if (ignoreIndex) {
            Value ignored = s.create<arith::ConstantIndexOp>(
                static_cast<int64_t>(*ignoreIndex));
            element.counts = s.compare(Compare::NotEqual, index, ignored);
          }
          return s.convert(function(s, element), elementType, false);
        });
  }

  Value readLogit(Scalars &s, Target target) {
    SmallVector<Value> indices;
    for (size_t dim = 0; dim < sizes.size(); ++dim)
      indices.push_back(s.create<linalg::IndexOp>(dim));
    indices.insert(indices.begin() + 1, target.index);
    return s.widen(s.create<tensor::ExtractOp>(logits, indices));
  }

  Value factor(Scalars &s, Target target) {
    if (!weight)
      return s.constant(1, computeType);
    return s.convert(s.create<tensor::ExtractOp>(weight, target.index),
                     computeType, false);
  }

  Value sum(Value tensor) {
    return createReduction(
        builder, loc, sizes, SmallVector<bool>(sizes.size(), true),
        createScalarConstant(builder, loc, 0, computeType), {tensor},
        [](OpBuilder &b, Location l, ValueRange args) {
          return Scalars(b, l, false).add(args[1], args[0]);
        });
  }

  OpBuilder &builder;
  Location loc;
  Value logits, target, weight;
  std::optional<uint64_t> ignoreIndex;
  Type computeType;
  SmallVector<OpFoldResult> sizes;
};

/// A class for each place of the scores but their axis 1, a weight per class.
void checkTargets(OpBuilder &builder, Operation *op, Value scores, Value target,
                  Value weight) {
  SmallVector<OpFoldResult> sizes =
      tensor::getMixedSizes(builder, op->getLoc(), scores);
  if (weight)
    checkSize(builder, op, weight, 0, sizes[1], "the weights and the classes");
  sizes.erase(sizes.begin() + 1);
  for (auto [axis, size] : llvm::enumerate(sizes))
    checkSize(builder, op, target, axis, size, "the scores and the targets");
}

struct LowerNegativeLogLikelihoodLoss
    : OnnxLowering<onnx::NegativeLogLikelihoodLossOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::NegativeLogLikelihoodLossOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    checkTargets(rewriter, op, adaptor.getInput(), adaptor.getTarget(),
                 adaptor.getWeight());
    NegativeLogLikelihood loss(rewriter, op.getLoc(), adaptor.getInput(),
                               adaptor.getTarget(), adaptor.getWeight(),
                               op.getIgnoreIndex());
    Value result = loss.create(op.getReduction(),
                               getElementTypeOrSelf(adaptor.getInput()));
    rewriter.replaceOp(op, castToOnnxType(rewriter, op.getLoc(), result,
                                          op.getLoss().getType()));
    return success();
  }
};

struct LowerSoftmaxCrossEntropyLoss
    : OnnxLowering<onnx::SoftmaxCrossEntropyLossOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::SoftmaxCrossEntropyLossOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    checkTargets(rewriter, op, adaptor.getScores(), adaptor.getLabels(),
                 adaptor.getWeights());
    Type elementType = getElementTypeOrSelf(adaptor.getScores());
    Type computeType = getComputeType(elementType);
    Value logits = createLogSoftmax(rewriter, loc, adaptor.getScores(),
                                    /*axis=*/1, computeType);
    NegativeLogLikelihood loss(rewriter, loc, logits, adaptor.getLabels(),
                               adaptor.getWeights(), op.getIgnoreIndex());
    Value result = loss.create(op.getReduction(), elementType);
    if (computeType != elementType)
      logits = createMap(
          rewriter, loc, getRuntimeSizes(rewriter, loc, logits), elementType,
          {logits}, [&](OpBuilder &b, Location l, ValueRange args) {
            return Scalars(b, l, false).convert(args[0], elementType, false);
          });
    rewriter.replaceOp(
        op, {castToOnnxType(rewriter, loc, result, op.getOutput().getType()),
             castToOnnxType(rewriter, loc, logits, op.getLogProb().getType())});
    return success();
  }
};

} // namespace

void onnx_aot::populateOnnxToLinalgLossPatterns(const LoweringContext &lowering,
                                                RewritePatternSet &patterns) {
  patterns.add<LowerNegativeLogLikelihoodLoss, LowerSoftmaxCrossEntropyLoss>(
      lowering, patterns.getContext());
}

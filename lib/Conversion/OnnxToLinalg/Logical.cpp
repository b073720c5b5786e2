//===- Logical.cpp - lower comparisons, booleans and bits -----------------===//

#include "PointwiseLowering.h"

using namespace mlir;
using namespace onnx_aot;

using Scalars = ScalarBuilder;
using Compare = ScalarBuilder::Compare;

template <typename OpTy, Compare predicate>
static void addComparison(PointwisePatterns &pointwise) {
  pointwise.add<OpTy>([](OpTy, Scalars &s, ValueRange args) {
    return s.compare(predicate, args[0], args[1]);
  });
}

/// Bools are i1 in a body: all their bits are one bit.
template <typename OpTy>
static void addComplement(PointwisePatterns &pointwise) {
  pointwise.add<OpTy>([](OpTy, Scalars &s, ValueRange args) {
    return s.create<arith::XOrIOp>(args[0], s.like(args[0], -1));
  });
}

void onnx_aot::populateOnnxToLinalgLogicalPatterns(
    const LoweringContext &lowering, RewritePatternSet &patterns) {
  PointwisePatterns pointwise{lowering, patterns};
  addComparison<onnx::GreaterOp, Compare::Greater>(pointwise);
  addComparison<onnx::GreaterOrEqualOp, Compare::GreaterOrEqual>(pointwise);
  addComparison<onnx::LessOp, Compare::Less>(pointwise);
  addComparison<onnx::LessOrEqualOp, Compare::LessOrEqual>(pointwise);

  pointwise.addDirect<onnx::AndOp, arith::AndIOp>();
  pointwise.addDirect<onnx::OrOp, arith::OrIOp>();
  pointwise.addDirect<onnx::XorOp, arith::XOrIOp>();
  addComplement<onnx::NotOp>(pointwise);
  pointwise.addDirect<onnx::BitwiseAndOp, arith::AndIOp>();
  pointwise.addDirect<onnx::BitwiseOrOp, arith::OrIOp>();
  pointwise.addDirect<onnx::BitwiseXorOp, arith::XOrIOp>();
  addComplement<onnx::BitwiseNotOp>(pointwise);

  pointwise.addDirect<onnx::WhereOp, arith::SelectOp>();
  pointwise.add<onnx::IsNaNOp>(
      [](auto, Scalars &s, ValueRange args) { return s.isNaN(args[0]); });
  pointwise.add<onnx::IsInfOp>(
      [](onnx::IsInfOp op, Scalars &s, ValueRange args) -> Value {
        Value x = args[0];
        auto isSign = [&](double infinity, bool asked) -> Value {
          Value no = s.constant(0, s.getBuilder().getI1Type());
          return asked ? s.compare(Compare::Equal, x, s.like(x, infinity)) : no;
        };
        constexpr double kInf = std::numeric_limits<double>::infinity();
        return s.create<arith::OrIOp>(isSign(-kInf, op.getDetectNegative()),
                                      isSign(kInf, op.getDetectPositive()));
      });
}

//===- PointwiseLowering.h - pointwise ops as a table -----------*- C++ -*-===//
//
// A pointwise op is lowered by one line that says what its scalars are:
//
//   pointwise.add<onnx::SubOp>([](auto op, auto &s, ValueRange args) {
//     return s.sub(args[0], args[1]);
//   });
//
//===----------------------------------------------------------------------===//

#ifndef ONNX_AOT_CONVERSION_ONNXTOLINALG_POINTWISELOWERING_H
#define ONNX_AOT_CONVERSION_ONNXTOLINALG_POINTWISELOWERING_H

#include "ScalarBuilder.h"

namespace onnx_aot {

/// Lowers an op to one linalg.generic. Narrow floats are computed in f32 and
/// rounded once, at the end.
template <typename OpTy>
class PointwiseLowering : public OnnxLowering<OpTy> {
public:
  /// The result's scalar of the operands', which are bools as i1.
  using Compute = mlir::Value (*)(OpTy op, ScalarBuilder &scalars,
                                  mlir::ValueRange args);

  PointwiseLowering(const LoweringContext &lowering, mlir::MLIRContext *context,
                    Compute compute)
      : OnnxLowering<OpTy>(lowering, context), compute(compute) {}

  llvm::LogicalResult
  matchAndRewrite(OpTy op, typename OpTy::Adaptor adaptor,
                  mlir::ConversionPatternRewriter &rewriter) const override {
    // Of operands with different types the last one decides: Where's branches.
    bool isUnsigned =
        onnx::getElementType(op->getOperands().back()).isUnsignedInteger();
    mlir::Type resultType = onnx::getElementType(op->getResult(0));
    return lowerPointwise(
        rewriter, this->lowering, op, adaptor.getOperands(),
        [&](mlir::OpBuilder &b, mlir::Location loc, mlir::ValueRange args) {
          ScalarBuilder scalars(b, loc, isUnsigned);
          llvm::SmallVector<mlir::Value> wide;
          for (mlir::Value arg : args)
            wide.push_back(scalars.widen(arg));
          mlir::Value result = compute(op, scalars, wide);
          return mlir::isa<mlir::FloatType>(resultType)
                     ? scalars.convert(result, resultType, false)
                     : result;
        });
  }

private:
  Compute compute;
};

/// Adds one PointwiseLowering after the other.
struct PointwisePatterns {
  const LoweringContext &lowering;
  mlir::RewritePatternSet &patterns;

  template <typename OpTy>
  void add(typename PointwiseLowering<OpTy>::Compute compute) {
    patterns.add<PointwiseLowering<OpTy>>(lowering, patterns.getContext(),
                                          compute);
  }

  /// An op that is one op on scalars.
  template <typename OpTy, typename ScalarOp>
  void addDirect() {
    add<OpTy>([](OpTy, ScalarBuilder &scalars, mlir::ValueRange args) {
      return scalars.create<ScalarOp>(args);
    });
  }
};

} // namespace onnx_aot

#endif // ONNX_AOT_CONVERSION_ONNXTOLINALG_POINTWISELOWERING_H

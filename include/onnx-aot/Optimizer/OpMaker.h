//===- OpMaker.h - arithmetic as onnx ops -----------------------*- C++ -*-===//

#ifndef ONNX_AOT_OPTIMIZER_OPMAKER_H
#define ONNX_AOT_OPTIMIZER_OPMAKER_H

#include "onnx-aot/Dialect/Onnx/IR/Onnx.h"

namespace onnx_aot {

/// Writes formulas: losses and optimizer steps read as in their papers. Numbers
/// take the element type of the tensor beside them.
class OpMaker {
public:
  OpMaker(mlir::OpBuilder &builder, mlir::Location loc)
      : builder(builder), loc(loc) {}

  mlir::OpBuilder &getBuilder() const { return builder; }
  mlir::Location getLoc() const { return loc; }

  /// An op of one result, whose type is inferred.
  template <typename OpTy, typename... Args>
  mlir::Value create(Args &&...args) {
    return onnx::createInferred<OpTy>(builder, loc, std::forward<Args>(args)...)
        ->getResult(0);
  }

  mlir::Value add(mlir::Value a, mlir::Value b) {
    return create<onnx::AddOp>(a, b);
  }
  mlir::Value sub(mlir::Value a, mlir::Value b) {
    return create<onnx::SubOp>(a, b);
  }
  mlir::Value mul(mlir::Value a, mlir::Value b) {
    return create<onnx::MulOp>(a, b);
  }
  mlir::Value div(mlir::Value a, mlir::Value b) {
    return create<onnx::DivOp>(a, b);
  }
  mlir::Value add(mlir::Value a, double b) { return add(a, scalar(b, a)); }
  mlir::Value sub(mlir::Value a, double b) { return sub(a, scalar(b, a)); }
  mlir::Value sub(double a, mlir::Value b) { return sub(scalar(a, b), b); }
  mlir::Value mul(mlir::Value a, double b) { return mul(a, scalar(b, a)); }
  mlir::Value square(mlir::Value a) { return mul(a, a); }
  mlir::Value sqrt(mlir::Value a) { return create<onnx::SqrtOp>(a); }
  mlir::Value where(mlir::Value condition, mlir::Value a, mlir::Value b) {
    return create<onnx::WhereOp>(condition, a, b);
  }
  mlir::Value minimum(mlir::Value a, mlir::Value b) {
    return create<onnx::MinOp>(mlir::ValueRange{a, b});
  }
  mlir::Value maximum(mlir::Value a, mlir::Value b) {
    return create<onnx::MaxOp>(mlir::ValueRange{a, b});
  }

  /// A scalar of the element type of `like`.
  mlir::Value scalar(double value, mlir::Value like) {
    return onnx::createScalar(builder, loc, value, onnx::getElementType(like));
  }
  /// Conversion to another element type.
  mlir::Value cast(mlir::Value x, mlir::Type elementType);
  /// Sum of all elements, a scalar.
  mlir::Value sumAll(mlir::Value x);

private:
  mlir::OpBuilder &builder;
  mlir::Location loc;
};

} // namespace onnx_aot

#endif // ONNX_AOT_OPTIMIZER_OPMAKER_H

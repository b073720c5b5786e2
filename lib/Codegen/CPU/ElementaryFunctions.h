//===- ElementaryFunctions.h - elementary functions on f32 ------*- C++ -*-===//
//
// Emits arithmetic that computes elementary functions on f32 scalars or vectors
// with the errors that docs/Numerics.md states. All take every number: NaN
// gives NaN, subnormal arguments and results are exact to the last place they
// have.
//
//===----------------------------------------------------------------------===//

#ifndef ONNX_AOT_CODEGEN_CPU_ELEMENTARYFUNCTIONS_H
#define ONNX_AOT_CODEGEN_CPU_ELEMENTARYFUNCTIONS_H

#include "mlir/IR/Builders.h"

namespace onnx_aot::cpu {

class ElementaryFunctions {
public:
  /// Of `type`, f32 or vectors of it.
  ElementaryFunctions(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Type type)
      : builder(builder), loc(loc), type(type) {}

  mlir::Value exp(mlir::Value x);
  mlir::Value log(mlir::Value x);
  mlir::Value tanh(mlir::Value x);
  mlir::Value erf(mlir::Value x);
  /// 1 / (1 + exp(-x))
  mlir::Value sigmoid(mlir::Value x);
  /// 1 + erf(x / sqrt 2), with all its digits where it is small.
  mlir::Value twiceNormal(mlir::Value x);
  /// x / 2 * (1 + erf(x / sqrt 2))
  mlir::Value gelu(mlir::Value x);

private:
  /// exp(x) = (1 + fraction) * 2^exponent, the exponent an integer.
  struct Power {
    mlir::Value fraction, exponent;
  };
  /// Of x between -104 and 89.
  Power reducePower(mlir::Value x);
  /// number * 2^exponent in two steps, neither of which leaves the range.
  mlir::Value scale(mlir::Value number, mlir::Value exponent);
  /// exp(x) where that is a normal number.
  mlir::Value normalExp(mlir::Value x);
  /// 2^exponent, a normal number.
  mlir::Value powerOfTwo(mlir::Value exponent);

  /// erfc(a / sqrt 2) / 2 for a >= 0, in 64 bits.
  mlir::Value normalTail(mlir::Value a);
  /// number * 2^exponent, both normal numbers of 64 bits.
  mlir::Value scaleWide(mlir::Value number, mlir::Value exponent);
  mlir::Value widen(mlir::Value x);
  mlir::Value narrow(mlir::Value x);
  mlir::Value wideConstant(double value);
  /// `type` with other elements.
  mlir::Type resized(mlir::Type element);

  mlir::Value constant(double value);
  mlir::Value integer(int32_t value);
  mlir::Value evaluate(llvm::ArrayRef<float> coefficients, mlir::Value x);
  /// x, or the bound where x is beyond it; NaN stays.
  mlir::Value atMost(mlir::Value x, double bound);
  mlir::Value atLeast(mlir::Value x, double bound);
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value sub(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, mlir::Value b);
  mlir::Value div(mlir::Value a, mlir::Value b);
  mlir::Value fma(mlir::Value a, mlir::Value b, mlir::Value c);
  mlir::Value negate(mlir::Value x);
  mlir::Value absolute(mlir::Value x);
  mlir::Value withSign(mlir::Value magnitude, mlir::Value sign);
  mlir::Value isLess(mlir::Value a, mlir::Value b);
  mlir::Value isEqual(mlir::Value a, mlir::Value b);
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b);
  mlir::Value toBits(mlir::Value x);
  mlir::Value fromBits(mlir::Value bits);
  mlir::Type intType();

  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::Type type;
};

} // namespace onnx_aot::cpu

#endif // ONNX_AOT_CODEGEN_CPU_ELEMENTARYFUNCTIONS_H

//===- ScalarBuilder.h - scalar arithmetic as ONNX defines it ---*- C++ -*-===//
//
// What the bodies of pointwise operations and reductions are written with. All
// operands of one call have the same type; the builder knows whether integers
// are unsigned, since they are signless after conversion.
//
//===----------------------------------------------------------------------===//

#ifndef ONNX_AOT_CONVERSION_ONNXTOLINALG_SCALARBUILDER_H
#define ONNX_AOT_CONVERSION_ONNXTOLINALG_SCALARBUILDER_H

#include "LoweringBase.h"

namespace onnx_aot {

class ScalarBuilder {
public:
  enum class Compare {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual
  };

  ScalarBuilder(mlir::OpBuilder &builder, mlir::Location loc, bool isUnsigned)
      : builder(builder), loc(loc), isUnsigned(isUnsigned) {}

  mlir::OpBuilder &getBuilder() { return builder; }
  mlir::Location getLoc() const { return loc; }

  /// Any op with operands and one result.
  template <typename OpTy, typename... Args>
  mlir::Value create(Args &&...args) {
    return OpTy::create(builder, loc, std::forward<Args>(args)...);
  }

  //===--- Constants ------------------------------------------------------===//

  mlir::Value constant(double value, mlir::Type type);
  /// A constant of the type of another value.
  mlir::Value like(mlir::Value other, double value) {
    return constant(value, other.getType());
  }
  /// The least and the greatest value of a type; infinities for floats.
  mlir::Value lowest(mlir::Type type);
  mlir::Value highest(mlir::Type type);

  //===--- Arithmetic -----------------------------------------------------===//

  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value sub(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, mlir::Value b);
  /// Never traps: an integer by zero is 0, the least one by -1 is itself.
  mlir::Value div(mlir::Value a, mlir::Value b);
  /// Remainder with the sign of a; of zero: 0 for integers, NaN for floats.
  mlir::Value remainder(mlir::Value a, mlir::Value b);
  /// Remainder with the sign of b.
  mlir::Value modulo(mlir::Value a, mlir::Value b);
  mlir::Value negate(mlir::Value x);
  mlir::Value absolute(mlir::Value x);
  mlir::Value sign(mlir::Value x);
  /// NaN wins over numbers.
  mlir::Value max(mlir::Value a, mlir::Value b);
  mlir::Value min(mlir::Value a, mlir::Value b);

  /// i1. Ordered for floats: false when one is NaN, but NotEqual is true then.
  mlir::Value compare(Compare predicate, mlir::Value a, mlir::Value b);
  mlir::Value isNaN(mlir::Value x);
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b) {
    return create<mlir::arith::SelectOp>(condition, a, b);
  }

  //===--- Functions of floats --------------------------------------------===//

  mlir::Value exp(mlir::Value x) { return create<mlir::math::ExpOp>(x); }
  mlir::Value log(mlir::Value x) { return create<mlir::math::LogOp>(x); }
  mlir::Value sqrt(mlir::Value x) { return create<mlir::math::SqrtOp>(x); }
  mlir::Value tanh(mlir::Value x) { return create<mlir::math::TanhOp>(x); }
  /// e ^ x - 1, accurate near zero; meant for x <= 0.
  mlir::Value expMinusOne(mlir::Value x);
  mlir::Value sigmoid(mlir::Value x);
  /// log(1 + e ^ x) without overflow, accurate also where it is small.
  mlir::Value softplus(mlir::Value x);

  //===--- Conversions ----------------------------------------------------===//

  /// Between any integers and floats, i1 being bool. Floats become integers
  /// towards zero, saturating, NaN as 0; integers wrap. The builder's
  /// signedness is that of the integer `value`, `toUnsigned` that of `type`.
  mlir::Value convert(mlir::Value value, mlir::Type type, bool toUnsigned);

  /// Any number as an f32 that rounds to a narrower float as the number would.
  mlir::Value toNarrowable(mlir::Value value);
  /// A narrow float as f32, any other value as it is.
  mlir::Value widen(mlir::Value value);

private:
  bool isFloat(mlir::Value value) const {
    return mlir::isa<mlir::FloatType>(value.getType());
  }
  mlir::Value toInteger(mlir::Value value, mlir::IntegerType type,
                        bool toUnsigned);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  bool isUnsigned;
};

/// The type in which floats are computed: f32 for f16 and bf16.
mlir::Type getComputeType(mlir::Type type);

} // namespace onnx_aot

#endif // ONNX_AOT_CONVERSION_ONNXTOLINALG_SCALARBUILDER_H

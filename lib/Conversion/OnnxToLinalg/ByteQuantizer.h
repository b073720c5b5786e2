//===- ByteQuantizer.h - quantize many floats by one scale ------*- C++ -*-===//
//
// A division takes a vector unit longer than all else that QuantizeLinear does.
// With one scale for all elements the same quotient, to the last bit, follows
// from the scale's reciprocal.
//
//===----------------------------------------------------------------------===//

#ifndef ONNX_AOT_CONVERSION_ONNXTOLINALG_BYTEQUANTIZER_H
#define ONNX_AOT_CONVERSION_ONNXTOLINALG_BYTEQUANTIZER_H

#include "ScalarBuilder.h"

namespace onnx_aot {

/// An integral float within the bounds of a type of at most 16 bits, as that
/// type; NaN becomes 0. Cheaper than a conversion of any float.
mlir::Value convertWithin(ScalarBuilder &scalars, mlir::Value rounded,
                          double low, double high, mlir::Type type);

/// Quantizes f32 to an integer type of at most 16 bits:
/// `saturate(roundeven(x / scale) + point)`, and NaN to 0.
class ByteQuantizer {
public:
  /// Emits what all elements share. `scale` is f32 and not negative, `point` an
  /// i32, `type` the result's, within `low` and `high`.
  ByteQuantizer(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value scale,
                mlir::Value point, double low, double high, mlir::Type type);

  /// Whether a constant scale is one of those that need no factor.
  static bool isOrdinary(double scale);

  mlir::Value quantize(ScalarBuilder &scalars, mlir::Value x) const;

private:
  mlir::Type type;
  mlir::Value factor; ///< of x; null for 1
  mlir::Value least, most, nothing;
  mlir::Value negatedScale, reciprocal, missing;
  mlir::Value point;
};

} // namespace onnx_aot

#endif // ONNX_AOT_CONVERSION_ONNXTOLINALG_BYTEQUANTIZER_H

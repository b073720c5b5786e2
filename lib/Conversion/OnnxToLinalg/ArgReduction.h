//===- ArgReduction.h - positions of extremes -------------------*- C++ -*-===//

#ifndef ONNX_AOT_CONVERSION_ONNXTOLINALG_ARGREDUCTION_H
#define ONNX_AOT_CONVERSION_ONNXTOLINALG_ARGREDUCTION_H

#include "LoweringBase.h"

namespace onnx_aot {

/// Which position a reduction along an axis asks for. NaN beats all numbers.
struct ArgRule {
  bool isUnsigned = false;
  bool smallest = false;
  /// Of equal extremes the last one, not the first.
  bool lastOfEqual = false;
};

/// The i64 positions along `axis`, which is dropped. The result does not depend
/// on the order of the reduction.
mlir::Value createArgReduction(mlir::OpBuilder &builder, mlir::Location loc,
                               mlir::Value data, int64_t axis, ArgRule rule);

} // namespace onnx_aot

#endif // ONNX_AOT_CONVERSION_ONNXTOLINALG_ARGREDUCTION_H

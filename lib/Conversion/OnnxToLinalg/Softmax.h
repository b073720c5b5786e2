//===- Softmax.h - softmax and its logarithm --------------------*- C++ -*-===//

#ifndef ONNX_AOT_CONVERSION_ONNXTOLINALG_SOFTMAX_H
#define ONNX_AOT_CONVERSION_ONNXTOLINALG_SOFTMAX_H

#include "LoweringBase.h"
#include "ScalarBuilder.h"

namespace onnx_aot {

/// e ^ (x - max x) / sum e ^ (x - max x) along an axis; of a scalar it is 1. A
/// row of nothing but -inf gives NaN. The element type stays.
mlir::Value createSoftmax(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::Value x, int64_t axis);

/// x - max x - log(sum e ^ (x - max x)) along an axis, of an element type.
mlir::Value createLogSoftmax(mlir::OpBuilder &builder, mlir::Location loc,
                             mlir::Value x, int64_t axis,
                             mlir::Type elementType);

/// The larger of two numbers from which a row's maximum is made: as what it is
/// for is to be subtracted, zeros need not be told apart.
mlir::Value createRowMaximum(ScalarBuilder &scalars, mlir::Value a,
                             mlir::Value b);

} // namespace onnx_aot

#endif // ONNX_AOT_CONVERSION_ONNXTOLINALG_SOFTMAX_H

//===- Quantization.h - how far a scale reaches -----------------*- C++ -*-===//

#ifndef ONNX_AOT_DIALECT_ONNX_IR_QUANTIZATION_H
#define ONNX_AOT_DIALECT_ONNX_IR_QUANTIZATION_H

#include "onnx-aot/Dialect/Onnx/IR/Shape.h"

namespace onnx_aot::onnx {

class QLinearConvOp;
class QLinearMatMulOp;

/// Which element of the scale and of the zero point belongs to an element of
/// the quantized tensor.
struct QuantizationLayout {
  enum Kind { PerTensor, PerAxis, Blocked } kind;
  int64_t axis = 0;
  int64_t blockSize = 1;
};

/// The layout from the shapes of the tensor and of its scale; reports at the op
/// where they contradict each other. Both must be ranked.
mlir::FailureOr<QuantizationLayout>
getQuantizationLayout(mlir::Operation *op, mlir::Value tensor,
                      mlir::Value scale, int64_t axis, int64_t blockSize);

/// sum * aScale * bScale as f32, of an int32 sum of products. A scale for each
/// index of dimension `axis` is a list.
mlir::Value createScaledSum(mlir::OpBuilder &builder, mlir::Location loc,
                            mlir::Value sum, mlir::Value aScale,
                            mlir::Value bScale, int64_t axis);

/// A product of quantized tensors as an integer product, whose sums are exact
/// in int32, and one quantization of the sum. Reports at the op what it cannot
/// do.
mlir::FailureOr<mlir::Value> decomposeQuantizedProduct(mlir::OpBuilder &builder,
                                                       QLinearMatMulOp op);
mlir::FailureOr<mlir::Value> decomposeQuantizedProduct(mlir::OpBuilder &builder,
                                                       QLinearConvOp op);

/// Whether a scale or zero point is one for the whole tensor.
bool isSingleElement(mlir::Value value);

} // namespace onnx_aot::onnx

#endif // ONNX_AOT_DIALECT_ONNX_IR_QUANTIZATION_H

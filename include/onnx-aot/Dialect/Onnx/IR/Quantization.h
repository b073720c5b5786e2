//===- Quantization.h - how far a scale reaches -----------------*- C++ -*-===//

#ifndef ONNX_AOT_DIALECT_ONNX_IR_QUANTIZATION_H
#define ONNX_AOT_DIALECT_ONNX_IR_QUANTIZATION_H

#include "onnx-aot/Dialect/Onnx/IR/Shape.h"

namespace onnx_aot::onnx {

/// Which element of the scale and of the zero point belongs to an element of the
/// quantized tensor.
struct QuantizationLayout {
  enum Kind { PerTensor, PerAxis, Blocked } kind;
  int64_t axis = 0;
  int64_t blockSize = 1;
};

/// The layout from the shapes of the tensor and of its scale; reports at the op
/// where they contradict each other. Both must be ranked.
mlir::FailureOr<QuantizationLayout>
getQuantizationLayout(mlir::Operation *op, mlir::Value tensor, mlir::Value scale,
                      int64_t axis, int64_t blockSize);

} // namespace onnx_aot::onnx

#endif // ONNX_AOT_DIALECT_ONNX_IR_QUANTIZATION_H

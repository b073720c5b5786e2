//===- ExpandDeviceMath.h - functions that the device has not ---*- C++ -*-===//

#ifndef ONNX_AOT_CODEGEN_GPU_EXPANDDEVICEMATH_H
#define ONNX_AOT_CODEGEN_GPU_EXPANDDEVICEMATH_H

#include "mlir/IR/PatternMatch.h"

namespace onnx_aot {

/// Elementary functions of `type` that become arithmetic in f64.
bool isExpandedInDouble(mlir::Operation *op, mlir::Type type);

/// Adds the patterns that do so.
void populateExpandDeviceMathPatterns(mlir::RewritePatternSet &patterns);

} // namespace onnx_aot

#endif // ONNX_AOT_CODEGEN_GPU_EXPANDDEVICEMATH_H

//===- ExpandDeviceMath.h - functions that the device has not ---*- C++ -*-===//

#ifndef ONNX_AOT_CODEGEN_GPU_EXPANDDEVICEMATH_H
#define ONNX_AOT_CODEGEN_GPU_EXPANDDEVICEMATH_H

#include "mlir/IR/PatternMatch.h"

namespace onnx_aot {

/// Elementary functions that become arithmetic in f64 where their type is f32.
bool isExpandedInDouble(mlir::Operation *op);

/// Adds the patterns that do so.
void populateExpandDeviceMathPatterns(mlir::RewritePatternSet &patterns);

} // namespace onnx_aot

#endif // ONNX_AOT_CODEGEN_GPU_EXPANDDEVICEMATH_H

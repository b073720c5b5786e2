//===- ZeroPoints.h - zero points of integer products -----------*- C++ -*-===//

#ifndef ONNX_AOT_CONVERSION_ONNXTOLINALG_ZEROPOINTS_H
#define ONNX_AOT_CONVERSION_ONNXTOLINALG_ZEROPOINTS_H

#include "onnx-aot/Dialect/Onnx/IR/Shape.h"

namespace onnx_aot {

/// True for a constant of zeros (before conversion): nothing to subtract.
inline bool isZeroConstant(mlir::Value original) {
  auto numbers = onnx::getConstantIntegers(original);
  return numbers &&
         llvm::all_of(*numbers, [](int64_t number) { return number == 0; });
}

} // namespace onnx_aot

#endif // ONNX_AOT_CONVERSION_ONNXTOLINALG_ZEROPOINTS_H

//===- Gather.h - indices read from tensors ---------------------*- C++ -*-===//

#ifndef ONNX_AOT_CONVERSION_ONNXTOLINALG_GATHER_H
#define ONNX_AOT_CONVERSION_ONNXTOLINALG_GATHER_H

#include "LoweringBase.h"

namespace onnx_aot {

/// Stops the run when an element of `indices` is outside [-size, size). Nothing
/// is to do for constants when the size is constant too, since the shape
/// function has checked them; `original` is the value before conversion, or
/// null.
void checkIndices(mlir::OpBuilder &builder, mlir::Operation *op,
                  mlir::Value original, mlir::Value indices, mlir::Value size);

/// Stops the run with `message` when an element of `values`, signed integers or
/// floats, is outside [low, high), or a NaN. The bounds are index values.
void checkRange(mlir::OpBuilder &builder, mlir::Operation *op,
                mlir::Value values, mlir::Value low, mlir::Value high,
                const llvm::Twine &message);

/// checkIndices for a tensor whose last dimension holds one index per size.
void checkAddresses(mlir::OpBuilder &builder, mlir::Operation *op,
                    mlir::Value indices, llvm::ArrayRef<mlir::Value> sizes);

} // namespace onnx_aot

#endif // ONNX_AOT_CONVERSION_ONNXTOLINALG_GATHER_H

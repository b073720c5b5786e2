//===- Dropout.h - dropout from the seed of a step --------------*- C++ -*-===//

#ifndef ONNX_AOT_LIB_TRAINING_DROPOUT_H
#define ONNX_AOT_LIB_TRAINING_DROPOUT_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace onnx_aot {

/// Whether the entry holds a Dropout in training mode.
bool hasTrainingDropout(mlir::func::FuncOp entry);

/// Writes these out as arithmetic on `seed`, a tensor of the seed and the
/// step's number (int64), so that every step drops other elements and any run
/// with the same seed the same.
void expandTrainingDropout(mlir::func::FuncOp entry, mlir::Value seed);

} // namespace onnx_aot

#endif // ONNX_AOT_LIB_TRAINING_DROPOUT_H

//===- ReplaceSizes.h - other sizes in all types ----------------*- C++ -*-===//

#ifndef ONNX_AOT_DIALECT_ONNX_IR_REPLACESIZES_H
#define ONNX_AOT_DIALECT_ONNX_IR_REPLACESIZES_H

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/Operation.h"

namespace onnx_aot::onnx {

/// States the known sizes of all tensor types in and below `op` by `sizes`,
/// which maps symbols to expressions.
void replaceSizes(
    mlir::Operation *op,
    const llvm::DenseMap<mlir::AffineExpr, mlir::AffineExpr> &sizes);

} // namespace onnx_aot::onnx

#endif // ONNX_AOT_DIALECT_ONNX_IR_REPLACESIZES_H

//===- Einsum.h - equations of Einsum ---------------------------*- C++ -*-===//

#ifndef ONNX_AOT_DIALECT_ONNX_IR_EINSUM_H
#define ONNX_AOT_DIALECT_ONNX_IR_EINSUM_H

#include "onnx-aot/Dialect/Onnx/IR/Shape.h"

namespace onnx_aot::onnx {

/// One number per dimension: equal numbers are the same index.
using EinsumLabels = llvm::SmallVector<int>;

/// An equation over inputs of known ranks; `...` is spelled out as labels.
struct EinsumEquation {
  llvm::SmallVector<EinsumLabels> inputs;
  EinsumLabels output;
};

/// Parses `equation`; an error at `op` where it is malformed or does not fit
/// the ranks of its inputs.
mlir::FailureOr<EinsumEquation> parseEinsum(mlir::Operation *op,
                                            llvm::StringRef equation,
                                            llvm::ArrayRef<int64_t> ranks);

} // namespace onnx_aot::onnx

#endif // ONNX_AOT_DIALECT_ONNX_IR_EINSUM_H

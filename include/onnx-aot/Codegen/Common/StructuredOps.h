//===- StructuredOps.h - what a linalg.generic computes ---------*- C++ -*-===//

#ifndef ONNX_AOT_CODEGEN_COMMON_STRUCTUREDOPS_H
#define ONNX_AOT_CODEGEN_COMMON_STRUCTUREDOPS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace onnx_aot::codegen {

/// All loops parallel, and the results are indexed by permutations of them.
bool isPointwise(mlir::linalg::GenericOp op);

/// A body that only yields one of its inputs.
bool isDataMovement(mlir::linalg::GenericOp op);

/// Input and output maps are permutations of all loops (a transposition).
bool isPermutation(mlir::linalg::GenericOp op);

/// How a reduction combines its accumulator with a new value.
struct Combiner {
  /// The combining operation in the body (arith.addf, arith.maximumf, ...).
  mlir::Operation *op = nullptr;
  /// Which of its operands is the accumulator (0 or 1).
  unsigned accumulator = 0;
};

/// The combiner of a generic with one result and at least one reduction loop;
/// nothing when the body is of another form.
std::optional<Combiner> getCombiner(mlir::linalg::GenericOp op);

/// A sum of products of two inputs: matrix products and convolutions.
bool isContraction(mlir::linalg::GenericOp op);

/// The scalar with which the output of a reduction starts, from its
/// linalg.fill.
mlir::Value getInitialScalar(mlir::linalg::GenericOp op);

} // namespace onnx_aot::codegen

#endif // ONNX_AOT_CODEGEN_COMMON_STRUCTUREDOPS_H

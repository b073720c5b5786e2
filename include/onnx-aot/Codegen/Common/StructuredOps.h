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

/// On a contraction (UnitAttr) whose loops end with blocks of the reduction,
/// words of a block and the numbers of a word: its inputs are the rows, words,
/// and for each block and column a scale and an offset. The body's product is
/// that of the row's element and of a weight made of the other three.
constexpr llvm::StringLiteral kPackedAttr = "kernel.packed_weights";

/// A sum of products of two inputs, or of one and of packed weights: matrix
/// products and convolutions.
bool isContraction(mlir::linalg::GenericOp op);

/// The scalar with which the output of a reduction starts, from its
/// linalg.fill.
mlir::Value getInitialScalar(mlir::linalg::GenericOp op);

} // namespace onnx_aot::codegen

#endif // ONNX_AOT_CODEGEN_COMMON_STRUCTUREDOPS_H

//===- LayoutRewrites.h - transposes on their way down ----------*- C++ -*-===//

#ifndef ONNX_AOT_LIB_TRANSFORMS_LAYOUTREWRITES_H
#define ONNX_AOT_LIB_TRANSFORMS_LAYOUTREWRITES_H

#include "TransformUtils.h"

#include "mlir/IR/PatternMatch.h"

namespace onnx_aot {

/// A Transpose as an operand: result dimension i is source dimension
/// permutation[i].
struct TransposedValue {
  mlir::Value source;
  llvm::SmallVector<int64_t> permutation;
};

/// The value read as a Transpose of known rank; nothing for other values.
std::optional<TransposedValue> getTransposed(mlir::Value value);

/// The permutation that undoes another.
llvm::SmallVector<int64_t> invert(llvm::ArrayRef<int64_t> permutation);

/// Channels first to last and back, for a rank of at least 3.
llvm::SmallVector<int64_t> getToChannelsLast(int64_t rank);
llvm::SmallVector<int64_t> getToChannelsFirst(int64_t rank);

/// A Transpose of the value; of a constant, the permuted constant.
mlir::Value createTranspose(mlir::OpBuilder &builder, mlir::Location loc,
                            mlir::Value value,
                            llvm::ArrayRef<int64_t> permutation);

/// The type of a value whose Transpose has this type; unranked where the ranks
/// differ.
mlir::Type getSourceType(mlir::Type transposed,
                         llvm::ArrayRef<int64_t> permutation);

/// Infers the result types of a copy that works in the layout before the
/// permutation. What cannot be inferred keeps the symbols that the original's
/// types gave it.
void inferMovedTypes(mlir::Operation *moved,
                     llvm::ArrayRef<int64_t> permutation);

/// One result, whose elements come from the operands' elements at the same,
/// broadcast position.
bool isPointwise(mlir::Operation *op);

/// Whether a Transpose of the value moves no element: at most one dimension is
/// not known to be 1.
bool isFreeToTranspose(mlir::Value value);

/// Moves transposes from the operands of ops to their results:
/// op(Transpose(x)) -> Transpose(op'(x)).
void populatePushTransposePatterns(mlir::RewritePatternSet &patterns);
/// The same for ops whose attributes or operands name dimensions.
void populatePushTransposeAxisPatterns(mlir::RewritePatternSet &patterns);
/// Transposes that cancel, that do nothing, or that only move unit dimensions.
void populateCancelTransposePatterns(mlir::RewritePatternSet &patterns);
void populateTransposeOfUnitDimsPatterns(mlir::RewritePatternSet &patterns);

} // namespace onnx_aot

#endif // ONNX_AOT_LIB_TRANSFORMS_LAYOUTREWRITES_H

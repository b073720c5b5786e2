//===- IndexedGeneric.h - elements computed from coordinates ----*- C++ -*-===//
//
// For ops that read their input at computed positions: sampling, gathering
// forms of scattering ops, tables of coefficients.
//
//===----------------------------------------------------------------------===//

#ifndef ONNX_AOT_CONVERSION_ONNXTOLINALG_INDEXEDGENERIC_H
#define ONNX_AOT_CONVERSION_ONNXTOLINALG_INDEXEDGENERIC_H

#include "LoweringBase.h"

namespace onnx_aot {

/// An element from its coordinates (index values).
using IndexBody = llvm::function_ref<mlir::Value(
    mlir::OpBuilder &, mlir::Location, llvm::ArrayRef<mlir::Value> indices)>;

/// result[i...] = body(i...).
mlir::Value createFromIndices(mlir::OpBuilder &builder, mlir::Location loc,
                              llvm::ArrayRef<mlir::OpFoldResult> sizes,
                              mlir::Type elementType, IndexBody body);

/// One more element of a reduction from the coordinates of the result, those
/// within the reduced space, and what was accumulated.
using IndexReductionBody = llvm::function_ref<mlir::Value(
    mlir::OpBuilder &, mlir::Location, llvm::ArrayRef<mlir::Value> indices,
    llvm::ArrayRef<mlir::Value> reduced, mlir::Value running)>;

/// result[i...] = init, then body over all coordinates below `reducedSizes`.
mlir::Value
createReductionFromIndices(mlir::OpBuilder &builder, mlir::Location loc,
                           llvm::ArrayRef<mlir::OpFoldResult> sizes,
                           llvm::ArrayRef<mlir::OpFoldResult> reducedSizes,
                           mlir::Value init, IndexReductionBody body);

/// Body of a sequential loop: the values to carry on with.
using ForBody = llvm::function_ref<llvm::SmallVector<mlir::Value>(
    mlir::OpBuilder &, mlir::Location, mlir::Value index,
    mlir::ValueRange carried)>;

/// scf.for over [lower, upper).
llvm::SmallVector<mlir::Value>
createFor(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value lower,
          mlir::Value upper, mlir::ValueRange initial, ForBody body);

/// An index brought into [0, size).
mlir::Value clampIndex(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Value index, mlir::Value size);

/// i1: 0 <= index < size.
mlir::Value isInside(mlir::OpBuilder &builder, mlir::Location loc,
                     mlir::Value index, mlir::Value size);

/// Sizes as index values.
llvm::SmallVector<mlir::Value>
toValues(mlir::OpBuilder &builder, mlir::Location loc,
         llvm::ArrayRef<mlir::OpFoldResult> sizes);

/// A float rounded towards minus infinity, as an index; NaN and what is out of
/// range become some index, never poison.
mlir::Value toIndex(mlir::OpBuilder &builder, mlir::Location loc,
                    mlir::Value number);

/// An index as a float.
mlir::Value toFloat(mlir::OpBuilder &builder, mlir::Location loc,
                    mlir::Value index, mlir::Type type);

} // namespace onnx_aot

#endif // ONNX_AOT_CONVERSION_ONNXTOLINALG_INDEXEDGENERIC_H

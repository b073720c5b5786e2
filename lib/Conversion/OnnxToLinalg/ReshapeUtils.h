//===- ReshapeUtils.h - views of the same elements --------------*- C++ -*-===//

#ifndef ONNX_AOT_CONVERSION_ONNXTOLINALG_RESHAPEUTILS_H
#define ONNX_AOT_CONVERSION_ONNXTOLINALG_RESHAPEUTILS_H

#include "LoweringBase.h"

namespace onnx_aot {

/// The elements of `tensor` (of dimensions `from`) in row-major order under the
/// dimensions `to`, whose sizes are given. A collapse and an expansion of the
/// smallest groups of dimensions that are provably equal in size.
mlir::Value createReshape(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::Value tensor, llvm::ArrayRef<onnx::Dim> from,
                          llvm::ArrayRef<onnx::Dim> to,
                          llvm::ArrayRef<mlir::OpFoldResult> sizes);

/// The same for tensors of static shape.
mlir::Value createReshape(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::Value tensor, llvm::ArrayRef<int64_t> shape);

/// All elements as one dimension.
mlir::Value createFlat(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Value tensor);

/// A 1-D tensor under other dimensions.
mlir::Value createUnflat(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::Value tensor,
                         llvm::ArrayRef<mlir::OpFoldResult> sizes);

/// linalg.transpose: dimension i of the result is dimension perm[i] of
/// `tensor`.
mlir::Value createTransposed(mlir::OpBuilder &builder, mlir::Location loc,
                             mlir::Value tensor, llvm::ArrayRef<int64_t> perm);

/// Whether one of the sizes is known to be 0.
bool isEmptySlice(llvm::ArrayRef<mlir::OpFoldResult> sizes);

/// tensor.extract_slice, which may not be empty and start at the end: an empty
/// slice is a new tensor.
mlir::Value createSlice(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Value tensor,
                        llvm::ArrayRef<mlir::OpFoldResult> offsets,
                        llvm::ArrayRef<mlir::OpFoldResult> sizes,
                        llvm::ArrayRef<mlir::OpFoldResult> strides);

/// tensor.cast where the type is another one.
mlir::Value createCast(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Value tensor, mlir::Type type);

} // namespace onnx_aot

#endif // ONNX_AOT_CONVERSION_ONNXTOLINALG_RESHAPEUTILS_H

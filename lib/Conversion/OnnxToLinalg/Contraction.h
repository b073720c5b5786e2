//===- Contraction.h - sums of products as linalg.generic -------*- C++ -*-===//
//
// The one form in which all matrix products and convolutions reach the code
// generator: a zero-filled init and a plain mul/add body, everything else
// (bias, scale, activation, narrowing) in pointwise generics behind it.
//
//===----------------------------------------------------------------------===//

#ifndef ONNX_AOT_CONVERSION_ONNXTOLINALG_CONTRACTION_H
#define ONNX_AOT_CONVERSION_ONNXTOLINALG_CONTRACTION_H

#include "LoweringBase.h"

namespace onnx_aot {

/// An input of a contraction or pointwise generic: how iteration dimensions
/// index it, and whether its integers are unsigned.
struct IndexedOperand {
  mlir::Value tensor;
  mlir::AffineMap map;
  bool isUnsigned = false;
};

/// True for tensors of unsigned integers or bools (of the onnx type).
bool isUnsignedTensor(mlir::Value original);

/// The type in which products are summed: f32 for narrower floats, the type
/// itself otherwise. `memoryType` is an element type after conversion.
mlir::Type getAccumulatorType(mlir::Type memoryType);

/// result[resultMap] = sum over the reduction iterators of the product of the
/// operands, each widened to `accumulator`.
mlir::Value createContraction(
    mlir::OpBuilder &builder, mlir::Location loc,
    llvm::ArrayRef<IndexedOperand> operands, mlir::AffineMap resultMap,
    llvm::ArrayRef<mlir::utils::IteratorType> iterators,
    llvm::ArrayRef<mlir::OpFoldResult> sizes, mlir::Type accumulator);

/// result[i...] = body(operands at i...), of the rank of `sizes`.
mlir::Value createPointwise(mlir::OpBuilder &builder, mlir::Location loc,
                            llvm::ArrayRef<IndexedOperand> operands,
                            llvm::ArrayRef<mlir::OpFoldResult> sizes,
                            mlir::Type elementType, ScalarBody body);

/// result[i...] = body(tensor[i...]).
mlir::Value createMapped(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::Value tensor, mlir::Type elementType,
                         ScalarBody body);

/// The tensor with its float elements widened or narrowed; itself if it has the
/// type already.
mlir::Value convertFloats(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::Value tensor, mlir::Type elementType);

/// A scalar widened or narrowed to another float type, or a narrower integer
/// extended.
mlir::Value convertScalar(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::Value scalar, mlir::Type type,
                          bool isUnsigned = false);

/// The tensor under `type`, which differs in dynamic sizes at most.
mlir::Value castTensor(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Value tensor, mlir::Type type);

/// Sum and product of scalars of one integer or float type.
mlir::Value createAdd(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value a, mlir::Value b);
mlir::Value createMul(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value a, mlir::Value b);

/// An affine expression over sizes, `d0` being the first, as one size.
mlir::OpFoldResult foldSizes(mlir::OpBuilder &builder, mlir::Location loc,
                             mlir::AffineExpr expr,
                             llvm::ArrayRef<mlir::OpFoldResult> sizes);

/// The larger of two affine expressions over sizes.
mlir::OpFoldResult foldMaxOfSizes(mlir::OpBuilder &builder, mlir::Location loc,
                                  mlir::AffineExpr a, mlir::AffineExpr b,
                                  llvm::ArrayRef<mlir::OpFoldResult> sizes);

/// Size of a dimension broadcast from two (numpy's rule).
mlir::OpFoldResult broadcastSizes(mlir::OpBuilder &builder, mlir::Location loc,
                                  mlir::OpFoldResult a, mlir::OpFoldResult b);

} // namespace onnx_aot

#endif // ONNX_AOT_CONVERSION_ONNXTOLINALG_CONTRACTION_H

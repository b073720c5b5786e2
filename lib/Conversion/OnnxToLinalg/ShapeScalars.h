//===- ShapeScalars.h - small integer tensors as scalars --------*- C++ -*-===//
//
// Shapes, axes and indices are computed as scalars: an op whose operands and
// result are small integer tensors becomes a tensor.from_elements, out of which
// later tensor.extract ops fold. Nothing of them is left in memory.
//
//===----------------------------------------------------------------------===//

#ifndef ONNX_AOT_CONVERSION_ONNXTOLINALG_SHAPESCALARS_H
#define ONNX_AOT_CONVERSION_ONNXTOLINALG_SHAPESCALARS_H

#include "LoweringBase.h"

namespace onnx_aot {

/// An integer or bool tensor of static shape with at most 16 elements.
bool isSmallIntegers(mlir::Type type);

/// Result and all operands are small integer tensors: computed as scalars.
bool isShapeArithmetic(mlir::Operation *op);

/// The elements of a converted tensor of static shape, in row-major order.
llvm::SmallVector<mlir::Value>
getElements(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value tensor);

/// The elements of a converted 1-D or rank-0 integer tensor as indices.
llvm::SmallVector<mlir::Value> getIndexElements(mlir::OpBuilder &builder,
                                                mlir::Location loc,
                                                mlir::Value tensor);

/// The one element of a converted tensor of rank 0 or of size 1.
mlir::Value getOnlyElement(mlir::OpBuilder &builder, mlir::Location loc,
                           mlir::Value tensor);

/// A tensor of these elements, in row-major order.
mlir::Value createFromElements(mlir::OpBuilder &builder, mlir::Location loc,
                               mlir::Type tensorType,
                               llvm::ArrayRef<mlir::Value> elements);

/// Lowers a pointwise op of shape arithmetic, with broadcasting; `body` as in
/// lowerPointwise.
llvm::LogicalResult lowerToScalars(mlir::ConversionPatternRewriter &rewriter,
                                   mlir::Operation *op,
                                   mlir::ValueRange operands,
                                   mlir::ValueRange convertedOperands,
                                   ScalarBody body);

/// Signed arithmetic on index values.
class IndexBuilder {
public:
  IndexBuilder(mlir::OpBuilder &builder, mlir::Location loc)
      : builder(builder), loc(loc) {}

  mlir::Value constant(int64_t value);
  mlir::Value get(mlir::OpFoldResult size);
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value sub(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, mlir::Value b);
  /// Quotients of non-negative values by positive ones.
  mlir::Value div(mlir::Value a, mlir::Value b);
  mlir::Value ceilDiv(mlir::Value a, mlir::Value b);
  mlir::Value rem(mlir::Value a, mlir::Value b);
  mlir::Value min(mlir::Value a, mlir::Value b);
  mlir::Value max(mlir::Value a, mlir::Value b);
  mlir::Value clamp(mlir::Value x, mlir::Value low, mlir::Value high);
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b);
  mlir::Value compare(mlir::arith::CmpIPredicate predicate, mlir::Value a,
                      mlir::Value b);
  mlir::Value isNegative(mlir::Value x);
  mlir::Value product(llvm::ArrayRef<mlir::Value> factors);
  /// An index that counts from the end when negative, forced into
  /// [0, size - 1] (0 when the size is 0).
  mlir::Value wrapIndex(mlir::Value position, mlir::Value size);
  /// From any integer type; `isUnsigned` is that of the ONNX type.
  mlir::Value fromInteger(mlir::Value value, bool isUnsigned = false);

private:
  mlir::OpBuilder &builder;
  mlir::Location loc;
};

} // namespace onnx_aot

#endif // ONNX_AOT_CONVERSION_ONNXTOLINALG_SHAPESCALARS_H

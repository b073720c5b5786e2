//===- ShapeInference.h - helpers of shape functions ------------*- C++ -*-===//

#ifndef ONNX_AOT_DIALECT_ONNX_IR_SHAPEINFERENCE_H
#define ONNX_AOT_DIALECT_ONNX_IR_SHAPEINFERENCE_H

#include "onnx-aot/Dialect/Onnx/IR/Shape.h"

#include "mlir/IR/OpDefinition.h"

namespace onnx_aot::onnx {

//===--- Arithmetic on dimensions -----------------------------------------===//

/// Product of dimensions; 1 for none.
Dim getProduct(mlir::MLIRContext *context, llvm::ArrayRef<Dim> dims);

/// The quotient where it is known to be exact once the division is: common
/// factors cancel, a constant that is left divides. Unknown otherwise.
Dim divideExactly(Dim dividend, Dim divisor);

/// Provably >= 0; symbols are sizes, hence never negative.
bool isNonNegative(Dim dim);

/// A symbol for a size that affine expressions cannot say, named by what it is
/// (`#min(s0, 4)`), so that the same size gets the same symbol everywhere.
Dim getNamedDim(mlir::Operation *op, const llvm::Twine &name);

/// min and max, as a named symbol where neither is provable.
Dim getMinimum(mlir::Operation *op, Dim a, Dim b);
Dim getMaximum(mlir::Operation *op, Dim a, Dim b);

/// Text of a dimension for names and messages: `s0 * 4`, `?`.
std::string toString(Dim dim);

//===--- Slices -----------------------------------------------------------===//

/// The elements of one axis that a slice takes: `count` of them from `first`.
struct SliceRange {
  int64_t first, count;
};

/// Clamps start and end as ONNX's Slice says. `step` must not be 0.
SliceRange clampSlice(int64_t start, int64_t end, int64_t step, int64_t size);

/// Number of elements of size[start:end:step], symbolic where need be.
Dim getSliceSize(mlir::Operation *op, Dim size, Dim start, Dim end, Dim step);

//===--- Checks that report at the op -------------------------------------===//

/// Axis in [0, rank) from one that may be negative.
mlir::FailureOr<int64_t> checkAxis(mlir::Operation *op, int64_t axis,
                                   int64_t rank);

/// Distinct axes in [0, rank).
mlir::FailureOr<llvm::SmallVector<int64_t>>
checkAxes(mlir::Operation *op, llvm::ArrayRef<int64_t> axes, int64_t rank);

/// Refuses an operand that is not a tensor of integers of rank <= 1, such as a
/// shape, pads or axes.
llvm::LogicalResult checkIntegerList(mlir::Operation *op, mlir::Value operand,
                                     llvm::StringRef name);

//===--- Results ----------------------------------------------------------===//

/// `rank` unknown dimensions.
Shape getUnknownShape(int64_t rank);

/// tensor<*xT>.
mlir::Type getUnrankedType(mlir::Type elementType);

/// What an op of shape arithmetic computes where all elements are known at
/// compile time; null otherwise.
mlir::OpFoldResult foldShapeValue(mlir::Operation *op);

} // namespace onnx_aot::onnx

#endif // ONNX_AOT_DIALECT_ONNX_IR_SHAPEINFERENCE_H

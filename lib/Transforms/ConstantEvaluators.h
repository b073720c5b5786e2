//===- ConstantEvaluators.h - onnx ops on constants -------------*- C++ -*-===//

#ifndef ONNX_AOT_LIB_TRANSFORMS_CONSTANTEVALUATORS_H
#define ONNX_AOT_LIB_TRANSFORMS_CONSTANTEVALUATORS_H

#include "ConstantData.h"

namespace onnx_aot {

/// Whether there is an evaluator for the op; the cheap question first.
bool isDataMovement(mlir::Operation *op);
bool isArithmetic(mlir::Operation *op);

/// The results of an op that only moves elements (Reshape, Transpose, Concat,
/// Slice, ...); exact. The operands must be constant and the result types
/// static. Fails for forms it does not evaluate.
mlir::LogicalResult
evaluateDataMovement(mlir::Operation *op,
                     llvm::SmallVectorImpl<mlir::ElementsAttr> &results);

/// The result of a pointwise op under the same conditions. Floats are computed
/// in double and rounded once: the correctly rounded result for + - * / and
/// sqrt.
mlir::LogicalResult
evaluateArithmetic(mlir::Operation *op,
                   llvm::SmallVectorImpl<mlir::ElementsAttr> &results);

/// Row-major strides of a shape, in elements.
llvm::SmallVector<int64_t> getStrides(llvm::ArrayRef<int64_t> shape);

/// Calls `body(index, offsets)` for each element of a shape in row-major order;
/// offsets[i] is where operand i of strides[i] (one per dimension of the shape,
/// 0 where it broadcasts) has that element.
void forEachElement(
    llvm::ArrayRef<int64_t> shape,
    llvm::ArrayRef<llvm::SmallVector<int64_t>> strides,
    llvm::ArrayRef<int64_t> starts,
    llvm::function_ref<void(int64_t, llvm::ArrayRef<int64_t>)> body);

/// Strides of an operand that broadcasts to a shape.
llvm::SmallVector<int64_t> getBroadcastStrides(llvm::ArrayRef<int64_t> operand,
                                               llvm::ArrayRef<int64_t> shape);

} // namespace onnx_aot

#endif // ONNX_AOT_LIB_TRANSFORMS_CONSTANTEVALUATORS_H

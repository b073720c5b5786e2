//===- Generate.h - tensors computed element by element ---------*- C++ -*-===//

#ifndef ONNX_AOT_CONVERSION_ONNXTOLINALG_GENERATE_H
#define ONNX_AOT_CONVERSION_ONNXTOLINALG_GENERATE_H

#include "LoweringBase.h"

namespace onnx_aot {

/// An operand of createGenerated: a tensor and the dimensions of the result by
/// which it is indexed.
struct GeneratedInput {
  mlir::Value tensor;
  llvm::SmallVector<int64_t> dims;
};

/// An element of the result from its coordinates and the inputs' elements.
using ElementBody = llvm::function_ref<mlir::Value(
    mlir::OpBuilder &, mlir::Location, llvm::ArrayRef<mlir::Value> indices,
    mlir::ValueRange inputs)>;

/// A parallel linalg.generic whose elements `body` computes.
mlir::Value createGenerated(mlir::OpBuilder &builder, mlir::Location loc,
                            llvm::ArrayRef<mlir::OpFoldResult> sizes,
                            mlir::Type elementType,
                            llvm::ArrayRef<GeneratedInput> inputs,
                            ElementBody body);

/// Replaces the op's result by a tensor, cast to the converted type.
void replaceWithCast(mlir::ConversionPatternRewriter &rewriter,
                     mlir::Operation *op, mlir::Value result);

/// Body of a loop over one dimension: the index and the tensors carried so far,
/// to the tensors to carry on with.
using LoopBody = llvm::function_ref<llvm::SmallVector<mlir::Value>(
    mlir::OpBuilder &, mlir::Location, mlir::Value index,
    mlir::ValueRange carried)>;

/// scf.for from 0 to count (an index).
llvm::SmallVector<mlir::Value> createLoop(mlir::OpBuilder &builder,
                                          mlir::Location loc, mlir::Value count,
                                          mlir::ValueRange initial,
                                          LoopBody body);

/// Body of nested loops: the indices and what is carried, to the next carried.
using LoopNestBody = llvm::function_ref<llvm::SmallVector<mlir::Value>(
    mlir::OpBuilder &, mlir::Location, llvm::ArrayRef<mlir::Value> indices,
    mlir::ValueRange carried)>;

/// scf.for loops over all elements of a space in row-major order. A space of no
/// dimensions has one element.
llvm::SmallVector<mlir::Value>
createLoopNest(mlir::OpBuilder &builder, mlir::Location loc,
               llvm::ArrayRef<mlir::OpFoldResult> sizes,
               mlir::ValueRange initial, LoopNestBody body);

/// scf.if of one condition (i1) with results of the given types.
llvm::SmallVector<mlir::Value>
createIf(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value condition,
         llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::OpBuilder &,
                                                           mlir::Location)>
             then,
         llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::OpBuilder &,
                                                           mlir::Location)>
             otherwise);

} // namespace onnx_aot

#endif // ONNX_AOT_CONVERSION_ONNXTOLINALG_GENERATE_H

//===- GenericBuilder.h - maps and reductions as linalg.generic -*- C++ -*-===//
//
// What lowerings of more than one linalg.generic are composed of.
//
//===----------------------------------------------------------------------===//

#ifndef ONNX_AOT_CONVERSION_ONNXTOLINALG_GENERICBUILDER_H
#define ONNX_AOT_CONVERSION_ONNXTOLINALG_GENERICBUILDER_H

#include "LoweringBase.h"

namespace onnx_aot {

/// One input of a linalg.generic and where it is read. Without a map it is read
/// at the place of the iteration.
struct GenericInput {
  GenericInput(mlir::Value tensor, mlir::AffineMap map = {})
      : tensor(tensor), map(map) {}
  mlir::Value tensor;
  mlir::AffineMap map;
};

/// A tensor of these sizes whose elements are `body` of the inputs' elements.
mlir::Value createMap(mlir::OpBuilder &builder, mlir::Location loc,
                      llvm::ArrayRef<mlir::OpFoldResult> sizes,
                      mlir::Type elementType,
                      llvm::ArrayRef<GenericInput> inputs, ScalarBody body);

/// Reduces the marked dimensions of the iteration space into a tensor of the
/// other ones, whose elements start as `init`. `body` gets the inputs' elements
/// and, last, what was accumulated. `sizes` are those of the iteration space.
mlir::Value createReduction(mlir::OpBuilder &builder, mlir::Location loc,
                            llvm::ArrayRef<mlir::OpFoldResult> sizes,
                            llvm::ArrayRef<bool> reduced, mlir::Value init,
                            llvm::ArrayRef<GenericInput> inputs,
                            ScalarBody body);

/// Where a reduction's result is read in the space that was reduced.
mlir::AffineMap getKeptMap(mlir::MLIRContext *context,
                           llvm::ArrayRef<bool> reduced);

/// Only the sizes that are not reduced.
llvm::SmallVector<mlir::OpFoldResult>
getKeptSizes(llvm::ArrayRef<mlir::OpFoldResult> sizes,
             llvm::ArrayRef<bool> reduced);

/// Gives a reduction's result the reduced dimensions back, with size 1.
mlir::Value expandReduced(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::Value kept,
                          llvm::ArrayRef<mlir::OpFoldResult> sizes,
                          llvm::ArrayRef<bool> reduced);

/// The number of elements that one result of a reduction is made of, as a
/// scalar of an integer or float type.
mlir::Value createReducedCount(mlir::OpBuilder &builder, mlir::Location loc,
                               llvm::ArrayRef<mlir::OpFoldResult> sizes,
                               llvm::ArrayRef<bool> reduced, mlir::Type type);

/// The value under the memory form of an onnx type: only what is static may
/// differ between the two.
mlir::Value castToOnnxType(mlir::OpBuilder &builder, mlir::Location loc,
                           mlir::Value value, mlir::Type onnxType);

} // namespace onnx_aot

#endif // ONNX_AOT_CONVERSION_ONNXTOLINALG_GENERICBUILDER_H

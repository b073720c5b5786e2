//===- Calls.h - ops that C functions compute -------------------*- C++ -*-===//

#ifndef ONNX_AOT_CONVERSION_ONNXTOLINALG_CALLS_H
#define ONNX_AOT_CONVERSION_ONNXTOLINALG_CALLS_H

#include "LoweringBase.h"

namespace onnx_aot {

/// The ABI's element types of tensors of onnx types, 0 for one it has not.
llvm::SmallVector<int32_t> getCallTypes(mlir::TypeRange types);

/// A call of a function of abi/CustomOp.h for one op.
class FunctionCall {
public:
  /// `types` are the ABI's element types of the node's inputs, 0 for one that
  /// is left out and has no value in `inputs`, which are converted.
  FunctionCall(mlir::Operation *op, llvm::ArrayRef<int32_t> types,
               mlir::ValueRange inputs, mlir::DictionaryAttr attributes)
      : op(op), types(types), inputs(inputs), attributes(attributes) {}

  /// Asks `callee` for the sizes of outputs of these onnx types: one of 64 bits
  /// for each dimension, which is negative where the function has not told it.
  llvm::SmallVector<mlir::Value> askSizes(mlir::OpBuilder &builder,
                                          llvm::StringRef callee,
                                          mlir::TypeRange outputs) const;

  /// Lets `callee` compute outputs of these onnx types and these sizes, one
  /// list after the other.
  llvm::SmallVector<mlir::Value>
  compute(mlir::OpBuilder &builder, llvm::StringRef callee,
          mlir::TypeRange outputs,
          llvm::ArrayRef<llvm::SmallVector<mlir::OpFoldResult>> sizes) const;

private:
  mlir::Operation *op;
  llvm::ArrayRef<int32_t> types;
  mlir::ValueRange inputs;
  mlir::DictionaryAttr attributes;
};

/// What a lowering pattern adds for operators that a user writes.
void populateOnnxToLinalgCallsPatterns(const LoweringContext &lowering,
                                       mlir::RewritePatternSet &patterns);

} // namespace onnx_aot

#endif // ONNX_AOT_CONVERSION_ONNXTOLINALG_CALLS_H

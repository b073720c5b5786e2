//===- Strings.h - the ops on tensors of strings ----------------*- C++ -*-===//
//
// Apart from Onnx.h: few files see them.
//
//===----------------------------------------------------------------------===//

#ifndef ONNX_AOT_DIALECT_ONNX_IR_STRINGS_H
#define ONNX_AOT_DIALECT_ONNX_IR_STRINGS_H

#include "onnx-aot/Dialect/Onnx/IR/Onnx.h"

#define GET_OP_CLASSES
#include "onnx-aot/Dialect/Onnx/IR/StringOps.h.inc"

namespace onnx_aot::onnx {

/// A tensor of strings, or a sequence or an optional of such tensors.
bool holdsStrings(mlir::Type type);

/// Creates a constant tensor of strings in row-major order.
mlir::Value createStrings(mlir::OpBuilder &builder, mlir::Location loc,
                          llvm::ArrayRef<llvm::StringRef> values,
                          llvm::ArrayRef<int64_t> shape);

} // namespace onnx_aot::onnx

#endif // ONNX_AOT_DIALECT_ONNX_IR_STRINGS_H

//===- Composite.h - types of sequences and optionals -----------*- C++ -*-===//

#ifndef ONNX_AOT_DIALECT_ONNX_IR_COMPOSITE_H
#define ONNX_AOT_DIALECT_ONNX_IR_COMPOSITE_H

#include "onnx-aot/Dialect/Onnx/IR/Onnx.h"

namespace onnx_aot::onnx {

/// What is known of an entry that has the one type or the other, of the same
/// element type. The entries of an empty sequence have no type but that.
mlir::Type joinEntryTypes(mlir::Type a, mlir::Type b);

/// What is known of a sequence or an optional that has the one type or the
/// other; fails where none can have both.
mlir::FailureOr<mlir::Type> joinCompositeTypes(mlir::Type a, mlir::Type b);

} // namespace onnx_aot::onnx

#endif // ONNX_AOT_DIALECT_ONNX_IR_COMPOSITE_H

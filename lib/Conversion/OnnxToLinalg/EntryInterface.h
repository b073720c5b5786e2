//===- EntryInterface.h - keep what the entry's onnx types say --*- C++ -*-===//

#ifndef ONNX_AOT_CONVERSION_ONNXTOLINALG_ENTRYINTERFACE_H
#define ONNX_AOT_CONVERSION_ONNXTOLINALG_ENTRYINTERFACE_H

#include "mlir/IR/BuiltinOps.h"

namespace onnx_aot {

/// Writes `abi.value` on the arguments and results of `main` and `abi.symbols`
/// on the module (Support/EntryAttributes.h). Fails when a type cannot pass the
/// module's border.
llvm::LogicalResult describeEntry(mlir::ModuleOp module);

} // namespace onnx_aot

#endif // ONNX_AOT_CONVERSION_ONNXTOLINALG_ENTRYINTERFACE_H

//===- RegisterInterfaces.h - interfaces codegen attaches -------*- C++ -*-===//

#ifndef ONNX_AOT_CODEGEN_COMMON_REGISTERINTERFACES_H
#define ONNX_AOT_CODEGEN_COMMON_REGISTERINTERFACES_H

#include "mlir/IR/DialectRegistry.h"

namespace onnx_aot {

/// Attaches the bufferisation of kernel launches.
void registerCodegenInterfaces(mlir::DialectRegistry &registry);

} // namespace onnx_aot

#endif // ONNX_AOT_CODEGEN_COMMON_REGISTERINTERFACES_H

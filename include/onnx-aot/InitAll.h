//===- InitAll.h - register everything --------------------------*- C++ -*-===//

#ifndef ONNX_AOT_INITALL_H
#define ONNX_AOT_INITALL_H

#include "mlir/IR/DialectRegistry.h"

namespace onnx_aot {

/// Registers every dialect the compiler may create and its interfaces.
void registerAllDialects(mlir::DialectRegistry &registry);

/// Registers the project's passes and pipelines and upstream's general ones.
void registerAllPasses();

} // namespace onnx_aot

#endif // ONNX_AOT_INITALL_H

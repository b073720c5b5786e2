//===- Compile.h - the compiler as one function -----------------*- C++ -*-===//
#ifndef ONNX_AOT_DRIVER_COMPILE_H
#define ONNX_AOT_DRIVER_COMPILE_H

#include "onnx-aot/Driver/CompilerInvocation.h"

#include "mlir/Support/LLVM.h"

namespace onnx_aot {

/// Does what the invocation asks for. Reasons for a failure go to standard
/// error, all that are known; then no output file has been written.
mlir::LogicalResult compile(const CompilerInvocation &invocation);

} // namespace onnx_aot

#endif // ONNX_AOT_DRIVER_COMPILE_H

//===- DeviceCalls.h - what host code asks of the device --------*- C++ -*-===//

#ifndef ONNX_AOT_CODEGEN_GPU_DEVICECALLS_H
#define ONNX_AOT_CODEGEN_GPU_DEVICECALLS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace onnx_aot {

/// Names of the functions that gpu-define-device-services defines.
constexpr llvm::StringLiteral kDeviceLaunch = "onnx_aot.device_launch";
constexpr llvm::StringLiteral kDeviceAccess = "onnx_aot.device_access";
constexpr llvm::StringLiteral kDeviceCopy = "onnx_aot.device_copy";
/// The module of all kernels.
constexpr llvm::StringLiteral kDeviceModule = "kernels";

/// Memory that a buffer covers, from its first element on (i64 values).
struct HostRange {
  mlir::Value address, bytes;
  /// Elements from the first to the last, as an index.
  mlir::Value elements;
};

/// Builds host code that calls the device.
class DeviceCalls {
public:
  explicit DeviceCalls(mlir::func::FuncOp entry);

  HostRange getRange(mlir::ImplicitLocOpBuilder &builder, mlir::Value buffer);
  /// Calls `name` with the context and `arguments`; the run ends when it fails.
  void call(mlir::ImplicitLocOpBuilder &builder, llvm::StringRef name,
            llvm::ArrayRef<mlir::Value> arguments);
  /// Room for `words` 64-bit words, the same for all calls.
  mlir::Value getWords(int64_t words);

private:
  mlir::func::FuncOp entry;
  mlir::LLVM::AllocaOp words;
};

} // namespace onnx_aot

#endif // ONNX_AOT_CODEGEN_GPU_DEVICECALLS_H

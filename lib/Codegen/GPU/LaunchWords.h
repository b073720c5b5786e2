//===- LaunchWords.h - the arguments of a launch ----------------*- C++ -*-===//
#ifndef ONNX_AOT_CODEGEN_GPU_LAUNCHWORDS_H
#define ONNX_AOT_CODEGEN_GPU_LAUNCHWORDS_H

#include "DeviceCalls.h"

namespace onnx_aot::gpu_kernel {

/// Host code for an array of OnnxAotDeviceArgument, three words each, in the
/// order in which KernelWriter takes them.
class LaunchWords {
public:
  LaunchWords(DeviceCalls &calls, mlir::ImplicitLocOpBuilder &builder)
      : calls(calls), builder(builder) {}

  void appendScalar(mlir::Value value);
  /// Address, then run-time sizes and strides.
  void appendBuffer(mlir::Value buffer, int64_t access);
  void appendScratch(mlir::Value bytes);

  /// Ends the run where a buffer has too many elements, else stores the words.
  void store();
  /// Launches a kernel with what has been stored.
  void launch(int64_t kernel, mlir::Value blocks);

private:
  mlir::Value word(int64_t value);
  mlir::Value toWord(mlir::Value value);

  DeviceCalls &calls;
  mlir::ImplicitLocOpBuilder &builder;
  llvm::SmallVector<mlir::Value> words;
  mlir::Value fits, memory;
};

/// No padding between the buffer's elements.
bool isDense(mlir::Value buffer);

} // namespace onnx_aot::gpu_kernel

#endif // ONNX_AOT_CODEGEN_GPU_LAUNCHWORDS_H

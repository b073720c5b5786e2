//===- Pipeline.h - from linalg on tensors to host and device code --------===//

#ifndef ONNX_AOT_CODEGEN_GPU_PIPELINE_H
#define ONNX_AOT_CODEGEN_GPU_PIPELINE_H

#include "onnx-aot/Codegen/Pipeline.h"

namespace onnx_aot {

/// How code for host and device is generated.
struct GpuCodegenOptions {
  CodegenOptions host;
  /// The lowest architecture that must run the kernels: 80 for sm_80.
  unsigned architecture = 75;
  /// Products of f32 may round their operands to TF32.
  bool allowTf32 = false;
  /// Kernels become host code for the emulating driver.
  bool emulate = false;
  /// Warn of everything that stays on the host.
  bool report = false;
};

/// Up to kernels in the LLVM dialect and an entry that launches them.
void buildGpuKernelPipeline(mlir::OpPassManager &manager,
                            const GpuCodegenOptions &options);

/// All of it; the module then holds the host's functions in the LLVM dialect
/// and the kernels in a `gpu.module`.
void buildGpuPipeline(mlir::OpPassManager &manager,
                      const GpuCodegenOptions &options);

/// Registers the pipelines for onnx-aot-opt.
void registerGpuPipelines();

} // namespace onnx_aot

#endif // ONNX_AOT_CODEGEN_GPU_PIPELINE_H

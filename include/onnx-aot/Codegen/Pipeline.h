//===- Pipeline.h - from linalg on tensors to the LLVM dialect --*- C++ -*-===//

#ifndef ONNX_AOT_CODEGEN_PIPELINE_H
#define ONNX_AOT_CODEGEN_PIPELINE_H

#include "onnx-aot/Support/ModuleInfo.h"
#include "onnx-aot/Support/TargetInfo.h"
#include "onnx-aot/Support/Tuning.h"
#include "onnx-aot/Support/WeightImage.h"

#include "mlir/Pass/PassManager.h"

namespace onnx_aot {

/// How code is generated.
struct CodegenOptions {
  TargetInfo target;
  /// 0 to 3, as in -O0 to -O3.
  unsigned optLevel = 2;
  /// Keep every sum of products as the operator defines it: no Winograd.
  bool strictFp = false;
  Tuning tuning;
};

/// What Emit needs beside the module itself.
struct CodegenResult {
  ModuleInfo info;
  WeightImage weights;
};

/// Fuses, bufferises and plans the entry function on linalg: from tensors to
/// buffers in one arena.
void buildBufferizePipeline(mlir::OpPassManager &manager,
                            const CodegenOptions &options);

/// Lowers loops and buffers to the LLVM dialect and adds `run` and `plan`.
void buildLowerToLLVMPipeline(mlir::OpPassManager &manager,
                              const CodegenOptions &options);

/// Both, as `cpu-codegen`.
void buildCpuPipeline(mlir::OpPassManager &manager,
                      const CodegenOptions &options);

/// Reads the module's interface and weights after the pipeline has run.
mlir::FailureOr<CodegenResult> getCodegenResult(mlir::ModuleOp module);

/// Registers the pipelines for onnx-aot-opt.
void registerCodegenPipelines();

} // namespace onnx_aot

#endif // ONNX_AOT_CODEGEN_PIPELINE_H

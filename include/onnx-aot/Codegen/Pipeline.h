//===- Pipeline.h - from linalg on tensors to the LLVM dialect --*- C++ -*-===//

#ifndef ONNX_AOT_CODEGEN_PIPELINE_H
#define ONNX_AOT_CODEGEN_PIPELINE_H

#include "onnx-aot/Support/ModuleInfo.h"
#include "onnx-aot/Support/TargetInfo.h"
#include "onnx-aot/Support/Tuning.h"
#include "onnx-aot/Support/WeightImage.h"

#include "mlir/Pass/PassManager.h"

namespace onnx_aot {

/// What a run may keep in memory.
struct MemoryOptions {
  /// Most bytes of the arena; 0 for any number. Values are computed again to
  /// keep it.
  int64_t arenaBudget = 0;
  /// Bytes of parameters and other state that the caller's budget is for as
  /// well, for messages.
  int64_t stateBytes = 0;
  /// Keep what memory each step of a run uses, for a report.
  bool record = false;
};

/// How code is generated.
struct CodegenOptions {
  TargetInfo target;
  /// 0 to 3, as in -O0 to -O3.
  unsigned optLevel = 2;
  /// Keep every sum of products as the operator defines it: no Winograd.
  bool strictFp = false;
  Tuning tuning;
  MemoryOptions memory;
};

/// A temporary in the arena, alive from step `first` to step `last`.
struct ArenaBuffer {
  int64_t first, last, offset, bytes;
};

/// How a run uses its arena, where sizes are constants.
struct MemoryUse {
  /// Nodes in the order in which they are computed, and the buffers between
  /// them; empty unless recorded.
  std::vector<std::string> steps;
  std::vector<ArenaBuffer> buffers;
  /// Where a budget made the arena smaller: its bytes without, and how many
  /// steps are repeated.
  int64_t naturalBytes = 0, repeatedSteps = 0;
};

/// What Emit needs beside the module itself.
struct CodegenResult {
  ModuleInfo info;
  MemoryUse memory;
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

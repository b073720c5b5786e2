//===- PipelineSteps.h - what the targets' pipelines share ------*- C++ -*-===//

#ifndef ONNX_AOT_CODEGEN_COMMON_PIPELINESTEPS_H
#define ONNX_AOT_CODEGEN_COMMON_PIPELINESTEPS_H

#include "onnx-aot/Codegen/Pipeline.h"

#include "mlir/Pass/PassManager.h"

namespace onnx_aot {

/// Pointwise chains become one loop nest each.
void addFusionSteps(mlir::OpPassManager &manager);

/// Caller-owned buffers, while sizes can still be read off tensor ops.
void addEntrySteps(mlir::OpPassManager &manager);

/// Buffers, with results written where they are wanted, each at its place in
/// the arena, which keeps the budget.
void addBufferSteps(mlir::OpPassManager &manager, const MemoryOptions &options);

} // namespace onnx_aot

#endif // ONNX_AOT_CODEGEN_COMMON_PIPELINESTEPS_H

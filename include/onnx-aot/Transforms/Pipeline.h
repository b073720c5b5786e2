//===- Pipeline.h - the optimisation levels ---------------------*- C++ -*-===//

#ifndef ONNX_AOT_TRANSFORMS_PIPELINE_H
#define ONNX_AOT_TRANSFORMS_PIPELINE_H

#include "mlir/Pass/PassManager.h"

namespace onnx_aot {

/// Highest optimisation level; the default of the command line is 2.
constexpr unsigned kMaxOptimizeLevel = 3;

/// Adds the passes from an imported module to one that Conversion takes.
/// Level 0 infers shapes and checks; 1 simplifies and folds constants; 2 fuses,
/// recognises and assigns layouts; 3 repeats what may find more. All levels
/// compute the same function; results may differ by the roundings that
/// docs/RationaleTransforms.md lists. With `keepBlocks` products get weights of
/// four bits as they are, with a scale for each block.
void buildOptimizePipeline(mlir::OpPassManager &manager, unsigned level,
                           bool keepBlocks = false);

/// Adds the passes that bring a graph into its smallest form, without new kinds
/// of ops: shapes, constants, what does nothing or twice the same.
void buildSimplifyPipeline(mlir::OpPassManager &manager);

/// Makes the pipelines of this room known to onnx-aot-opt: onnx-optimize and
/// its bundles onnx-simplify and onnx-fuse.
void registerTransformsPipelines();

} // namespace onnx_aot

#endif // ONNX_AOT_TRANSFORMS_PIPELINE_H

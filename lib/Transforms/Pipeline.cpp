//===- Pipeline.cpp - the optimisation levels -----------------------------===//

#include "onnx-aot/Transforms/Pipeline.h"
#include "onnx-aot/Transforms/Passes.h"

#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace onnx_aot;

/// Brings the graph into its smallest form. Run before every group of
/// recognitions, so that each pattern has to know one spelling only.
void onnx_aot::buildSimplifyPipeline(OpPassManager &manager) {
  // 1. Known sizes decide reshapes, slices and branches.
  manager.addPass(createFoldConstants());
  // 2. Whatever does nothing, or twice the same, goes.
  manager.addPass(createCanonicalize());
  // 3. Equal subexpressions merged, so that users of one value are counted
  // right.
  manager.addPass(createCSEPass());
}

/// Merges what several ops compute into one.
static void addFuseBundle(OpPassManager &manager) {
  // 1. Weights first: what is folded into them is no pattern's business.
  manager.addPass(createFuseConvBatchNorm());
  // 2. Composites, each simplified away into one op before the next looks.
  manager.addPass(createRecognizeNormalization());
  manager.addPass(createRecognizeActivations());
  // 3. Their parts may have been the last users of something.
  buildSimplifyPipeline(manager);
}

void onnx_aot::buildOptimizePipeline(OpPassManager &manager, unsigned level,
                                     bool keepBlocks) {
  // 1. Every later step needs types; a contradiction is the user's to fix. The
  //    branches of an If may differ in rank, which nothing can lower, so those
  //    that sizes decide go at every level.
  manager.addPass(createFixListLengths());
  FoldConstantsOptions decided;
  decided.smallIntegersOnly = true;
  manager.addPass(createFoldConstants(decided));
  // Of those that are left, one branch may be the only one that fits.
  manager.addPass(createDecideBranches());
  // Sequences and optionals become tensors, which all that follows is about.
  manager.addPass(createSplitComposites());
  if (level >= 1) {
    // 2. Exporters leave shape arithmetic, constants and copies behind; what
    // that
    //    clears shows further constants (a branch decided, a shape known).
    buildSimplifyPipeline(manager);
    buildSimplifyPipeline(manager);
    // Before anything is folded into weights that are numbers of a few bits.
    if (level >= 2)
      manager.addPass(createUseIntegerProducts({keepBlocks}));
    // 3. Fused ops are what the layouts are decided for.
    for (unsigned round = 2; round <= level; ++round)
      addFuseBundle(manager);
    // 4. Last, since channels-last graphs have other patterns than exporters'.
    manager.addPass(createAssignLayouts());
    // 5. Transposes of one value for several users are one.
    buildSimplifyPipeline(manager);
  }
  // 6. Conversion assumes what is checked here.
  manager.addPass(createVerifyLowerable());
}

namespace {
struct OptimizeOptions : PassPipelineOptions<OptimizeOptions> {
  Option<unsigned> level{*this, "level",
                         llvm::cl::desc("optimisation level, 0 to 3"),
                         llvm::cl::init(2)};
};
} // namespace

void onnx_aot::registerTransformsPipelines() {
  PassPipelineRegistration<OptimizeOptions>(
      "onnx-optimize", "Optimise an imported module for Conversion",
      [](OpPassManager &manager, const OptimizeOptions &options) {
        buildOptimizePipeline(manager, options.level);
      });
  PassPipelineRegistration<>("onnx-simplify",
                             "Bring an onnx module into its smallest form",
                             buildSimplifyPipeline);
  PassPipelineRegistration<>(
      "onnx-fuse", "Merge what several ops compute into one", addFuseBundle);
}

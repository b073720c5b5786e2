//===- PipelineSteps.cpp - what the targets' pipelines share --------------===//

#include "onnx-aot/Codegen/Common/PipelineSteps.h"
#include "onnx-aot/Codegen/Common/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace onnx_aot;

void onnx_aot::addFusionSteps(OpPassManager &manager) {
  OpPassManager &functions = manager.nest<func::FuncOp>();
  functions.addPass(createCanonicalizerPass());
  functions.addPass(createCSEPass());
  functions.addPass(createFuseElementwise());
  functions.addPass(createCanonicalizerPass());
  functions.addPass(createCSEPass());
}

void onnx_aot::addEntrySteps(OpPassManager &manager) {
  manager.addPass(createDestinationStyleEntry());
  manager.addPass(createCheckSizes());
  manager.addPass(createCanonicalizerPass());
}

void onnx_aot::addBufferSteps(OpPassManager &manager,
                              const MemoryOptions &options) {
  if (options.arenaBudget > 0) {
    RecomputeLaunchesOptions recompute;
    recompute.budget = options.arenaBudget;
    recompute.state = options.stateBytes;
    manager.addPass(createRecomputeLaunches(recompute));
  }
  manager.addPass(createBufferizeEntry());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  // Sizes are SSA values of the symbols now: place the buffers.
  manager.addPass(memref::createResolveShapedTypeResultDimsPass());
  PlanBuffersOptions plan;
  plan.record = options.record;
  manager.addPass(createPlanBuffers(plan));
  manager.addPass(createCanonicalizerPass());
}

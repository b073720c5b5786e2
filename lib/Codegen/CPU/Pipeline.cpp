//===- Pipeline.cpp - from linalg on tensors to the LLVM dialect ------------===//

#include "onnx-aot/Codegen/Pipeline.h"
#include "onnx-aot/Codegen/CPU/Passes.h"
#include "onnx-aot/Codegen/Common/Passes.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Affine/Transforms/Passes.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/Tensor/Transforms/Passes.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace onnx_aot;

void onnx_aot::buildBufferizePipeline(OpPassManager &manager,
                                      const CodegenOptions &options) {
  OpPassManager &functions = manager.nest<func::FuncOp>();
  // 1. One form for all structured ops: the fusions below match generics.
  functions.addPass(createLinalgGeneralizeNamedOpsPass());
  functions.addPass(createCanonicalizerPass());
  functions.addPass(createCSEPass());
  // 2. Pointwise chains become one loop nest.
  if (options.optLevel > 0)
    functions.addPass(createLinalgElementwiseOpFusionPass());
  functions.addPass(createCanonicalizerPass());
  functions.addPass(createCSEPass());
  // 3. Caller-owned buffers, while sizes can still be read off tensor ops.
  manager.addPass(createDestinationStyleEntry());
  manager.addPass(createExternalizeConstants());
  // 4. Write results where they are wanted instead of copying them there.
  manager.addPass(bufferization::createEmptyTensorEliminationPass());
  bufferization::OneShotBufferizePassOptions bufferize;
  manager.addPass(bufferization::createOneShotBufferizePass(bufferize));
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  // 5. Sizes are SSA values of the symbols now: place the buffers.
  manager.addPass(memref::createResolveShapedTypeResultDimsPass());
  manager.addPass(createPlanBuffers());
  manager.addPass(createCanonicalizerPass());
}

void onnx_aot::buildLowerToLLVMPipeline(OpPassManager &manager,
                                        const CodegenOptions &options) {
  manager.addPass(createLowerCopies());
  OpPassManager &functions = manager.nest<func::FuncOp>();
  functions.addPass(createConvertLinalgToLoopsPass());
  functions.addPass(createApproximateMath());
  manager.addPass(memref::createExpandStridedMetadataPass());
  manager.addPass(createLowerAffinePass());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  manager.addPass(createSCFToControlFlowPass());
  manager.addPass(arith::createArithExpandOpsPass());
  manager.addPass(createConvertVectorToLLVMPass());
  manager.addPass(createConvertMathToLLVMPass());
  // What LLVM has no intrinsic for.
  manager.addPass(createConvertMathToLibmPass());
  manager.addPass(createFinalizeMemRefToLLVMConversionPass());
  manager.addPass(createConvertFuncToLLVMPass());
  manager.addPass(createArithToLLVMConversionPass());
  manager.addPass(createConvertIndexToLLVMPass());
  manager.addPass(createConvertControlFlowToLLVMPass());
  manager.addPass(createUBToLLVMConversionPass());
  manager.addPass(createReconcileUnrealizedCastsPass());
  manager.addPass(createAbiWrappers());
}

void onnx_aot::buildCpuPipeline(OpPassManager &manager,
                                const CodegenOptions &options) {
  buildBufferizePipeline(manager, options);
  buildLowerToLLVMPipeline(manager, options);
}

void onnx_aot::registerCodegenPipelines() {
  PassPipelineRegistration<>(
      "cpu-bufferize", "Fuse, bufferize and plan the entry function",
      [](OpPassManager &manager) { buildBufferizePipeline(manager, {}); });
  PassPipelineRegistration<>(
      "cpu-lower-to-llvm", "Lower loops and buffers to the LLVM dialect",
      [](OpPassManager &manager) { buildLowerToLLVMPipeline(manager, {}); });
  PassPipelineRegistration<>(
      "cpu-codegen", "Generate code for the CPU from linalg on tensors",
      [](OpPassManager &manager) { buildCpuPipeline(manager, {}); });
}

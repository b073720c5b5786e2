//===- Pipeline.cpp - from linalg on tensors to the LLVM dialect ----------===//

#include "onnx-aot/Codegen/Pipeline.h"
#include "onnx-aot/Codegen/CPU/Passes.h"
#include "onnx-aot/Codegen/Common/Passes.h"
#include "onnx-aot/Codegen/Common/PipelineSteps.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Conversion/VectorToSCF/VectorToSCF.h"
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
  // 1. Pointwise chains become one loop nest.
  addFusionSteps(manager);
  // While convolutions still have their pads, and what follows is one op.
  if (options.optLevel > 0 && !options.strictFp && options.tuning.winograd) {
    UseWinogradOptions winograd;
    winograd.vectorBytes = options.target.vectorBytes;
    manager.addNestedPass<func::FuncOp>(createUseWinograd(winograd));
  }
  // Once it is settled which ops make the insides.
  manager.addNestedPass<func::FuncOp>(createDecomposePadding());
  // 2. Caller-owned buffers.
  addEntrySteps(manager);
  // 3. Cut into kernels; what is left of the entry is views and launches.
  if (options.optLevel > 0) {
    PairReductionsOptions pair;
    pair.byteDots =
        options.target.hasInt8Dot &&
        llvm::StringRef(options.target.triple).starts_with("x86_64");
    manager.addNestedPass<func::FuncOp>(createPairReductions(pair));
    PackNibblesOptions nibbles;
    nibbles.vectorBytes = options.target.vectorBytes;
    nibbles.vectorRegisters = options.target.vectorRegisters;
    nibbles.panelVectors = options.tuning.panelVectors;
    manager.addNestedPass<func::FuncOp>(createPackNibbles(nibbles));
    PackOperandsOptions pack;
    pack.vectorBytes = options.target.vectorBytes;
    pack.vectorRegisters = options.target.vectorRegisters;
    pack.panelVectors = options.tuning.panelVectors;
    manager.addNestedPass<func::FuncOp>(createPackOperands(pack));
    FormKernelsOptions form;
    form.chainBytes = options.tuning.blockBytes;
    form.joinExtremes = true;
    manager.addPass(createFormKernels(form));
  } else {
    manager.addNestedPass<func::FuncOp>(createWidenSums());
  }
  manager.addPass(createExternalizeConstants());
  // 4. Buffers, each at its place.
  addBufferSteps(manager, options.memory);
  // 5. Write the kernels for the buffers they got.
  EmitKernelsOptions emit;
  emit.vectorBytes = options.target.vectorBytes;
  emit.vectorRegisters = options.target.vectorRegisters;
  emit.panelVectors = options.tuning.panelVectors;
  emit.maxRows = options.tuning.maxRows;
  emit.cachedBytes = options.tuning.cachedBytes;
  emit.taskPoints = options.tuning.taskPoints;
  manager.addPass(createEmitKernels(emit));
}

void onnx_aot::buildLowerToLLVMPipeline(OpPassManager &manager,
                                        const CodegenOptions &options) {
  manager.addPass(createLowerCopies());
  manager.addPass(createLowerCalls());
  OpPassManager &functions = manager.nest<func::FuncOp>();
  functions.addPass(createConvertLinalgToLoopsPass());
  functions.addPass(createApproximateMath());
  manager.addPass(memref::createExpandStridedMetadataPass());
  manager.addPass(createLowerAffinePass());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  manager.addPass(createSCFToControlFlowPass());
  // Conversions to bfloat are library calls on most processors, and flush
  // denormals on those that have an instruction.
  arith::ArithExpandOpsPassOptions expand;
  expand.includeBf16 = true;
  manager.addPass(arith::createArithExpandOpsPass(expand));
  manager.addPass(createConvertMathToLLVMPass());
  // What LLVM has no intrinsic for; it takes vectors apart.
  manager.addPass(createConvertMathToLibmPass());
  ConvertVectorToLLVMPassOptions vectors;
  // Only horizontal sums: the target's order of adding lanes is a fixed one.
  vectors.reassociateFPReductions = true;
  manager.addPass(createConvertVectorToLLVMPass(vectors));
  manager.addPass(createFinalizeMemRefToLLVMConversionPass());
  manager.addPass(createConvertFuncToLLVMPass());
  manager.addPass(createArithToLLVMConversionPass());
  manager.addPass(createConvertIndexToLLVMPass());
  // Before assertions become calls of abort.
  manager.addPass(createLowerChecks());
  manager.addPass(createConvertControlFlowToLLVMPass());
  manager.addPass(createUBToLLVMConversionPass());
  manager.addPass(createReconcileUnrealizedCastsPass());
  manager.addPass(createParallelLaunch());
  manager.addPass(createDefineCalls());
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

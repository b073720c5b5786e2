//===- Pipeline.cpp - from linalg on tensors to host and device code ------===//

#include "onnx-aot/Codegen/GPU/Pipeline.h"
#include "Attention.h"

#include "onnx-aot/Codegen/CPU/Passes.h"
#include "onnx-aot/Codegen/Common/Passes.h"
#include "onnx-aot/Codegen/Common/PipelineSteps.h"
#include "onnx-aot/Codegen/GPU/Passes.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;
using namespace onnx_aot;

void onnx_aot::buildGpuKernelPipeline(OpPassManager &manager,
                                      const GpuCodegenOptions &options) {
  // 1. As for the CPU, without its packed operands.
  addFusionSteps(manager);
  manager.addNestedPass<func::FuncOp>(createDecomposePadding());
  addEntrySteps(manager);
  // Bodies may hold affine maps of indices, which kernels know as arithmetic.
  manager.addPass(createLowerAffinePass());
  manager.addPass(createFormKernels(gpu_kernel::isAttention));
  manager.addPass(createFormFolds());
  // Constants of the code are not in the device's memory.
  ExternalizeConstantsOptions constants;
  constants.maxInline = 0;
  manager.addPass(createExternalizeConstants(constants));
  addBufferSteps(manager, options.host.memory);
  // 2. Copies and fills are kernels too.
  manager.addPass(createOutlineBufferOps());
  manager.addPass(createJoinLaunches());
  // 3. Write the kernels for the buffers they got.
  EmitDeviceKernelsOptions emit;
  emit.architecture = options.architecture;
  emit.allowTf32 = options.allowTf32;
  emit.report = options.report;
  manager.addPass(createEmitDeviceKernels(emit));
  // 4. What is left is host code, which has to see what the device wrote.
  SyncHostAccessOptions sync;
  sync.report = options.report;
  manager.addPass(createSyncHostAccess(sync));
  OpPassManager &device = manager.nest<gpu::GPUModuleOp>();
  device.addPass(createLowerDeviceKernels());
  if (options.emulate)
    device.addPass(createEmulateDevice());
}

void onnx_aot::buildGpuPipeline(OpPassManager &manager,
                                const GpuCodegenOptions &options) {
  buildGpuKernelPipeline(manager, options);
  // 5. Kernels without device code are vector code on the host.
  EmitKernelsOptions host;
  host.vectorBytes = options.host.target.vectorBytes;
  host.vectorRegisters = options.host.target.vectorRegisters;
  manager.addPass(createEmitKernels(host));
  buildLowerToLLVMPipeline(manager, options.host);
  manager.addPass(createDefineDeviceServices());
}

namespace {
/// The same as text, for onnx-aot-opt.
struct GpuTextOptions : PassPipelineOptions<GpuTextOptions> {
  Option<unsigned> architecture{
      *this, "architecture", llvm::cl::init(75),
      llvm::cl::desc("The lowest architecture that must run the kernels")};
  Option<bool> allowTf32{
      *this, "allow-tf32", llvm::cl::init(false),
      llvm::cl::desc("Products of f32 may round their operands to TF32")};

  GpuCodegenOptions get() const {
    GpuCodegenOptions options;
    options.architecture = architecture;
    options.allowTf32 = allowTf32;
    return options;
  }
};
} // namespace

void onnx_aot::registerGpuPipelines() {
  PassPipelineRegistration<GpuTextOptions>(
      "gpu-kernels", "Fuse, bufferize and write the kernels for the device",
      [](OpPassManager &manager, const GpuTextOptions &options) {
        buildGpuKernelPipeline(manager, options.get());
      });
  PassPipelineRegistration<GpuTextOptions>(
      "gpu-codegen", "Generate code for host and device from linalg on tensors",
      [](OpPassManager &manager, const GpuTextOptions &options) {
        buildGpuPipeline(manager, options.get());
      });
}

//===- Passes.td - code generation for GPUs ---------------*- tablegen -*-===//

#ifndef ONNX_AOT_CODEGEN_GPU_PASSES
#define ONNX_AOT_CODEGEN_GPU_PASSES

include "mlir/Pass/PassBase.td"

def OutlineBufferOps : Pass<"gpu-outline-buffer-ops", "::mlir::ModuleOp"> {
  let summary = "Make kernels of the copies and loops left on buffers";
  let description = [{
    Requires a bufferised entry. A strided `memref.copy`, a `linalg.fill` and a
    pointwise `linalg.generic` on buffers become a launch of a kernel that says
    the same on tensors. What lies in loops of the host stays there.

    ```mlir
    linalg.fill ins(%zero : f32) outs(%b : memref<4xf32>)
    // becomes
    kernel.launch @fill.0() into (%b) : () into (memref<4xf32>)
    ```
  }];
  let dependentDialects = ["::onnx_aot::kernel::KernelDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::func::FuncDialect"];
}

def FormFolds : Pass<"gpu-form-folds", "::mlir::ModuleOp"> {
  let summary = "Make kernels of reductions by a body of their own";
  let description = [{
    What `form-kernels` leaves: a `linalg.generic` on tensors whose body makes any
    number of results of what it reduces (a maximum and its place), from constants
    on. It becomes a launch of a kernel that holds the op alone.
  }];
  let dependentDialects = ["::onnx_aot::kernel::KernelDialect",
                           "::mlir::func::FuncDialect"];
}

def JoinLaunches : Pass<"gpu-join-launches", "::mlir::ModuleOp"> {
  let summary = "Let equal launches that do not depend on each other run as one";
  let description = [{
    Requires a bufferised entry. Kernels whose loops run over all elements of
    buffers of one static shape are written for rows of elements, so that those
    of different shapes are the same. Launches of one kernel without a dependence
    between them are moved to the last of them and get the same number in
    `device.joint`; what one launch can do of them is one.
  }];
  let dependentDialects = ["::mlir::func::FuncDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::tensor::TensorDialect"];
}

def EmitDeviceKernels : Pass<"gpu-emit-device-kernels", "::mlir::ModuleOp"> {
  let summary = "Write device code for every launched kernel";
  let description = [{
    Requires a bufferised entry. Each kernel that a family covers becomes a
    function of a `gpu.module` and its launch a call of
    `onnx_aot.device_launch` with host addresses, sizes and the number of blocks.
    So do loops on buffers that update computed places, as ScatterND has them.
    Other launches stay, for the host; with `report` each is told with a reason.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::cf::ControlFlowDialect",
    "::mlir::gpu::GPUDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
    "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect"];
  let options = [
    Option<"architecture", "architecture", "unsigned", "75",
           "The lowest architecture that must run the kernels: 80 for sm_80">,
    Option<"allowTf32", "allow-tf32", "bool", "false",
           "Products of f32 may round their operands to TF32">,
    Option<"report", "report", "bool", "false",
           "Warn of each kernel that stays on the host">
  ];
}

def SyncHostAccess : Pass<"gpu-sync-host-access", "::mlir::ModuleOp"> {
  let summary = "Announce what host code reads and writes";
  let description = [{
    Requires the calls that launch kernels. Before each operation of the entry that
    accesses buffers on the host, `onnx_aot.device_access` is called for each
    buffer: what it reads is copied from the device, what it writes is copied to
    it before a kernel reads it. A dense `memref.copy` becomes a call of
    `onnx_aot.device_copy`.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::cf::ControlFlowDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::memref::MemRefDialect"];
  let options = [
    Option<"report", "report", "bool", "false",
           "Warn of each operation that stays on the host">
  ];
}

def LowerDeviceKernels
    : Pass<"gpu-lower-device-kernels", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Lower the bodies of device kernels to the LLVM dialect";
  let description = [{
    Elementary functions become arithmetic, so that no device library is needed;
    loops become branches, arithmetic the LLVM dialect's.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::cf::ControlFlowDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::math::MathDialect",
    "::mlir::vector::VectorDialect"];
}

def EmulateDevice : Pass<"gpu-emulate-device", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Let device kernels run on the host, checked";
  let description = [{
    Requires kernels in the LLVM and NVVM dialects. What a thread asks the device
    for becomes a call of the emulator, each access to memory is announced to it,
    address spaces go, and each kernel gets a function `<kernel>__thunk` that
    takes its arguments as the driver does.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def DefineDeviceServices
    : Pass<"gpu-define-device-services", "::mlir::ModuleOp"> {
  let summary = "Define the calls of the device by the runtime's services";
  let description = [{
    Requires the LLVM dialect. `onnx_aot.device_launch` and its like look the
    service up in OnnxAotRuntime::device and fail where there is none.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // ONNX_AOT_CODEGEN_GPU_PASSES

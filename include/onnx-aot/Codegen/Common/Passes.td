//===- Passes.td - code generation for every target -------*- tablegen -*-===//

#ifndef ONNX_AOT_CODEGEN_COMMON_PASSES
#define ONNX_AOT_CODEGEN_COMMON_PASSES

include "mlir/Pass/PassBase.td"

def DecomposePadding : Pass<"codegen-decompose-padding"> {
  let summary = "Build padded tensors from a ring and an inside";
  let description = [{
    A `tensor.pad` with one value becomes fills of its ends, axis by axis, and an
    insertion of its source. The ring is built before the op that makes the source,
    which bufferisation then lets write its result into it; a source that no linalg
    op makes is copied by one.
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

def DestinationStyleEntry
    : Pass<"codegen-destination-style-entry", "::mlir::ModuleOp"> {
  let summary = "Give the entry function caller-owned buffers for all tensors";
  let description = [{
    Requires the entry function `main` on tensors with `abi.value` on its
    arguments and results. Afterwards `main` takes, in this order: the runtime
    (`!llvm.ptr`), the weights and the arena (`memref<?xi8>`), one index per
    symbolic dimension, one memref per input, one memref per output whose shape
    follows from the symbols. It returns the dynamic dimensions of all outputs.
    An output whose shape depends on tensor values is written to the buffer that
    a call of `onnx_aot.allocate_output` returns. A result with `abi.updates = i`
    has no memref of its own: it is written to that of input i, in place where
    nothing reads the old value any more.

    ```mlir
    func.func @main(%x: tensor<?xf32>) -> tensor<?xf32>
    // becomes
    func.func @main(%rt: !llvm.ptr, %weights: memref<?xi8>, %arena: memref<?xi8>,
                    %s0: index, %x: memref<?xf32>, %y: memref<?xf32>) -> index
    ```
  }];
  let dependentDialects = [
    "::mlir::bufferization::BufferizationDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::memref::MemRefDialect", "::mlir::tensor::TensorDialect"
  ];
}

def ExternalizeConstants
    : Pass<"codegen-externalize-constants", "::mlir::ModuleOp"> {
  let summary = "Move tensor constants to the weights buffer";
  let description = [{
    Every tensor constant of more than a few elements becomes a view of the
    weights argument; the module attribute `codegen.weights` lists pairs of
    offset and value. Equal constants share one place. A splat becomes a fill.
  }];
  let dependentDialects = [
    "::mlir::bufferization::BufferizationDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::memref::MemRefDialect"
  ];
  let options = [
    Option<"maxInline", "max-inline", "int64_t", "8",
           "Keep constants of up to this many elements in the code, where they can "
           "be folded">
  ];
}

def FuseElementwise : Pass<"codegen-fuse-elementwise"> {
  let summary = "Merge pointwise generics with their pointwise consumers";
  let description = [{
    All structured ops but `linalg.fill` become generics. A pointwise generic
    moves into its only consumer when that is pointwise too; one that only moves
    data (a transposition or a broadcast) also moves into contractions, where it
    becomes part of the indexing map. Ops that make new values of state the entry
    updates (`abi.updates`) become one op of several results where they share a
    loop nest, as the moments and the parameter of an optimizer's step do.
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect"];
}

def CheckSizes : Pass<"codegen-check-sizes", "::mlir::ModuleOp"> {
  let summary = "Check at run time that sizes which must be equal are equal";
  let description = [{
    A loop of a structured op is as long as every axis it indexes. Where two such
    axes have different symbolic sizes a `cf.assert` compares them before the op:
    inputs that contradict each other end the run with a reason, nothing is read
    outside a tensor.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::cf::ControlFlowDialect",
                           "::mlir::tensor::TensorDialect"];
}

def FormKernels : Pass<"codegen-form-kernels", "::mlir::ModuleOp"> {
  let summary = "Outline fused regions of the entry as kernels";
  let description = [{
    Each reduction with the pointwise ops after it, each row-wise chain and each
    remaining pointwise op becomes a private function on tensors and a
    `kernel.launch`. A group has one result, and no value leaves it and comes back.

    ```mlir
    %0 = linalg.generic {...matmul...} ins(%a, %b) outs(%zeros)
    %1 = linalg.generic {...relu...} ins(%0) outs(%empty)
    // becomes
    %1 = kernel.launch @kernel.0(%a, %b) into (%empty)
    ```

    With `chain-bytes` a product, a row-wise chain on it and the product over its
    rows (attention, as exporters write it) become one kernel of three stages
    that runs block by block, where nothing else uses what lies between them. Its
    second output is memory for the blocks: the whole matrix is never there. A
    target that keeps blocks elsewhere says by a function which stages it can run.

    With `join-extremes` the greatest and least element of a tensor become further
    results of the kernel that makes it, or of one that only reads it.
  }];
  let dependentDialects = ["::onnx_aot::kernel::KernelDialect",
                           "::mlir::tensor::TensorDialect"];
  let options = [
    Option<"limit", "limit", "int64_t", "-1",
           "Outline only this many kernels, to find the wrong one; -1 for all">,
    Option<"chainBytes", "chain-bytes", "int64_t", "0",
           "Bytes that a block between chained kernels may take; 0 chains none">,
    Option<"joinExtremes", "join-extremes", "bool", "false",
           "Kernels find the extremes of what they make">
  ];
}

def RecomputeLaunches : Pass<"codegen-recompute-launches", "::mlir::ModuleOp"> {
  let summary = "Compute values again instead of keeping them, to fit a budget";
  let description = [{
    Requires an entry of launches on tensors, with sizes that are constants where
    a budget is given. Guarantees that the arena which the passes behind it plan
    has at most `budget` bytes, or fails with the least that was reached. What a
    run computes does not change by a bit: the same kernels run on the same
    values, some of them twice.

    ```mlir
    %a = kernel.launch @f(%x) into(%0)
    %b = kernel.launch @g(%a) into(%1)
    ...                              // %a lies idle while most memory is used
    %e = kernel.launch @h(%a, %d) into(%2)
    // becomes
    %a = kernel.launch @f(%x) into(%0)
    %b = kernel.launch @g(%a) into(%1)
    ...
    %c = kernel.launch @f(%x) into(%3)
    %e = kernel.launch @h(%c, %d) into(%2)
    ```
  }];
  let options = [
    Option<"budget", "budget", "int64_t", "0",
           "Most bytes of the arena; 0 for any number">,
    Option<"state", "state", "int64_t", "0",
           "Bytes of the caller's budget that are spoken for, for messages">
  ];
}

def BufferizeEntry : Pass<"codegen-bufferize-entry", "::mlir::ModuleOp"> {
  let summary = "Bufferize the entry function, not the kernels";
  let description = [{
    One-shot bufferisation after the elimination of needless `tensor.empty`.
  }];
  let dependentDialects = ["::mlir::bufferization::BufferizationDialect",
                           "::mlir::memref::MemRefDialect"];
}

def PlanBuffers : Pass<"codegen-plan-buffers", "::mlir::ModuleOp"> {
  let summary = "Place every temporary buffer of the entry in one arena";
  let description = [{
    Requires a bufferised entry. Allocations whose size follows from the symbols
    become views of the arena at offsets chosen by liveness; buffers that are
    never alive together share memory. Adds the function `main.plan` from the
    symbols to the output dimensions and the arena's bytes. What depends on
    tensor values becomes a call of `onnx_aot.allocate`, released at the end.
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect",
                           "::mlir::arith::ArithDialect"];
  let options = [
    Option<"record", "record", "bool", "false",
           "Note the steps and the buffers on the module, for reports">
  ];
}

def LowerCalls : Pass<"codegen-lower-calls", "::mlir::ModuleOp"> {
  let summary = "Pass the buffers of calls of C functions as addresses and sizes";
  let description = [{
    Requires a bufferised entry whose calls have dense operands. Each
    `kernel.call` becomes a call of `onnx_aot.call.N`, which `codegen-define-calls`
    defines, with the context, the addresses of the operands and their sizes, and
    a check of what it returns. The callees `onnx_aot.strings` and
    `onnx_aot.equal` become loops.

    ```mlir
    kernel.call "my_op"(%x) into (%y) {...} : (memref<4xf32>) into (memref<4xf32>)
    // becomes
    %status = func.call @onnx_aot.call.0(%context, %x_address, %y_address, %c4, %c4)
        : (!llvm.ptr, index, index, index, index) -> i32
    cf.assert %isZero, "my_op failed"
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::cf::ControlFlowDialect",
                           "::mlir::LLVM::LLVMDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect"];
}

def DefineCalls : Pass<"codegen-define-calls", "::mlir::ModuleOp"> {
  let summary = "Write the structures that a C function is called with";
  let description = [{
    Requires the LLVM dialect. Defines the functions that `codegen-lower-calls`
    has declared: they build an OnnxAotOpCall of abi/CustomOp.h on the stack and
    call the C function.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def LowerChecks : Pass<"codegen-lower-checks", "::mlir::ModuleOp"> {
  let summary = "End the run with a reason where a check fails";
  let description = [{
    Requires the entry in the LLVM dialect with `cf` control flow. Each `cf.assert`
    becomes a branch out of the entry that sets the context's status to
    ONNX_AOT_RUN_FAILED and calls the runtime's `fail` with the message.

    ```mlir
    cf.assert %ok, "an index is out of range"
    // becomes
    cf.cond_br %ok, ^rest, ^leave
    ^leave:
      llvm.call @onnx_aot.fail(%context, %text) : (!llvm.ptr, !llvm.ptr) -> ()
      llvm.return
    ```
  }];
  let dependentDialects = ["::mlir::cf::ControlFlowDialect",
                           "::mlir::LLVM::LLVMDialect"];
}

def AbiWrappers : Pass<"codegen-abi-wrappers", "::mlir::ModuleOp"> {
  let summary = "Add the functions that the module's descriptor points to";
  let description = [{
    Requires the entry and its plan in the LLVM dialect. Adds `run` and `plan`
    with the signatures of abi/Abi.h, defines the functions by which the entry
    asks the runtime for memory, and lets the entry return early when there is
    none.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def ParallelLaunch : Pass<"codegen-parallel-launch", "::mlir::ModuleOp"> {
  let summary = "Define the launchers of kernels by the runtime's parallel loop";
  let description = [{
    Requires the LLVM dialect. A launcher packs the kernel's arguments and hands a
    task function to OnnxAotRuntime::parallel_for; with one task, or without that
    service, it calls the kernel itself.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // ONNX_AOT_CODEGEN_COMMON_PASSES

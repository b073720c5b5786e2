//===- KernelOps.td - calls of outlined kernels -----------*- tablegen -*-===//

#ifndef ONNX_AOT_DIALECT_KERNEL_IR_KERNELOPS
#define ONNX_AOT_DIALECT_KERNEL_IR_KERNELOPS

include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Kernel_Dialect : Dialect {
  let name = "kernel";
  let cppNamespace = "::onnx_aot::kernel";
  let summary = "Calls of fused regions that are compiled on their own";
  let description = [{
    The entry function is a list of launches. A launch names a function whose
    body says what the kernel computes (linalg on tensors); each target writes its
    own code for it once the launch's operands are buffers.
  }];
}

def Kernel_LaunchOp : Op<Kernel_Dialect, "launch",
    [AttrSizedOperandSegments, DestinationStyleOpInterface,
     DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface,
      ["reifyResultShapes"]>,
     DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
     DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "run a kernel on whole tensors or buffers";
  let description = [{
    Overwrites `outputs` completely and never reads them. On tensors each output
    has a result; on buffers there are none.

    ```mlir
    %y = kernel.launch @matmul(%a, %b) into (%init)
        : (tensor<4x8xf32>, tensor<8x2xf32>) into (tensor<4x2xf32>) -> tensor<4x2xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<AnyType>:$inputs,
                       Variadic<AnyShaped>:$outputs);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    $kernel `(` $inputs `)` `into` `(` $outputs `)` attr-dict
    `:` (`(` type($inputs)^ `)`)? `into` `(` type($outputs) `)`
    (`->` type($results)^)?
  }];
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() {
      return getOutputsMutable();
    }
  }];
}

def Kernel_CallOp : Op<Kernel_Dialect, "call",
    [AttrSizedOperandSegments, DestinationStyleOpInterface,
     DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface,
      ["reifyResultShapes"]>,
     DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "call a C function on whole tensors or buffers";
  let description = [{
    Calls `callee`, a function of abi/CustomOp.h that is defined outside of the
    module, with dense buffers. `input_types` holds the ABI's element type of each
    input, 0 for one that is left out and has no operand, `output_types` those of
    the outputs. With `output_ranks` the function is asked for the outputs' sizes:
    the one output of the op, a list of i64, receives them one after the other.
    `message` is why a run fails where the function does not return 0.

    ```mlir
    %y = kernel.call "my_op"(%x) into (%init) {...}
        : (tensor<4xf32>) into (tensor<4xf32>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins StrAttr:$callee, StrAttr:$message,
    DenseI32ArrayAttr:$input_types, DenseI32ArrayAttr:$output_types,
    OptionalAttr<DenseI32ArrayAttr>:$output_ranks, DictionaryAttr:$node_attributes,
    Variadic<AnyShaped>:$inputs, Variadic<AnyShaped>:$outputs);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let hasVerifier = 1;
  let assemblyFormat = [{
    $callee `(` $inputs `)` `into` `(` $outputs `)` attr-dict
    `:` (`(` type($inputs)^ `)`)? `into` `(` type($outputs) `)`
    (`->` type($results)^)?
  }];
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() {
      return getOutputsMutable();
    }
  }];
}

#endif // ONNX_AOT_DIALECT_KERNEL_IR_KERNELOPS

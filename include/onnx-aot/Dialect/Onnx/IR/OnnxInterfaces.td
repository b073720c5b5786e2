//===- OnnxInterfaces.td - what every onnx op offers ------*- tablegen -*-===//

#ifndef ONNX_AOT_DIALECT_ONNX_IR_ONNXINTERFACES
#define ONNX_AOT_DIALECT_ONNX_IR_ONNXINTERFACES

include "mlir/IR/OpBase.td"

def OnnxOpInterface : OpInterface<"OnnxOpInterface"> {
  let cppNamespace = "::onnx_aot::onnx";
  let description = [{
    The schema of an onnx op as the importer needs it, and its shape function.
  }];
  let methods = [
    StaticInterfaceMethod<[{
      One letter per operand: `r` required, `o` optional, `v` variadic.
    }], "::llvm::StringRef", "getOperandKinds">,
    StaticInterfaceMethod<[{
      One letter per result: `r` always present, `v` variadic.
    }], "::llvm::StringRef", "getResultKinds">,
    StaticInterfaceMethod<[{
      The names of the graph attributes that became regions, in the order of
      the regions, separated by commas.
    }], "::llvm::StringRef", "getRegionNames">,
    InterfaceMethod<[{
      Computes the result types from operands, attributes and regions. Fails
      with an error at the op when the operands contradict each other.
      A dimension that cannot be known is `Dim::unknown()`; see Shape.h.
    }], "::llvm::LogicalResult", "inferResultTypes",
      (ins "::llvm::SmallVectorImpl<::mlir::Type> &":$types)>
  ];
}

#endif // ONNX_AOT_DIALECT_ONNX_IR_ONNXINTERFACES

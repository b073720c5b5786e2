//===- ControlFlowOps.td -------------------------------------------*- tablegen -*-===//

include "onnx-aot/Dialect/Onnx/IR/OnnxBase.td"

def Onnx_YieldOp : Onnx_Op<"Yield", [Terminator]> {
  let summary = "ends a subgraph and gives its outputs";
  let arguments = (ins Variadic<Onnx_Value>:$outputs);
  let assemblyFormat = "($outputs^ `:` type($outputs))? attr-dict";
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::inferResultTypes(
        ::llvm::SmallVectorImpl<::mlir::Type> &) { return ::mlir::success(); }
  }];
}

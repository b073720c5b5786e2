//===- CustomOps.td - operators that a user writes -------------*- tablegen -*-===//

include "onnx-aot/Dialect/Onnx/IR/OnnxBase.td"

def Onnx_CustomCallOp : Onnx_Op<"custom.Call"> {
  let summary = "outputs = callee(inputs), a C function of the user's";
  let description = [{
    An operator of a user's domain (docs/CustomOps.md). `op` is its domain and name,
    `present` tells for each of the node's inputs whether there is an operand for
    it, `output_types` are the outputs' types as the model declares them. Where a
    size of these is unknown, `shape_callee` tells it.
  }];
  let arguments = (ins Variadic<Onnx_Tensor>:$inputs, StrAttr:$op,
    StrAttr:$callee, StrAttr:$shape_callee, DenseBoolArrayAttr:$present,
    TypeArrayAttr:$output_types, DictionaryAttr:$node_attributes);
  let results = (outs Variadic<Onnx_Tensor>:$outputs);
  let hasVerifier = 1;
}

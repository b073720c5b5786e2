//===- ElementwiseOps.td - pointwise arithmetic ---------------*- tablegen -*-===//

include "onnx-aot/Dialect/Onnx/IR/OnnxBase.td"

def Onnx_AddOp : Onnx_BinaryOp<"Add"> { let summary = "c = a + b"; }
def Onnx_ReluOp : Onnx_UnaryOp<"Relu"> { let summary = "y = max(x, 0), NaN stays NaN"; }

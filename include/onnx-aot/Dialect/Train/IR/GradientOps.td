//===- GradientOps.td - ops of the backward pass -----------*- tablegen -*-===//

include "onnx-aot/Dialect/Train/IR/TrainBase.td"

def Train_StopGradientOp : Train_UnaryOp<"StopGradient"> {
  let summary = "y = x, and no gradient passes";
}

def Train_GradientOp : Train_Op<"Gradient", [AttrSizedOperandSegments]> {
  let summary = "gradients of y = f(xs, zs) with respect to xs, at given values";
  let description = [{
    ai.onnx.preview.training: f is the part of the graph between xs, zs and y.
    `inputs` are the values of xs, then those of zs, at which it is evaluated. There
    is one result for each x. onnx-expand-gradients writes it out.
  }];
  let arguments = (ins Onnx_Tensor:$y, Variadic<Onnx_Tensor>:$xs,
      Variadic<Onnx_Tensor>:$zs, Variadic<Onnx_Tensor>:$inputs);
  let results = (outs Variadic<Onnx_Tensor>:$outputs);
}

//===- GradientOps.td - ops of the backward pass -----------*- tablegen -*-===//

include "onnx-aot/Dialect/Train/IR/TrainBase.td"

def Train_StopGradientOp : Train_UnaryOp<"StopGradient"> {
  let summary = "y = x, and no gradient passes";
}

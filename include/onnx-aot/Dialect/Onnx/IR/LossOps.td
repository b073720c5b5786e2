//===- LossOps.td - losses ----------------------------------------*- tablegen -*-===//

include "onnx-aot/Dialect/Onnx/IR/OnnxBase.td"

defvar lossAttributes = (ins OptionalAttr<I64Attr>:$ignore_index,
    DefaultValuedAttr<Onnx_OneOf<["none", "mean", "sum"]>, "\"mean\"">:$reduction);

def Onnx_NegativeLogLikelihoodLossOp : Onnx_Op<"NegativeLogLikelihoodLoss"> {
  let summary = "loss = -weight[target] input[target]";
  let description = [{
    The classes are dimension 1 of `input`. Targets equal to `ignore_index` count
    nothing; the mean divides by the sum of the weights that count. A target that
    is no class gives NaN.
  }];
  let arguments = !con((ins Onnx_FloatTensor:$input, Onnx_IndexTensor:$target,
      Optional<Onnx_FloatTensor>:$weight), lossAttributes);
  let results = (outs Onnx_Tensor:$loss);
  let hasVerifier = 1;
}
def Onnx_SoftmaxCrossEntropyLossOp : Onnx_Op<"SoftmaxCrossEntropyLoss"> {
  let summary = "negative log likelihood loss of log_prob = logsoftmax(scores)";
  let arguments = !con((ins Onnx_FloatTensor:$scores, Onnx_IndexTensor:$labels,
      Optional<Onnx_FloatTensor>:$weights), lossAttributes);
  let results = (outs Onnx_Tensor:$output, Onnx_Tensor:$log_prob);
  let hasVerifier = 1;
}

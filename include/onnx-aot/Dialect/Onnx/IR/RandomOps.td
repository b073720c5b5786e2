//===- RandomOps.td - dropout and random numbers -------------*- tablegen -*-===//

include "onnx-aot/Dialect/Onnx/IR/OnnxBase.td"

def Onnx_DropoutOp : Onnx_Op<"Dropout", [AttrSizedOperandSegments]> {
  let summary = "y = x, or x * mask / (1 - ratio) when training";
  let arguments = (ins Onnx_FloatTensor:$data, Optional<Onnx_FloatTensor>:$ratio,
                       Optional<Onnx_BoolTensor>:$training_mode,
                       OptionalAttr<I64Attr>:$seed);
  let results = (outs Onnx_Tensor:$output, Onnx_Tensor:$mask);
}

def Onnx_RandomNormalOp : Onnx_Op<"RandomNormal"> {
  let summary = "normally distributed numbers of a given shape";
  let arguments = (ins Onnx_Int<"1">:$dtype, Onnx_Float<"0.0">:$mean,
                       Onnx_Float<"1.0">:$scale, OptionalAttr<F32Attr>:$seed,
                       DenseI64ArrayAttr:$shape);
  let results = (outs Onnx_Tensor:$output);
}

def Onnx_RandomUniformOp : Onnx_Op<"RandomUniform"> {
  let summary = "uniformly distributed numbers in [low, high) of a given shape";
  let arguments = (ins Onnx_Int<"1">:$dtype, Onnx_Float<"1.0">:$high,
                       Onnx_Float<"0.0">:$low, OptionalAttr<F32Attr>:$seed,
                       DenseI64ArrayAttr:$shape);
  let results = (outs Onnx_Tensor:$output);
}

def Onnx_RandomNormalLikeOp : Onnx_Op<"RandomNormalLike"> {
  let summary = "normally distributed numbers in the shape of the input";
  let arguments = (ins Onnx_Tensor:$input, OptionalAttr<I64Attr>:$dtype,
                       Onnx_Float<"0.0">:$mean, Onnx_Float<"1.0">:$scale,
                       OptionalAttr<F32Attr>:$seed);
  let results = (outs Onnx_Tensor:$output);
}

def Onnx_RandomUniformLikeOp : Onnx_Op<"RandomUniformLike"> {
  let summary = "uniformly distributed numbers in the shape of the input";
  let arguments = (ins Onnx_Tensor:$input, OptionalAttr<I64Attr>:$dtype,
                       Onnx_Float<"1.0">:$high, Onnx_Float<"0.0">:$low,
                       OptionalAttr<F32Attr>:$seed);
  let results = (outs Onnx_Tensor:$output);
}

def Onnx_BernoulliOp : Onnx_Op<"Bernoulli"> {
  let summary = "1 with the probability that the input says, else 0";
  let arguments = (ins Onnx_FloatTensor:$input, OptionalAttr<I64Attr>:$dtype,
                       OptionalAttr<F32Attr>:$seed);
  let results = (outs Onnx_Tensor:$output);
}

def Onnx_MultinomialOp : Onnx_Op<"Multinomial"> {
  let summary = "samples of class numbers from rows of log probabilities";
  let arguments = (ins Onnx_FloatTensor:$input, Onnx_Int<"6">:$dtype,
                       Onnx_Int<"1">:$sample_size, OptionalAttr<F32Attr>:$seed);
  let results = (outs Onnx_Tensor:$output);
}

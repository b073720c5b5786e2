//===- NormalizationOps.td - normalization and softmax -----------*- tablegen -*-===//

include "onnx-aot/Dialect/Onnx/IR/OnnxBase.td"

//===--- Along axes -------------------------------------------------------===//

/// y = f(x) along one axis; shape and element type stay.
class Onnx_AlongAxisOp<string mnemonic, string formula, dag attributes = (ins)>
    : Onnx_UnaryOp<mnemonic, [SameOperandsAndResultElementType]> {
  let summary = formula;
  let arguments = !con((ins Onnx_FloatTensor:$x, Onnx_Int<"-1">:$axis), attributes);
  let hasVerifier = 1;
}
def Onnx_SoftmaxOp : Onnx_AlongAxisOp<"Softmax",
    "y = e ^ (x - max x) / sum e ^ (x - max x) along axis">;
def Onnx_LogSoftmaxOp : Onnx_AlongAxisOp<"LogSoftmax",
    "y = x - max x - log(sum e ^ (x - max x)) along axis">;
def Onnx_HardmaxOp : Onnx_AlongAxisOp<"Hardmax",
    "y = 1 at the first maximum along axis, else 0">;
def Onnx_LpNormalizationOp : Onnx_AlongAxisOp<"LpNormalization",
    "y = x / (sum |x| ^ p) ^ (1 / p) along axis, 0 where that is 0",
    (ins DefaultValuedAttr<ConfinedAttr<I64Attr, [IntMinValue<1>, IntMaxValue<2>]>, "2">:$p)>;
def Onnx_MeanVarianceNormalizationOp : Onnx_UnaryOp<"MeanVarianceNormalization",
    [SameOperandsAndResultElementType]> {
  let summary = "y = (x - mean x) / (sqrt(var x) + 1e-9) over axes";
  let arguments = (ins Onnx_FloatTensor:$x,
      DefaultValuedAttr<DenseI64ArrayAttr, "{0, 2, 3}">:$axes);
  let hasVerifier = 1;
}
def Onnx_LRNOp : Onnx_UnaryOp<"LRN", [SameOperandsAndResultElementType]> {
  let summary = "y = x / (bias + alpha / size sum x ^ 2 over near channels) ^ beta";
  let arguments = (ins Onnx_FloatTensor:$x, Onnx_Float<"1e-4f">:$alpha,
      Onnx_Float<"0.75f">:$beta, Onnx_Float<"1.0f">:$bias,
      ConfinedAttr<I64Attr, [IntPositive]>:$size);
  let hasVerifier = 1;
}

//===--- Over channels ----------------------------------------------------===//

def Onnx_BatchNormalizationOp : Onnx_Op<"BatchNormalization"> {
  let summary = "y = scale (x - mean) / sqrt(var + epsilon) + b per channel";
  let description = [{
    In training mode mean and (population) variance are those of the batch, and
    running = momentum input + (1 - momentum) batch; else running = input.
  }];
  let arguments = (ins Onnx_FloatTensor:$x, Onnx_FloatTensor:$scale,
      Onnx_FloatTensor:$b, Onnx_FloatTensor:$input_mean, Onnx_FloatTensor:$input_var,
      Onnx_Float<"1e-5f">:$epsilon, Onnx_Float<"0.9f">:$momentum,
      Onnx_Flag<"0">:$training_mode);
  let results = (outs Onnx_Tensor:$y, Onnx_Tensor:$running_mean, Onnx_Tensor:$running_var);
  let hasVerifier = 1;
}
def Onnx_InstanceNormalizationOp : Onnx_Op<"InstanceNormalization",
    [SameOperandsAndResultElementType]> {
  let summary = "y = scale (x - mean) / sqrt(var + epsilon) + b per instance and channel";
  let arguments = (ins Onnx_FloatTensor:$input, Onnx_FloatTensor:$scale,
      Onnx_FloatTensor:$b, Onnx_Float<"1e-5f">:$epsilon);
  let results = (outs Onnx_Tensor:$output);
  let hasVerifier = 1;
}
def Onnx_GroupNormalizationOp : Onnx_Op<"GroupNormalization",
    [SameOperandsAndResultElementType]> {
  let summary = "y = scale (x - mean) / sqrt(var + epsilon) + bias per instance and group";
  let arguments = (ins Onnx_FloatTensor:$x, Onnx_FloatTensor:$scale,
      Onnx_FloatTensor:$bias, Onnx_Float<"1e-5f">:$epsilon,
      ConfinedAttr<I64Attr, [IntPositive]>:$num_groups, Onnx_Int<"1">:$stash_type);
  let results = (outs Onnx_Tensor:$y);
  let hasVerifier = 1;
}

//===--- Over trailing dimensions -----------------------------------------===//

def Onnx_LayerNormalizationOp : Onnx_Op<"LayerNormalization"> {
  let summary = "y = scale (x - mean) / sqrt(var + epsilon) + b over dimensions from axis on";
  let description = "mean and inv_std_dev keep the reduced dimensions with size 1.";
  let arguments = (ins Onnx_FloatTensor:$x, Onnx_FloatTensor:$scale,
      Optional<Onnx_FloatTensor>:$b, Onnx_Int<"-1">:$axis,
      Onnx_Float<"1e-5f">:$epsilon, Onnx_Int<"1">:$stash_type);
  let results = (outs Onnx_Tensor:$y, Onnx_Tensor:$mean, Onnx_Tensor:$inv_std_dev);
  let hasVerifier = 1;
}
def Onnx_RMSNormalizationOp : Onnx_Op<"RMSNormalization"> {
  let summary = "y = scale x / sqrt(mean(x ^ 2) + epsilon) over dimensions from axis on";
  let arguments = (ins Onnx_FloatTensor:$x, Onnx_FloatTensor:$scale,
      Onnx_Int<"-1">:$axis, Onnx_Float<"1e-5f">:$epsilon, Onnx_Int<"1">:$stash_type);
  let results = (outs Onnx_Tensor:$y);
  let hasVerifier = 1;
}

//===- ElementwiseOps.td - pointwise arithmetic ---------------*- tablegen -*-===//
//
// Ops of one operand all call it x and their result y; ops of two have a, b, c.
//
//===----------------------------------------------------------------------===//

include "onnx-aot/Dialect/Onnx/IR/OnnxBase.td"

/// y = f(x) for the element types of `tensor`, with attributes.
class Onnx_MapOp<string mnemonic, Type tensor, string formula,
                 dag attributes = (ins)>
    : Onnx_UnaryOp<mnemonic, [SameOperandsAndResultElementType]> {
  let summary = formula;
  let arguments = !con((ins tensor:$x), attributes);
}

/// c = f(a, b) with broadcasting for the element types of `tensor`.
class Onnx_ZipOp<string mnemonic, Type tensor, string formula,
                 dag attributes = (ins)>
    : Onnx_BinaryOp<mnemonic, [SameOperandsAndResultElementType]> {
  let summary = formula;
  let arguments = !con((ins tensor:$a, tensor:$b), attributes);
}

/// y = f(x_0, ..., x_n) with broadcasting for the element types of `tensor`.
class Onnx_FoldOp<string mnemonic, Type tensor, string formula>
    : Onnx_VariadicOp<mnemonic, [SameOperandsAndResultElementType]> {
  let summary = formula;
  let arguments = (ins Variadic<tensor>:$inputs);
}

//===--- Arithmetic -------------------------------------------------------===//

def Onnx_AddOp : Onnx_ZipOp<"Add", Onnx_NumberTensor, "c = a + b">;
def Onnx_SubOp : Onnx_ZipOp<"Sub", Onnx_NumberTensor, "c = a - b">;
def Onnx_MulOp : Onnx_ZipOp<"Mul", Onnx_NumberTensor, "c = a * b">;
def Onnx_DivOp : Onnx_ZipOp<"Div", Onnx_NumberTensor,
    "c = a / b, towards zero for integers; x / 0 is 0"> {
  let description = [{
    ONNX leaves integer division by zero open; here it gives 0 and never traps.
    The smallest integer divided by -1 wraps to itself.
  }];
}
def Onnx_ModOp : Onnx_ZipOp<"Mod", Onnx_NumberTensor,
    "c = a mod b with the sign of b, of a if fmod", (ins Onnx_Flag<"0">:$fmod)> {
  let description = "A modulus of zero gives 0 for integers, NaN for floats.";
}
def Onnx_PowOp : Onnx_BinaryOp<"Pow"> {
  let summary = "z = x ^ y in the type of x";
  let description = [{
    The exponent may have another element type. An integer to a negative power
    is the integer part of the exact result: 0 unless the base is 1 or -1; 0 to
    a negative power is 0.
  }];
  let arguments = (ins Onnx_NumberTensor:$x, Onnx_NumberTensor:$y);
  let results = (outs Onnx_Tensor:$z);
}
def Onnx_MaxOp : Onnx_FoldOp<"Max", Onnx_NumberTensor, "largest input, NaN wins">;
def Onnx_MinOp : Onnx_FoldOp<"Min", Onnx_NumberTensor, "smallest input, NaN wins">;
def Onnx_SumOp : Onnx_FoldOp<"Sum", Onnx_FloatTensor, "sum of the inputs">;
def Onnx_MeanOp : Onnx_FoldOp<"Mean", Onnx_FloatTensor, "mean of the inputs">;
def Onnx_NegOp : Onnx_MapOp<"Neg", Onnx_SignedTensor, "y = -x"> { let hasFolder = 1; }
def Onnx_AbsOp : Onnx_MapOp<"Abs", Onnx_NumberTensor, "y = |x|">;
def Onnx_SignOp : Onnx_MapOp<"Sign", Onnx_NumberTensor, "y = -1, 0 or 1; NaN stays NaN">;
def Onnx_ReciprocalOp : Onnx_MapOp<"Reciprocal", Onnx_FloatTensor, "y = 1 / x">;
def Onnx_CeilOp : Onnx_MapOp<"Ceil", Onnx_FloatTensor, "x rounded up">;
def Onnx_FloorOp : Onnx_MapOp<"Floor", Onnx_FloatTensor, "x rounded down">;
def Onnx_RoundOp : Onnx_MapOp<"Round", Onnx_FloatTensor, "nearest integer, ties to even">;
def Onnx_ClipOp : Onnx_UnaryOp<"Clip",
    [SameOperandsAndResultElementType, AttrSizedOperandSegments]> {
  let summary = "y = min(max, max(x, min))";
  let description = "Bounds are scalars; NaN in x or in a bound gives NaN.";
  let arguments = (ins Onnx_NumberTensor:$x, Optional<Onnx_NumberTensor>:$min,
      Optional<Onnx_NumberTensor>:$max);
  let hasVerifier = 1;
}
def Onnx_BitShiftOp : Onnx_ZipOp<"BitShift", Onnx_UnsignedIntTensor, "c = a << b or a >> b",
    (ins Onnx_OneOf<["LEFT", "RIGHT"]>:$direction)> {
  let description = "Shifting by the width or more gives 0.";
}

//===--- Functions --------------------------------------------------------===//

def Onnx_SqrtOp : Onnx_MapOp<"Sqrt", Onnx_FloatTensor, "y = sqrt x, NaN below zero">;
def Onnx_ExpOp : Onnx_MapOp<"Exp", Onnx_FloatTensor, "y = e ^ x">;
def Onnx_LogOp : Onnx_MapOp<"Log", Onnx_FloatTensor, "natural logarithm, NaN below zero">;
def Onnx_ErfOp : Onnx_MapOp<"Erf", Onnx_FloatTensor, "the Gauss error function">;
def Onnx_SinOp : Onnx_MapOp<"Sin", Onnx_FloatTensor, "y = sin x">;
def Onnx_CosOp : Onnx_MapOp<"Cos", Onnx_FloatTensor, "y = cos x">;
def Onnx_TanOp : Onnx_MapOp<"Tan", Onnx_FloatTensor, "y = tan x">;
def Onnx_AsinOp : Onnx_MapOp<"Asin", Onnx_FloatTensor, "y = arcsin x">;
def Onnx_AcosOp : Onnx_MapOp<"Acos", Onnx_FloatTensor, "y = arccos x">;
def Onnx_AtanOp : Onnx_MapOp<"Atan", Onnx_FloatTensor, "y = arctan x">;
def Onnx_SinhOp : Onnx_MapOp<"Sinh", Onnx_FloatTensor, "y = sinh x">;
def Onnx_CoshOp : Onnx_MapOp<"Cosh", Onnx_FloatTensor, "y = cosh x">;
def Onnx_TanhOp : Onnx_MapOp<"Tanh", Onnx_FloatTensor, "y = tanh x">;
def Onnx_AsinhOp : Onnx_MapOp<"Asinh", Onnx_FloatTensor, "y = arsinh x">;
def Onnx_AcoshOp : Onnx_MapOp<"Acosh", Onnx_FloatTensor, "y = arcosh x">;
def Onnx_AtanhOp : Onnx_MapOp<"Atanh", Onnx_FloatTensor, "y = artanh x">;

//===--- Activations ------------------------------------------------------===//

def Onnx_ReluOp : Onnx_MapOp<"Relu", Onnx_SignedTensor, "y = max(x, 0), NaN stays NaN">;
def Onnx_LeakyReluOp : Onnx_MapOp<"LeakyRelu", Onnx_FloatTensor,
    "y = x if x >= 0 else alpha x", (ins Onnx_Float<"0.01f">:$alpha)>;
def Onnx_PReluOp : Onnx_Op<"PRelu", [SameOperandsAndResultElementType]> {
  let summary = "y = x if x >= 0 else slope x, slope broadcast to x";
  let arguments = (ins Onnx_NumberTensor:$x, Onnx_NumberTensor:$slope);
  let results = (outs Onnx_Tensor:$y);
}
def Onnx_ThresholdedReluOp : Onnx_MapOp<"ThresholdedRelu", Onnx_FloatTensor,
    "y = x if x > alpha else 0", (ins Onnx_Float<"1.0f">:$alpha)>;
def Onnx_EluOp : Onnx_MapOp<"Elu", Onnx_FloatTensor,
    "y = x if x > 0 else alpha (e ^ x - 1)", (ins Onnx_Float<"1.0f">:$alpha)>;
def Onnx_CeluOp : Onnx_MapOp<"Celu", Onnx_FloatTensor,
    "y = max(0, x) + min(0, alpha (e ^ (x / alpha) - 1))",
    (ins Onnx_Float<"1.0f">:$alpha)>;
def Onnx_SeluOp : Onnx_MapOp<"Selu", Onnx_FloatTensor,
    "y = gamma x if x > 0 else gamma alpha (e ^ x - 1)",
    (ins Onnx_Float<"1.67326319217681884765625f">:$alpha,
         Onnx_Float<"1.05070102214813232421875f">:$gamma)>;
def Onnx_GeluOp : Onnx_MapOp<"Gelu", Onnx_FloatTensor,
    "y = x / 2 (1 + erf(x / sqrt 2)), or its tanh approximation",
    (ins DefaultValuedAttr<Onnx_OneOf<["none", "tanh"]>, "\"none\"">:$approximate)>;
def Onnx_SigmoidOp : Onnx_MapOp<"Sigmoid", Onnx_FloatTensor, "y = 1 / (1 + e ^ -x)">;
def Onnx_HardSigmoidOp : Onnx_MapOp<"HardSigmoid", Onnx_FloatTensor,
    "y = max(0, min(1, alpha x + beta))",
    (ins Onnx_Float<"0.2f">:$alpha, Onnx_Float<"0.5f">:$beta)>;
def Onnx_HardSwishOp : Onnx_MapOp<"HardSwish", Onnx_FloatTensor,
    "y = x max(0, min(1, x / 6 + 1 / 2))">;
def Onnx_SwishOp : Onnx_MapOp<"Swish", Onnx_FloatTensor, "y = x sigmoid(alpha x)",
    (ins Onnx_Float<"1.0f">:$alpha)>;
def Onnx_MishOp : Onnx_MapOp<"Mish", Onnx_FloatTensor, "y = x tanh(softplus x)">;
def Onnx_SoftplusOp : Onnx_MapOp<"Softplus", Onnx_FloatTensor, "y = log(1 + e ^ x)">;
def Onnx_SoftsignOp : Onnx_MapOp<"Softsign", Onnx_FloatTensor, "y = x / (1 + |x|)">;
def Onnx_ShrinkOp : Onnx_MapOp<"Shrink", Onnx_NumberTensor,
    "y = x + bias if x < -lambd, x - bias if x > lambd, else 0",
    (ins Onnx_Float<"0.0f">:$bias, Onnx_Float<"0.5f">:$lambd)>;

//===--- Types ------------------------------------------------------------===//

/// The element type changes, the shape stays.
class Onnx_CastOpBase<string mnemonic, dag operands, dag attributes>
    : Onnx_Op<mnemonic> {
  let arguments = !con(operands, attributes);
  let results = (outs Onnx_Tensor:$output);
  let hasFolder = 1;
}
defvar castAttributes = (ins
    DefaultValuedAttr<Onnx_OneOf<["up", "down", "nearest"]>, "\"up\"">:$round_mode,
    Onnx_Flag<"1">:$saturate);
def Onnx_CastOp : Onnx_CastOpBase<"Cast", (ins Onnx_Tensor:$input),
    !con(castAttributes, (ins I64Attr:$to))> {
  let summary = "convert to the element type `to` (TensorProto.DataType)";
  let description = [{
    Float to integer truncates; out of range it saturates, and NaN gives 0.
    Integer to integer wraps. To bool: anything but zero is true.
  }];
}
def Onnx_CastLikeOp : Onnx_CastOpBase<"CastLike",
    (ins Onnx_Tensor:$input, Onnx_Tensor:$target_type), castAttributes> {
  let summary = "convert to the element type of another tensor";
}
def Onnx_BitCastOp : Onnx_CastOpBase<"BitCast", (ins Onnx_Tensor:$input),
    (ins I64Attr:$to)> {
  let summary = "reinterpret the bits as another element type of the same width";
}
def Onnx_IdentityOp : Onnx_Op<"Identity"> {
  let summary = "output = input";
  let arguments = (ins Onnx_Value:$input);
  let results = (outs Onnx_Value:$output);
  let hasFolder = 1;
}

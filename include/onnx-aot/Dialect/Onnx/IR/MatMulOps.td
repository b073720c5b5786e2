//===- MatMulOps.td - matrix products -------------------------*- tablegen -*-===//

include "onnx-aot/Dialect/Onnx/IR/OnnxBase.td"

def Onnx_MatMulOp : Onnx_Op<"MatMul"> {
  let summary = "y[..., m, n] = sum_k a[..., m, k] * b[..., k, n]";
  let description = [{
    numpy.matmul: batch dimensions broadcast, a 1-D operand is a row (a) or a
    column (b) whose unit dimension does not appear in the result.
  }];
  let arguments = (ins Onnx_Tensor:$a, Onnx_Tensor:$b);
  let results = (outs Onnx_Tensor:$y);
}

def Onnx_GemmOp : Onnx_Op<"Gemm"> {
  let summary = "y = alpha * a' * b' + beta * c";
  let description = [{
    a' and b' are the matrices or their transposes; c broadcasts to the product.
  }];
  let arguments = (ins Onnx_Tensor:$a, Onnx_Tensor:$b, Optional<Onnx_Tensor>:$c,
    DefaultValuedAttr<F32Attr, "1.0f">:$alpha,
    DefaultValuedAttr<F32Attr, "1.0f">:$beta,
    DefaultValuedAttr<I64Attr, "0">:$trans_a,
    DefaultValuedAttr<I64Attr, "0">:$trans_b);
  let results = (outs Onnx_Tensor:$y);
}

def Onnx_FusedMatMulOp : Onnx_Op<"FusedMatMul"> {
  let summary = "y = alpha * a' * b' with numpy.matmul's batch rules";
  let description = [{
    com.microsoft: trans_a and trans_b swap the last two dimensions,
    trans_batch_a and trans_batch_b move the first dimension to the last but one
    (before the swap).
  }];
  let arguments = (ins Onnx_Tensor:$a, Onnx_Tensor:$b,
    DefaultValuedAttr<F32Attr, "1.0f">:$alpha,
    DefaultValuedAttr<I64Attr, "0">:$trans_a,
    DefaultValuedAttr<I64Attr, "0">:$trans_b,
    DefaultValuedAttr<I64Attr, "0">:$trans_batch_a,
    DefaultValuedAttr<I64Attr, "0">:$trans_batch_b);
  let results = (outs Onnx_Tensor:$y);
}

def Onnx_MatMulIntegerOp : Onnx_Op<"MatMulInteger", [AttrSizedOperandSegments]> {
  let summary = "y = (a - a_zero_point) * (b - b_zero_point) in 32-bit integers";
  let description = [{
    The zero point of `a` is a scalar or one per row, that of `b` a scalar or one
    per column; either may also be a tensor that broadcasts (N-D form).
  }];
  let arguments = (ins Onnx_Tensor:$a, Onnx_Tensor:$b,
    Optional<Onnx_Tensor>:$a_zero_point, Optional<Onnx_Tensor>:$b_zero_point);
  let results = (outs Onnx_Tensor:$y);
}

def Onnx_EinsumOp : Onnx_Op<"Einsum"> {
  let summary = "output[o...] = sum over the labels not in o of the inputs' product";
  let description = [{
    Labels are letters of either case, `...` stands for broadcast dimensions. Without
    `->` the output has the labels that occur once, sorted.
  }];
  let arguments = (ins Variadic<Onnx_Tensor>:$inputs, StrAttr:$equation);
  let results = (outs Onnx_Tensor:$output);
}

def Onnx_DetOp : Onnx_Op<"Det"> {
  let summary = "y[...] = determinant of x[..., :, :]";
  let arguments = (ins Onnx_Tensor:$x);
  let results = (outs Onnx_Tensor:$y);
}

def Onnx_AttentionOp : Onnx_Op<"Attention", [AttrSizedOperandSegments]> {
  let summary = "y = softmax(scale * q * k' + mask) * v for each head";
  let description = [{
    q, k, v are (batch, heads, sequence, size) or (batch, sequence, heads * size).
    Heads of q share those of k and v in equal groups. present_key and
    present_value are the past ones with k and v appended.
  }];
  let arguments = (ins Onnx_Tensor:$q, Onnx_Tensor:$k, Onnx_Tensor:$v,
    Optional<Onnx_Tensor>:$attn_mask, Optional<Onnx_Tensor>:$past_key,
    Optional<Onnx_Tensor>:$past_value, Optional<Onnx_Tensor>:$nonpad_kv_seqlen,
    DefaultValuedAttr<I64Attr, "0">:$is_causal,
    OptionalAttr<I64Attr>:$kv_num_heads,
    OptionalAttr<I64Attr>:$q_num_heads,
    DefaultValuedAttr<I64Attr, "0">:$qk_matmul_output_mode,
    OptionalAttr<F32Attr>:$scale,
    DefaultValuedAttr<F32Attr, "0.0f">:$softcap,
    OptionalAttr<I64Attr>:$softmax_precision);
  let results = (outs Onnx_Tensor:$y, Onnx_Tensor:$present_key,
    Onnx_Tensor:$present_value, Onnx_Tensor:$qk_matmul_output);
}

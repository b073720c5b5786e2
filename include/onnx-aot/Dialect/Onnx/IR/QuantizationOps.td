//===- QuantizationOps.td - affine quantization --------------*- tablegen -*-===//
//
// A scale and zero point hold for the whole tensor (one element), for each
// position along `axis` (1-D), or for blocks of `block_size` along it.
//
//===----------------------------------------------------------------------===//

include "onnx-aot/Dialect/Onnx/IR/OnnxBase.td"

def Onnx_QuantizeLinearOp : Onnx_Op<"QuantizeLinear"> {
  let summary = "y = saturate(round_half_even(x / y_scale) + y_zero_point)";
  let arguments = (ins Onnx_Tensor:$x, Onnx_Tensor:$y_scale,
                       Optional<Onnx_Tensor>:$y_zero_point,
                       Onnx_Int<"1">:$axis, Onnx_Int<"0">:$block_size,
                       Onnx_Int<"0">:$output_dtype, Onnx_Int<"0">:$precision,
                       Onnx_Flag<"1">:$saturate);
  let results = (outs Onnx_Tensor:$y);
}

def Onnx_DequantizeLinearOp : Onnx_Op<"DequantizeLinear"> {
  let summary = "y = (x - x_zero_point) * x_scale";
  let arguments = (ins Onnx_Tensor:$x, Onnx_Tensor:$x_scale,
                       Optional<Onnx_Tensor>:$x_zero_point,
                       Onnx_Int<"1">:$axis, Onnx_Int<"0">:$block_size,
                       Onnx_Int<"0">:$output_dtype);
  let results = (outs Onnx_Tensor:$y);
}

def Onnx_DynamicQuantizeLinearOp : Onnx_Op<"DynamicQuantizeLinear"> {
  let summary = "quantizes to uint8 over the range of x, which includes 0";
  let arguments = (ins TensorOf<[F32]>:$x);
  let results = (outs Onnx_Tensor:$y, Onnx_Tensor:$y_scale,
                      Onnx_Tensor:$y_zero_point);
}

def Onnx_QLinearMatMulOp : Onnx_Op<"QLinearMatMul"> {
  let summary = "matrix product of quantized tensors, quantized";
  let arguments = (ins Onnx_Tensor:$a, Onnx_Tensor:$a_scale,
                       Onnx_Tensor:$a_zero_point, Onnx_Tensor:$b,
                       Onnx_Tensor:$b_scale, Onnx_Tensor:$b_zero_point,
                       Onnx_Tensor:$y_scale, Onnx_Tensor:$y_zero_point);
  let results = (outs Onnx_Tensor:$y);
}

def Onnx_QLinearConvOp : Onnx_Op<"QLinearConv"> {
  let summary = "convolution of quantized tensors, quantized; bias is int32";
  let arguments = (ins Onnx_Tensor:$x, Onnx_Tensor:$x_scale,
                       Onnx_Tensor:$x_zero_point, Onnx_Tensor:$w,
                       Onnx_Tensor:$w_scale, Onnx_Tensor:$w_zero_point,
                       Onnx_Tensor:$y_scale, Onnx_Tensor:$y_zero_point,
                       Optional<Onnx_Tensor>:$b,
                       DefaultValuedAttr<StrAttr, "\"NOTSET\"">:$auto_pad,
                       OptionalAttr<DenseI64ArrayAttr>:$dilations,
                       Onnx_Int<"1">:$group,
                       OptionalAttr<DenseI64ArrayAttr>:$kernel_shape,
                       OptionalAttr<DenseI64ArrayAttr>:$pads,
                       OptionalAttr<DenseI64ArrayAttr>:$strides);
  let results = (outs Onnx_Tensor:$y);
}

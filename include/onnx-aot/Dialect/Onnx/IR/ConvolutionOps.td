//===- ConvolutionOps.td - convolutions -----------------------*- tablegen -*-===//

include "onnx-aot/Dialect/Onnx/IR/OnnxBase.td"

def Onnx_ConvOp : Onnx_Op<"Conv"> {
  let summary = "y[n, m, o] = b[m] + sum_{c, k} x[n, c, o * stride + k * dilation - pad] * w[m, c, k]";
  let description = [{
    One to any number of spatial dimensions. With `channels_last` (set by a layout
    pass, never by a file) x and y are (n, spatial..., c); w stays (m, c / group,
    kernel...).
  }];
  let arguments = (ins Onnx_Tensor:$x, Onnx_Tensor:$w, Optional<Onnx_Tensor>:$b,
    DefaultValuedAttr<StrAttr, "\"NOTSET\"">:$auto_pad,
    OptionalAttr<DenseI64ArrayAttr>:$dilations,
    DefaultValuedAttr<I64Attr, "1">:$group,
    OptionalAttr<DenseI64ArrayAttr>:$kernel_shape,
    OptionalAttr<DenseI64ArrayAttr>:$pads,
    OptionalAttr<DenseI64ArrayAttr>:$strides,
    UnitAttr:$channels_last);
  let results = (outs Onnx_Tensor:$y);
}

def Onnx_ConvIntegerOp : Onnx_Op<"ConvInteger", [AttrSizedOperandSegments]> {
  let summary = "y = conv(x - x_zero_point, w - w_zero_point) in 32-bit integers";
  let description = [{
    Padding adds x_zero_point, that is 0 after the subtraction. w_zero_point is a
    scalar or one per output channel.
  }];
  let arguments = (ins Onnx_Tensor:$x, Onnx_Tensor:$w,
    Optional<Onnx_Tensor>:$x_zero_point, Optional<Onnx_Tensor>:$w_zero_point,
    DefaultValuedAttr<StrAttr, "\"NOTSET\"">:$auto_pad,
    OptionalAttr<DenseI64ArrayAttr>:$dilations,
    DefaultValuedAttr<I64Attr, "1">:$group,
    OptionalAttr<DenseI64ArrayAttr>:$kernel_shape,
    OptionalAttr<DenseI64ArrayAttr>:$pads,
    OptionalAttr<DenseI64ArrayAttr>:$strides);
  let results = (outs Onnx_Tensor:$y);
}

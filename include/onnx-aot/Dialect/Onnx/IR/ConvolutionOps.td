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

def Onnx_ConvTransposeOp : Onnx_Op<"ConvTranspose"> {
  let summary = "y[n, m, i * stride + k * dilation - pad] += x[n, c, i] * w[c, m, k]";
  let description = [{
    The adjoint of Conv. w is (c, m / group, kernel...). output_shape, where given,
    decides the pads; what no input reaches is 0 (plus the bias).
  }];
  let arguments = (ins Onnx_Tensor:$x, Onnx_Tensor:$w, Optional<Onnx_Tensor>:$b,
    DefaultValuedAttr<StrAttr, "\"NOTSET\"">:$auto_pad,
    OptionalAttr<DenseI64ArrayAttr>:$dilations,
    DefaultValuedAttr<I64Attr, "1">:$group,
    OptionalAttr<DenseI64ArrayAttr>:$kernel_shape,
    OptionalAttr<DenseI64ArrayAttr>:$output_padding,
    OptionalAttr<DenseI64ArrayAttr>:$output_shape,
    OptionalAttr<DenseI64ArrayAttr>:$pads,
    OptionalAttr<DenseI64ArrayAttr>:$strides);
  let results = (outs Onnx_Tensor:$y);
}

def Onnx_DeformConvOp : Onnx_Op<"DeformConv", [AttrSizedOperandSegments]> {
  let summary = "a convolution that samples x at displaced positions";
  let description = [{
    Tap k of output o reads x bilinearly at o * stride + k * dilation - pad +
    offset[k, o], times mask[k, o]. Positions outside x read 0.
  }];
  let arguments = (ins Onnx_Tensor:$x, Onnx_Tensor:$w, Onnx_Tensor:$offset,
    Optional<Onnx_Tensor>:$b, Optional<Onnx_Tensor>:$mask,
    OptionalAttr<DenseI64ArrayAttr>:$dilations,
    DefaultValuedAttr<I64Attr, "1">:$group,
    OptionalAttr<DenseI64ArrayAttr>:$kernel_shape,
    DefaultValuedAttr<I64Attr, "1">:$offset_group,
    OptionalAttr<DenseI64ArrayAttr>:$pads,
    OptionalAttr<DenseI64ArrayAttr>:$strides);
  let results = (outs Onnx_Tensor:$y);
}

def Onnx_Col2ImOp : Onnx_Op<"Col2Im"> {
  let summary = "sums columns of sliding blocks back into an image";
  let description = [{
    input is (n, c * block elements, blocks); element (c, k) of block l is added at
    the image position which tap k of window l covers.
  }];
  let arguments = (ins Onnx_Tensor:$input, Onnx_Tensor:$image_shape,
    Onnx_Tensor:$block_shape,
    OptionalAttr<DenseI64ArrayAttr>:$dilations,
    OptionalAttr<DenseI64ArrayAttr>:$pads,
    OptionalAttr<DenseI64ArrayAttr>:$strides);
  let results = (outs Onnx_Tensor:$output);
}

//===- ConvolutionOps.td - gradients of convolutions -------*- tablegen -*-===//
//
// MaxPoolBackward and the adjoints of y = Conv(x, w) in x and in w. Attributes are those of the Conv.
// Only windows that y has are looked at, so that y may also have those which
// ceil_mode adds to a pool. With channels_last dy, x and dx are (n, o, c); w, dw
// and x_shape stay as they are.
//
//===----------------------------------------------------------------------===//

include "onnx-aot/Dialect/Train/IR/TrainBase.td"

def Train_ConvBackwardDataOp : Train_Op<"ConvBackwardData"> {
  let summary = "dx[n, c, o * stride + k * dilation - pad] += dy[n, m, o] * w[m, c, k]";
  let description = [{
    `x_shape` holds the sizes of the result. What falls outside is dropped.
  }];
  let arguments = (ins Onnx_FloatTensor:$dy, Onnx_FloatTensor:$w,
    Onnx_IndexTensor:$x_shape,
    DefaultValuedAttr<StrAttr, "\"NOTSET\"">:$auto_pad,
    OptionalAttr<DenseI64ArrayAttr>:$dilations,
    DefaultValuedAttr<I64Attr, "1">:$group,
    OptionalAttr<DenseI64ArrayAttr>:$kernel_shape,
    OptionalAttr<DenseI64ArrayAttr>:$pads,
    OptionalAttr<DenseI64ArrayAttr>:$strides,
    UnitAttr:$channels_last);
  let results = (outs Onnx_Tensor:$dx);
}

def Train_ConvBackwardWeightOp : Train_Op<"ConvBackwardWeight"> {
  let summary = "dw[m, c, k] = sum_{n, o} dy[n, m, o] * x[n, c, o * stride + k * dilation - pad]";
  let arguments = (ins Onnx_FloatTensor:$x, Onnx_FloatTensor:$dy,
    DenseI64ArrayAttr:$kernel_shape,
    DefaultValuedAttr<StrAttr, "\"NOTSET\"">:$auto_pad,
    OptionalAttr<DenseI64ArrayAttr>:$dilations,
    DefaultValuedAttr<I64Attr, "1">:$group,
    OptionalAttr<DenseI64ArrayAttr>:$pads,
    OptionalAttr<DenseI64ArrayAttr>:$strides,
    UnitAttr:$channels_last);
  let results = (outs Onnx_Tensor:$dw);
}

def Train_MaxPoolBackwardOp : Train_Op<"MaxPoolBackward"> {
  let summary = "dx[n, c, o * stride + k * dilation - pad] += dy[n, c, o], k the first where that x is y[n, c, o]";
  let description = [{
    The adjoint of y = MaxPool(x), whose attributes it has, in x. The spatial sizes
    of x and y must be known. With channels_last all operands and dx are (n, o, c).
  }];
  let arguments = (ins Onnx_FloatTensor:$dy, Onnx_FloatTensor:$x, Onnx_FloatTensor:$y,
    DenseI64ArrayAttr:$kernel_shape,
    DefaultValuedAttr<StrAttr, "\"NOTSET\"">:$auto_pad,
    DefaultValuedAttr<I64Attr, "0">:$ceil_mode,
    OptionalAttr<DenseI64ArrayAttr>:$dilations,
    OptionalAttr<DenseI64ArrayAttr>:$pads,
    OptionalAttr<DenseI64ArrayAttr>:$strides,
    UnitAttr:$channels_last);
  let results = (outs Onnx_Tensor:$dx);
}

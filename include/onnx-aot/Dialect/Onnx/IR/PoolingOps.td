//===- PoolingOps.td - pooling --------------------------------*- tablegen -*-===//
//
// With `channels_last` (set by a layout pass, never by a file) tensors are
// (n, spatial..., c) instead of (n, c, spatial...).
//
//===----------------------------------------------------------------------===//

include "onnx-aot/Dialect/Onnx/IR/OnnxBase.td"

def Onnx_MaxPoolOp : Onnx_Op<"MaxPool"> {
  let summary = "y[n, c, o] = max_k x[n, c, o * stride + k * dilation - pad]";
  let description = [{
    `indices` are positions in the flattened x of the first maximum of each window;
    storage_order = 1 counts the last spatial dimension slowest.
  }];
  let arguments = (ins Onnx_Tensor:$x,
    DefaultValuedAttr<StrAttr, "\"NOTSET\"">:$auto_pad,
    DefaultValuedAttr<I64Attr, "0">:$ceil_mode,
    OptionalAttr<DenseI64ArrayAttr>:$dilations,
    DenseI64ArrayAttr:$kernel_shape,
    OptionalAttr<DenseI64ArrayAttr>:$pads,
    DefaultValuedAttr<I64Attr, "0">:$storage_order,
    OptionalAttr<DenseI64ArrayAttr>:$strides,
    UnitAttr:$channels_last);
  let results = (outs Onnx_Tensor:$y, Onnx_Tensor:$indices);
}

def Onnx_AveragePoolOp : Onnx_Op<"AveragePool"> {
  let summary = "y[n, c, o] = mean_k x[n, c, o * stride + k * dilation - pad]";
  let description = [{
    The mean is over the elements inside x, or with count_include_pad over those
    inside the padded x; what ceil_mode adds beyond that never counts.
  }];
  let arguments = (ins Onnx_Tensor:$x,
    DefaultValuedAttr<StrAttr, "\"NOTSET\"">:$auto_pad,
    DefaultValuedAttr<I64Attr, "0">:$ceil_mode,
    DefaultValuedAttr<I64Attr, "0">:$count_include_pad,
    OptionalAttr<DenseI64ArrayAttr>:$dilations,
    DenseI64ArrayAttr:$kernel_shape,
    OptionalAttr<DenseI64ArrayAttr>:$pads,
    OptionalAttr<DenseI64ArrayAttr>:$strides,
    UnitAttr:$channels_last);
  let results = (outs Onnx_Tensor:$y);
}

def Onnx_LpPoolOp : Onnx_Op<"LpPool"> {
  let summary = "y[n, c, o] = (sum_k |x[n, c, o * stride + k * dilation - pad]|^p)^(1/p)";
  let arguments = (ins Onnx_Tensor:$x,
    DefaultValuedAttr<StrAttr, "\"NOTSET\"">:$auto_pad,
    DefaultValuedAttr<I64Attr, "0">:$ceil_mode,
    OptionalAttr<DenseI64ArrayAttr>:$dilations,
    DenseI64ArrayAttr:$kernel_shape,
    DefaultValuedAttr<I64Attr, "2">:$p,
    OptionalAttr<DenseI64ArrayAttr>:$pads,
    OptionalAttr<DenseI64ArrayAttr>:$strides,
    UnitAttr:$channels_last);
  let results = (outs Onnx_Tensor:$y);
}

def Onnx_GlobalAveragePoolOp : Onnx_Op<"GlobalAveragePool"> {
  let summary = "y[n, c, 1...] = mean of x over the spatial dimensions";
  let arguments = (ins Onnx_Tensor:$x, UnitAttr:$channels_last);
  let results = (outs Onnx_Tensor:$y);
}

def Onnx_GlobalMaxPoolOp : Onnx_Op<"GlobalMaxPool"> {
  let summary = "y[n, c, 1...] = maximum of x over the spatial dimensions";
  let arguments = (ins Onnx_Tensor:$x, UnitAttr:$channels_last);
  let results = (outs Onnx_Tensor:$y);
}

def Onnx_GlobalLpPoolOp : Onnx_Op<"GlobalLpPool"> {
  let summary = "y[n, c, 1...] = (sum of |x|^p over the spatial dimensions)^(1/p)";
  let arguments = (ins Onnx_Tensor:$x, DefaultValuedAttr<I64Attr, "2">:$p,
    UnitAttr:$channels_last);
  let results = (outs Onnx_Tensor:$y);
}

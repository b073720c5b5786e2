//===- PoolingOps.td - pooling and sampling -------------------*- tablegen -*-===//
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

def Onnx_MaxUnpoolOp : Onnx_Op<"MaxUnpool"> {
  let summary = "output = 0, output.flat[i] = x: the partial inverse of MaxPool";
  let description = [{
    `i` holds MaxPool's indices. With output_shape they still count within the size
    that the attributes give. Indices outside that are dropped.
  }];
  let arguments = (ins Onnx_Tensor:$x, Onnx_Tensor:$i,
    Optional<Onnx_Tensor>:$output_shape,
    DenseI64ArrayAttr:$kernel_shape,
    OptionalAttr<DenseI64ArrayAttr>:$pads,
    OptionalAttr<DenseI64ArrayAttr>:$strides);
  let results = (outs Onnx_Tensor:$output);
}

def Onnx_RoiAlignOp : Onnx_Op<"RoiAlign"> {
  let summary = "y[r, c] = region rois[r] of x[batch_indices[r], c], sampled bilinearly";
  let description = [{
    Each of output_height x output_width bins is the mean (mode avg) or maximum
    (max) of sampling_ratio^2 samples; 0 chooses ceil(bin size).
  }];
  let arguments = (ins Onnx_Tensor:$x, Onnx_Tensor:$rois, Onnx_Tensor:$batch_indices,
    DefaultValuedAttr<StrAttr, "\"half_pixel\"">:$coordinate_transformation_mode,
    DefaultValuedAttr<StrAttr, "\"avg\"">:$mode,
    DefaultValuedAttr<I64Attr, "1">:$output_height,
    DefaultValuedAttr<I64Attr, "1">:$output_width,
    DefaultValuedAttr<I64Attr, "0">:$sampling_ratio,
    DefaultValuedAttr<F32Attr, "1.0f">:$spatial_scale);
  let results = (outs Onnx_Tensor:$y);
}

def Onnx_MaxRoiPoolOp : Onnx_Op<"MaxRoiPool"> {
  let summary = "y[r, c] = maxima over the bins of region rois[r] of x";
  let description = [{
    A region is (batch, x1, y1, x2, y2), scaled and rounded to whole positions.
  }];
  let arguments = (ins Onnx_Tensor:$x, Onnx_Tensor:$rois,
    DenseI64ArrayAttr:$pooled_shape,
    DefaultValuedAttr<F32Attr, "1.0f">:$spatial_scale);
  let results = (outs Onnx_Tensor:$y);
}

//===--- Sampling of images -----------------------------------------------===//

def Onnx_ResizeOp : Onnx_Op<"Resize", [AttrSizedOperandSegments]> {
  let summary = "y[o] = x interpolated at the position that o comes from";
  let description = [{
    mode nearest, linear or cubic along each of `axes` (default: all). Sizes follow
    from `scales` (rounded down) or are given by `sizes`.
  }];
  let arguments = (ins Onnx_Tensor:$x, Optional<Onnx_Tensor>:$roi,
    Optional<Onnx_Tensor>:$scales, Optional<Onnx_Tensor>:$sizes,
    DefaultValuedAttr<I64Attr, "0">:$antialias,
    OptionalAttr<DenseI64ArrayAttr>:$axes,
    DefaultValuedAttr<StrAttr, "\"half_pixel\"">:$coordinate_transformation_mode,
    DefaultValuedAttr<F32Attr, "-0.75f">:$cubic_coeff_a,
    DefaultValuedAttr<I64Attr, "0">:$exclude_outside,
    DefaultValuedAttr<F32Attr, "0.0f">:$extrapolation_value,
    DefaultValuedAttr<StrAttr, "\"stretch\"">:$keep_aspect_ratio_policy,
    DefaultValuedAttr<StrAttr, "\"nearest\"">:$mode,
    DefaultValuedAttr<StrAttr, "\"round_prefer_floor\"">:$nearest_mode);
  let results = (outs Onnx_Tensor:$y);
}

def Onnx_GridSampleOp : Onnx_Op<"GridSample"> {
  let summary = "y[n, c, o] = x[n, c] interpolated at grid[n, o]";
  let description = [{
    grid holds positions in [-1, 1], the last spatial dimension first.
  }];
  let arguments = (ins Onnx_Tensor:$x, Onnx_Tensor:$grid,
    DefaultValuedAttr<I64Attr, "0">:$align_corners,
    DefaultValuedAttr<StrAttr, "\"linear\"">:$mode,
    DefaultValuedAttr<StrAttr, "\"zeros\"">:$padding_mode);
  let results = (outs Onnx_Tensor:$y);
}

def Onnx_AffineGridOp : Onnx_Op<"AffineGrid"> {
  let summary = "grid[n, o] = theta[n] * (position of o in [-1, 1], 1)";
  let arguments = (ins Onnx_Tensor:$theta, Onnx_Tensor:$size,
    DefaultValuedAttr<I64Attr, "0">:$align_corners);
  let results = (outs Onnx_Tensor:$grid);
}

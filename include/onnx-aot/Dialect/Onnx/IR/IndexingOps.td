//===- IndexingOps.td - elements chosen by run-time indices --*- tablegen -*-===//
//
// Negative indices count from the end everywhere.
//
//===----------------------------------------------------------------------===//

include "onnx-aot/Dialect/Onnx/IR/OnnxBase.td"

//===--- Gather -----------------------------------------------------------===//

def Onnx_GatherOp : Onnx_Op<"Gather"> {
  let summary = "y[.., i.., ..] = x[.., indices[i..], ..]";
  let arguments = (ins Onnx_Tensor:$data, Onnx_Tensor:$indices,
                       DefaultValuedAttr<I64Attr, "0">:$axis);
  let results = (outs Onnx_Tensor:$output);
  let hasFolder = 1;
}

def Onnx_GatherElementsOp : Onnx_Op<"GatherElements"> {
  let summary = "y[i][j][k] = x[i][indices[i][j][k]][k] for axis 1";
  let arguments = (ins Onnx_Tensor:$data, Onnx_Tensor:$indices,
                       DefaultValuedAttr<I64Attr, "0">:$axis);
  let results = (outs Onnx_Tensor:$output);
}

def Onnx_GatherNDOp : Onnx_Op<"GatherND"> {
  let summary = "gathers slices; the last dimension of indices holds their address";
  let arguments = (ins Onnx_Tensor:$data, Onnx_Tensor:$indices,
                       DefaultValuedAttr<I64Attr, "0">:$batch_dims);
  let results = (outs Onnx_Tensor:$output);
}

//===--- Scatter ----------------------------------------------------------===//

def Onnx_ScatterElementsOp : Onnx_Op<"ScatterElements"> {
  let summary = "y = x; y[i][indices[i][j][k]][k] = updates[i][j][k] for axis 1";
  let description = [{
    `reduction` is `none` (the last update in row-major order wins), `add`,
    `mul`, `max` or `min` (combines with the element that is there).
  }];
  let arguments = (ins Onnx_Tensor:$data, Onnx_Tensor:$indices,
                       Onnx_Tensor:$updates,
                       DefaultValuedAttr<I64Attr, "0">:$axis,
                       DefaultValuedAttr<StrAttr, "\"none\"">:$reduction);
  let results = (outs Onnx_Tensor:$output);
}

def Onnx_ScatterNDOp : Onnx_Op<"ScatterND"> {
  let summary = "y = x; y[indices[i]] = updates[i], a slice at a time";
  let arguments = (ins Onnx_Tensor:$data, Onnx_Tensor:$indices,
                       Onnx_Tensor:$updates,
                       DefaultValuedAttr<StrAttr, "\"none\"">:$reduction);
  let results = (outs Onnx_Tensor:$output);
}

def Onnx_TensorScatterOp : Onnx_Op<"TensorScatter"> {
  let summary = "writes a run of steps into each batch entry of a cache";
  let description = [{
    `mode` is `linear` or `circular` (positions wrap round the cache's length).
  }];
  let arguments = (ins Onnx_Tensor:$past_cache, Onnx_Tensor:$update,
                       Optional<Onnx_Tensor>:$write_indices,
                       DefaultValuedAttr<I64Attr, "-2">:$axis,
                       DefaultValuedAttr<StrAttr, "\"linear\"">:$mode);
  let results = (outs Onnx_Tensor:$present_cache);
}

//===--- Search -----------------------------------------------------------===//

def Onnx_OneHotOp : Onnx_Op<"OneHot"> {
  let summary = "values[1] where the position along axis is the index, else values[0]";
  let arguments = (ins Onnx_Tensor:$indices, Onnx_Tensor:$depth,
                       Onnx_Tensor:$values,
                       DefaultValuedAttr<I64Attr, "-1">:$axis);
  let results = (outs Onnx_Tensor:$output);
}

def Onnx_NonZeroOp : Onnx_Op<"NonZero"> {
  let summary = "coordinates of the elements that are not zero, one column each";
  let arguments = (ins Onnx_Tensor:$x);
  let results = (outs Onnx_Tensor:$y);
}

def Onnx_TopKOp : Onnx_Op<"TopK"> {
  let summary = "the k largest or smallest along an axis; of equals the first";
  let arguments = (ins Onnx_Tensor:$x, Onnx_Tensor:$k,
                       DefaultValuedAttr<I64Attr, "-1">:$axis,
                       DefaultValuedAttr<I64Attr, "1">:$largest,
                       DefaultValuedAttr<I64Attr, "1">:$sorted);
  let results = (outs Onnx_Tensor:$values, Onnx_Tensor:$indices);
}

def Onnx_NonMaxSuppressionOp : Onnx_Op<"NonMaxSuppression",
                                     [AttrSizedOperandSegments]> {
  let summary = "boxes in order of score that overlap no better one by too much";
  let arguments = (ins Onnx_Tensor:$boxes, Onnx_Tensor:$scores,
                       Optional<Onnx_Tensor>:$max_output_boxes_per_class,
                       Optional<Onnx_Tensor>:$iou_threshold,
                       Optional<Onnx_Tensor>:$score_threshold,
                       DefaultValuedAttr<I64Attr, "0">:$center_point_box);
  let results = (outs Onnx_Tensor:$selected_indices);
}

def Onnx_ArrayFeatureExtractorOp : Onnx_Op<"ArrayFeatureExtractor"> {
  let summary = "columns y of the last dimension of x (ai.onnx.ml)";
  let arguments = (ins Onnx_Tensor:$x, Onnx_Tensor:$y);
  let results = (outs Onnx_Tensor:$z);
}

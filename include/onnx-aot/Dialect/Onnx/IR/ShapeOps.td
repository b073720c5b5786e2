//===- ShapeOps.td - shapes, layout and tensors made of them -*- tablegen -*-===//

include "onnx-aot/Dialect/Onnx/IR/OnnxBase.td"

//===--- Reading shapes ---------------------------------------------------===//

def Onnx_ShapeOp : Onnx_Op<"Shape"> {
  let summary = "sizes of dimensions start..end-1 as a 1-D int64 tensor";
  let arguments = (ins Onnx_Tensor:$data, OptionalAttr<I64Attr>:$end,
                       DefaultValuedAttr<I64Attr, "0">:$start);
  let results = (outs Onnx_Tensor:$shape);
  let extraClassDeclaration = schemaDeclaration # [{
    /// First dimension and one past the last, clamped to [0, rank].
    std::pair<int64_t, int64_t> getRange(int64_t rank);
  }];
  let hasFolder = 1;
}

def Onnx_SizeOp : Onnx_Op<"Size"> {
  let summary = "number of elements as an int64 scalar";
  let arguments = (ins Onnx_Tensor:$data);
  let results = (outs Onnx_Tensor:$size);
  let hasFolder = 1;
}

//===--- Same elements in the same order ----------------------------------===//

def Onnx_ReshapeOp : Onnx_Op<"Reshape"> {
  let summary = "same elements in row-major order under another shape";
  let description = [{
    In `shape`, one -1 stands for what is left, and 0 copies the input's size
    unless `allowzero` is 1.
  }];
  let arguments = (ins Onnx_Tensor:$data, Onnx_Tensor:$shape,
                       DefaultValuedAttr<I64Attr, "0">:$allowzero);
  let results = (outs Onnx_Tensor:$reshaped);
  let hasFolder = 1;
}

def Onnx_FlattenOp : Onnx_Op<"Flatten"> {
  let summary = "2-D view: dimensions before axis by dimensions from axis on";
  let arguments = (ins Onnx_Tensor:$input, DefaultValuedAttr<I64Attr, "1">:$axis);
  let results = (outs Onnx_Tensor:$output);
}

def Onnx_SqueezeOp : Onnx_Op<"Squeeze"> {
  let summary = "drops dimensions of size 1: those of axes, or all";
  let arguments = (ins Onnx_Tensor:$data, Optional<Onnx_Tensor>:$axes);
  let results = (outs Onnx_Tensor:$squeezed);
  let hasFolder = 1;
}

def Onnx_UnsqueezeOp : Onnx_Op<"Unsqueeze"> {
  let summary = "adds dimensions of size 1 at axes of the result";
  let arguments = (ins Onnx_Tensor:$data, Onnx_Tensor:$axes);
  let results = (outs Onnx_Tensor:$expanded);
  let hasFolder = 1;
}

//===--- Moving elements --------------------------------------------------===//

def Onnx_TransposeOp : Onnx_Op<"Transpose"> {
  let summary = "dimension i of the result is dimension perm[i] of the input";
  let arguments = (ins Onnx_Tensor:$data, OptionalAttr<DenseI64ArrayAttr>:$perm);
  let results = (outs Onnx_Tensor:$transposed);
  let extraClassDeclaration = schemaDeclaration # [{
    /// The permutation; the reversal where `perm` is absent.
    llvm::SmallVector<int64_t> getPermutation(int64_t rank);
  }];
  let hasFolder = 1;
}

def Onnx_ExpandOp : Onnx_Op<"Expand"> {
  let summary = "broadcasts the input against a shape, in both directions";
  let arguments = (ins Onnx_Tensor:$input, Onnx_Tensor:$shape);
  let results = (outs Onnx_Tensor:$output);
  let hasFolder = 1;
}

def Onnx_ConcatOp : Onnx_Op<"Concat"> {
  let summary = "joins tensors along an axis";
  let arguments = (ins Variadic<Onnx_Tensor>:$inputs, I64Attr:$axis);
  let results = (outs Onnx_Tensor:$concat_result);
  let hasFolder = 1;
}

def Onnx_SplitOp : Onnx_Op<"Split"> {
  let summary = "cuts a tensor along an axis";
  let description = [{
    Into parts of the sizes `split`, or into `num_outputs` parts of equal size
    of which the last may be smaller.
  }];
  let arguments = (ins Onnx_Tensor:$input, Optional<Onnx_Tensor>:$split,
                       DefaultValuedAttr<I64Attr, "0">:$axis,
                       OptionalAttr<I64Attr>:$num_outputs);
  let results = (outs Variadic<Onnx_Tensor>:$outputs);
}

def Onnx_SliceOp : Onnx_Op<"Slice", [AttrSizedOperandSegments]> {
  let summary = "x[start:end:step] along some axes, as in numpy";
  let arguments = (ins Onnx_Tensor:$data, Onnx_Tensor:$starts, Onnx_Tensor:$ends,
                       Optional<Onnx_Tensor>:$axes, Optional<Onnx_Tensor>:$steps);
  let results = (outs Onnx_Tensor:$output);
  let extraClassDeclaration = schemaDeclaration # [{
    /// The sliced axes where they are known and valid, one per element of
    /// `starts`.
    std::optional<llvm::SmallVector<int64_t>> getSlicedAxes();
  }];
  let hasFolder = 1;
}

def Onnx_PadOp : Onnx_Op<"Pad", [AttrSizedOperandSegments]> {
  let summary = "adds elements at the borders; negative pads remove elements";
  let description = [{
    `pads` holds all begins, then all ends, of `axes` (default: all). Modes:
    `constant`, `edge` (repeats the border), `reflect` (mirrors without it),
    `wrap` (continues on the other side). Elements are removed first.
  }];
  let arguments = (ins Onnx_Tensor:$data, Onnx_Tensor:$pads,
                       Optional<Onnx_Tensor>:$constant_value,
                       Optional<Onnx_Tensor>:$axes,
                       DefaultValuedAttr<StrAttr, "\"constant\"">:$mode);
  let results = (outs Onnx_Tensor:$output);
}

def Onnx_TileOp : Onnx_Op<"Tile"> {
  let summary = "repeats a tensor repeats[i] times along dimension i";
  let arguments = (ins Onnx_Tensor:$input, Onnx_Tensor:$repeats);
  let results = (outs Onnx_Tensor:$output);
}

def Onnx_DepthToSpaceOp : Onnx_Op<"DepthToSpace"> {
  let summary = "moves channels of an NCHW tensor into blocks of pixels";
  let arguments = (ins Onnx_Tensor:$input, I64Attr:$blocksize,
                       DefaultValuedAttr<StrAttr, "\"DCR\"">:$mode);
  let results = (outs Onnx_Tensor:$output);
}

def Onnx_SpaceToDepthOp : Onnx_Op<"SpaceToDepth"> {
  let summary = "moves blocks of pixels of an NCHW tensor into channels";
  let arguments = (ins Onnx_Tensor:$input, I64Attr:$blocksize,
                       DefaultValuedAttr<StrAttr, "\"DCR\"">:$mode);
  let results = (outs Onnx_Tensor:$output);
}

def Onnx_TriluOp : Onnx_Op<"Trilu"> {
  let summary = "keeps the upper or lower triangle of matrices, zero elsewhere";
  let arguments = (ins Onnx_Tensor:$input, Optional<Onnx_Tensor>:$k,
                       DefaultValuedAttr<I64Attr, "1">:$upper);
  let results = (outs Onnx_Tensor:$output);
}

def Onnx_ReverseSequenceOp : Onnx_Op<"ReverseSequence"> {
  let summary = "reverses the first sequence_lens[b] steps of each batch entry b";
  let arguments = (ins Onnx_Tensor:$input, Onnx_Tensor:$sequence_lens,
                       DefaultValuedAttr<I64Attr, "1">:$batch_axis,
                       DefaultValuedAttr<I64Attr, "0">:$time_axis);
  let results = (outs Onnx_Tensor:$y);
}

def Onnx_CompressOp : Onnx_Op<"Compress"> {
  let summary = "keeps slices (or elements of the flat tensor) where condition holds";
  let arguments = (ins Onnx_Tensor:$input, Onnx_Tensor:$condition,
                       OptionalAttr<I64Attr>:$axis);
  let results = (outs Onnx_Tensor:$output);
}

def Onnx_UniqueOp : Onnx_Op<"Unique"> {
  let summary = "distinct elements or slices, with first positions and counts";
  let arguments = (ins Onnx_Tensor:$x, OptionalAttr<I64Attr>:$axis,
                       DefaultValuedAttr<I64Attr, "1">:$sorted);
  let results = (outs Onnx_Tensor:$y, Onnx_Tensor:$indices,
                      Onnx_Tensor:$inverse_indices, Onnx_Tensor:$counts);
}

def Onnx_CenterCropPadOp : Onnx_Op<"CenterCropPad"> {
  let summary = "crops or zero-pads about the centre to a given shape";
  let arguments = (ins Onnx_Tensor:$input_data, Onnx_Tensor:$shape,
                       OptionalAttr<DenseI64ArrayAttr>:$axes);
  let results = (outs Onnx_Tensor:$output_data);
}

//===--- Making tensors ---------------------------------------------------===//

def Onnx_ConstantOfShapeOp : Onnx_Op<"ConstantOfShape"> {
  let summary = "a tensor of a given shape filled with one value (default f32 0)";
  let arguments = (ins Onnx_Tensor:$input, OptionalAttr<ElementsAttr>:$value);
  let results = (outs Onnx_Tensor:$output);
  let hasFolder = 1;
}

def Onnx_RangeOp : Onnx_Op<"Range"> {
  let summary = "start, start + delta, ... up to but without limit";
  let arguments = (ins Onnx_Tensor:$start, Onnx_Tensor:$limit, Onnx_Tensor:$delta,
                       DefaultValuedAttr<I64Attr, "1">:$stash_type);
  let results = (outs Onnx_Tensor:$output);
  let hasFolder = 1;
}

def Onnx_EyeLikeOp : Onnx_Op<"EyeLike"> {
  let summary = "ones on diagonal k, zeros elsewhere, in the shape of the input";
  let arguments = (ins Onnx_Tensor:$input, OptionalAttr<I64Attr>:$dtype,
                       DefaultValuedAttr<I64Attr, "0">:$k);
  let results = (outs Onnx_Tensor:$output);
}

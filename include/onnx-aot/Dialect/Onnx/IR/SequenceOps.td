//===- SequenceOps.td - lists of values and absent values ----*- tablegen -*-===//

include "onnx-aot/Dialect/Onnx/IR/OnnxBase.td"

//===--- Sequences --------------------------------------------------------===//

def Onnx_SequenceConstructOp : Onnx_Op<"SequenceConstruct"> {
  let summary = "a list of these tensors";
  let arguments = (ins Variadic<Onnx_Tensor>:$inputs);
  let results = (outs Onnx_Value:$output_sequence);
}

def Onnx_SequenceEmptyOp : Onnx_Op<"SequenceEmpty"> {
  let summary = "a list of no tensors";
  let arguments = (ins Onnx_Int<"1">:$dtype);
  let results = (outs Onnx_Value:$output);
}

def Onnx_SequenceAtOp : Onnx_Op<"SequenceAt"> {
  let summary = "the element at a position";
  let arguments = (ins Onnx_Value:$input_sequence, Onnx_Tensor:$position);
  let results = (outs Onnx_Tensor:$tensor);
}

def Onnx_SequenceInsertOp : Onnx_Op<"SequenceInsert"> {
  let summary = "the list with one more element, at the end or before a position";
  let arguments = (ins Onnx_Value:$input_sequence, Onnx_Tensor:$tensor,
                       Optional<Onnx_Tensor>:$position);
  let results = (outs Onnx_Value:$output_sequence);
}

def Onnx_SequenceEraseOp : Onnx_Op<"SequenceErase"> {
  let summary = "the list without its last element or the one at a position";
  let arguments = (ins Onnx_Value:$input_sequence, Optional<Onnx_Tensor>:$position);
  let results = (outs Onnx_Value:$output_sequence);
}

def Onnx_SequenceLengthOp : Onnx_Op<"SequenceLength"> {
  let summary = "number of elements";
  let arguments = (ins Onnx_Value:$input_sequence);
  let results = (outs Onnx_Tensor:$length);
}

def Onnx_SplitToSequenceOp : Onnx_Op<"SplitToSequence"> {
  let summary = "a list of the parts of a tensor";
  let arguments = (ins Onnx_Tensor:$input, Optional<Onnx_Tensor>:$split,
                       Onnx_Int<"0">:$axis, Onnx_Flag<"1">:$keepdims);
  let results = (outs Onnx_Value:$output_sequence);
}

def Onnx_ConcatFromSequenceOp : Onnx_Op<"ConcatFromSequence"> {
  let summary = "joins the elements along an axis, which may be a new one";
  let arguments = (ins Onnx_Value:$input_sequence, I64Attr:$axis,
                       Onnx_Flag<"0">:$new_axis);
  let results = (outs Onnx_Tensor:$concat_result);
}

//===--- Optionals --------------------------------------------------------===//

def Onnx_OptionalOp : Onnx_Op<"Optional"> {
  let summary = "a value, or none of a type";
  let arguments = (ins Optional<Onnx_Value>:$input, OptionalAttr<TypeAttr>:$type);
  let results = (outs Onnx_Value:$output);
}

def Onnx_OptionalHasElementOp : Onnx_Op<"OptionalHasElement"> {
  let summary = "whether there is a value";
  let arguments = (ins Optional<Onnx_Value>:$input);
  let results = (outs Onnx_Tensor:$output);
}

def Onnx_OptionalGetElementOp : Onnx_Op<"OptionalGetElement"> {
  let summary = "the value, which must be there";
  let arguments = (ins Onnx_Value:$input);
  let results = (outs Onnx_Value:$output);
}

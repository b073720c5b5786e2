//===- StringOps.td - tensors of strings -----------------------*- tablegen -*-===//

include "onnx-aot/Dialect/Onnx/IR/OnnxBase.td"

def Onnx_StringsConstantOp : Onnx_Op<"strings.Constant"> {
  let summary = "y[i] = bytes[offsets[i] : offsets[i + 1]]";
  let description = [{
    A constant tensor of strings. It is no onnx.Constant: nothing folds it, as no
    attribute holds strings as they lie in memory.
  }];
  let arguments = (ins TensorOf<[I8]>:$bytes, TensorOf<[I64]>:$offsets,
    DenseI64ArrayAttr:$shape);
  let results = (outs Onnx_Tensor:$y);
}

def Onnx_StringConcatOp : Onnx_BinaryOp<"StringConcat"> {
  let summary = "c = a followed by b";
  let arguments = (ins TensorOf<[Onnx_String]>:$a, TensorOf<[Onnx_String]>:$b);
}

def Onnx_StringSplitOp : Onnx_Op<"StringSplit"> {
  let summary = "y[..., :z[...]] = the parts of x between delimiters";
  let description = [{
    Without a delimiter, or with an empty one, at runs of white space. y has as many
    columns as the string of the most parts; the others are filled up with empty
    ones.
  }];
  let arguments = (ins TensorOf<[Onnx_String]>:$x,
    OptionalAttr<StrAttr>:$delimiter, OptionalAttr<I64Attr>:$maxsplit);
  let results = (outs Onnx_Tensor:$y, Onnx_Tensor:$z);
}

def Onnx_StringNormalizerOp : Onnx_Op<"StringNormalizer"> {
  let summary = "y = the strings of x that are no stop words, in one case";
  let arguments = (ins TensorOf<[Onnx_String]>:$x,
    DefaultValuedAttr<Onnx_OneOf<["NONE", "LOWER", "UPPER"]>, "\"NONE\"">:$case_change_action,
    Onnx_Flag<"0">:$is_case_sensitive, OptionalAttr<StrAttr>:$locale,
    OptionalAttr<StrArrayAttr>:$stopwords);
  let results = (outs Onnx_Tensor:$y);
}

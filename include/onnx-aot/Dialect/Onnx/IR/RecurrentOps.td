//===- RecurrentOps.td - recurrent layers ---------------------*- tablegen -*-===//
//
// With layout 0, x is (sequence, batch, input), y (sequence, directions, batch,
// hidden) and states (directions, batch, hidden); with layout 1 the batch leads.
//
//===----------------------------------------------------------------------===//

include "onnx-aot/Dialect/Onnx/IR/OnnxBase.td"

class Onnx_RecurrentOp<string mnemonic>
    : Onnx_Op<mnemonic, [AttrSizedOperandSegments]>;

def Onnx_RNNOp : Onnx_RecurrentOp<"RNN"> {
  let summary = "h[t] = f(x[t] w' + h[t - 1] r' + bias)";
  let arguments = (ins Onnx_Tensor:$x, Onnx_Tensor:$w, Onnx_Tensor:$r,
    Optional<Onnx_Tensor>:$b, Optional<Onnx_Tensor>:$sequence_lens,
    Optional<Onnx_Tensor>:$initial_h,
    OptionalAttr<DenseF32ArrayAttr>:$activation_alpha,
    OptionalAttr<DenseF32ArrayAttr>:$activation_beta,
    OptionalAttr<StrArrayAttr>:$activations,
    OptionalAttr<F32Attr>:$clip,
    DefaultValuedAttr<StrAttr, "\"forward\"">:$direction,
    OptionalAttr<I64Attr>:$hidden_size,
    DefaultValuedAttr<I64Attr, "0">:$layout);
  let results = (outs Onnx_Tensor:$y, Onnx_Tensor:$y_h);
}

def Onnx_GRUOp : Onnx_RecurrentOp<"GRU"> {
  let summary = "gated recurrent unit: gates z (update), r (reset) and h (candidate)";
  let description = [{
    h[t] = (1 - z) * candidate + z * h[t - 1]. With linear_before_reset the reset
    gate scales the candidate's recurrent term, else the previous state.
  }];
  let arguments = (ins Onnx_Tensor:$x, Onnx_Tensor:$w, Onnx_Tensor:$r,
    Optional<Onnx_Tensor>:$b, Optional<Onnx_Tensor>:$sequence_lens,
    Optional<Onnx_Tensor>:$initial_h,
    OptionalAttr<DenseF32ArrayAttr>:$activation_alpha,
    OptionalAttr<DenseF32ArrayAttr>:$activation_beta,
    OptionalAttr<StrArrayAttr>:$activations,
    OptionalAttr<F32Attr>:$clip,
    DefaultValuedAttr<StrAttr, "\"forward\"">:$direction,
    OptionalAttr<I64Attr>:$hidden_size,
    DefaultValuedAttr<I64Attr, "0">:$layout,
    DefaultValuedAttr<I64Attr, "0">:$linear_before_reset);
  let results = (outs Onnx_Tensor:$y, Onnx_Tensor:$y_h);
}

def Onnx_LSTMOp : Onnx_RecurrentOp<"LSTM"> {
  let summary = "long short-term memory: gates i, o, f and c with peepholes p";
  let description = [{
    c[t] = f * c[t - 1] + i * g(candidate), h[t] = o * h(c[t]). With input_forget
    the forget gate is 1 - i.
  }];
  let arguments = (ins Onnx_Tensor:$x, Onnx_Tensor:$w, Onnx_Tensor:$r,
    Optional<Onnx_Tensor>:$b, Optional<Onnx_Tensor>:$sequence_lens,
    Optional<Onnx_Tensor>:$initial_h, Optional<Onnx_Tensor>:$initial_c,
    Optional<Onnx_Tensor>:$p,
    OptionalAttr<DenseF32ArrayAttr>:$activation_alpha,
    OptionalAttr<DenseF32ArrayAttr>:$activation_beta,
    OptionalAttr<StrArrayAttr>:$activations,
    OptionalAttr<F32Attr>:$clip,
    DefaultValuedAttr<StrAttr, "\"forward\"">:$direction,
    OptionalAttr<I64Attr>:$hidden_size,
    DefaultValuedAttr<I64Attr, "0">:$input_forget,
    DefaultValuedAttr<I64Attr, "0">:$layout);
  let results = (outs Onnx_Tensor:$y, Onnx_Tensor:$y_h, Onnx_Tensor:$y_c);
}

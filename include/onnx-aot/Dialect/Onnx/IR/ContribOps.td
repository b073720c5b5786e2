//===- ContribOps.td -------------------------------------------*- tablegen -*-===//

include "onnx-aot/Dialect/Onnx/IR/OnnxBase.td"

//===--- Signals ----------------------------------------------------------===//

def Onnx_DFTOp : Onnx_Op<"DFT", [AttrSizedOperandSegments]> {
  let summary = "discrete Fourier transform along one axis";
  let description = [{
    The last dimension holds real and imaginary part (or only the real one).
    The inverse divides by the length. onesided keeps the first n / 2 + 1 terms.
  }];
  let arguments = (ins Onnx_Tensor:$input, Optional<Onnx_Tensor>:$dft_length,
    Optional<Onnx_Tensor>:$axis,
    DefaultValuedAttr<I64Attr, "0">:$inverse,
    DefaultValuedAttr<I64Attr, "0">:$onesided);
  let results = (outs Onnx_Tensor:$output);
}

def Onnx_STFTOp : Onnx_Op<"STFT", [AttrSizedOperandSegments]> {
  let summary = "Fourier transforms of the windowed frames of a signal";
  let arguments = (ins Onnx_Tensor:$signal, Onnx_Tensor:$frame_step,
    Optional<Onnx_Tensor>:$window, Optional<Onnx_Tensor>:$frame_length,
    DefaultValuedAttr<I64Attr, "1">:$onesided);
  let results = (outs Onnx_Tensor:$output);
}

class Onnx_WindowOp<string mnemonic> : Onnx_Op<mnemonic> {
  let arguments = (ins Onnx_Tensor:$size,
    DefaultValuedAttr<I64Attr, "1">:$output_datatype,
    DefaultValuedAttr<I64Attr, "1">:$periodic);
  let results = (outs Onnx_Tensor:$output);
}
def Onnx_HannWindowOp : Onnx_WindowOp<"HannWindow"> {
  let summary = "output[i] = 0.5 - 0.5 cos(2 pi i / n)";
}
def Onnx_HammingWindowOp : Onnx_WindowOp<"HammingWindow"> {
  let summary = "output[i] = 25 / 46 - 21 / 46 cos(2 pi i / n)";
}
def Onnx_BlackmanWindowOp : Onnx_WindowOp<"BlackmanWindow"> {
  let summary = "output[i] = 0.42 - 0.5 cos(2 pi i / n) + 0.08 cos(4 pi i / n)";
}

def Onnx_MelWeightMatrixOp : Onnx_Op<"MelWeightMatrix"> {
  let summary = "triangular filters from spectrogram bins to mel bands";
  let arguments = (ins Onnx_Tensor:$num_mel_bins, Onnx_Tensor:$dft_length,
    Onnx_Tensor:$sample_rate, Onnx_Tensor:$lower_edge_hertz,
    Onnx_Tensor:$upper_edge_hertz,
    DefaultValuedAttr<I64Attr, "1">:$output_datatype);
  let results = (outs Onnx_Tensor:$output);
}

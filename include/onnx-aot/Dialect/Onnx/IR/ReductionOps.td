//===- ReductionOps.td - reductions and scans --------------------*- tablegen -*-===//

include "onnx-aot/Dialect/Onnx/IR/OnnxBase.td"

//===--- Reduce* ----------------------------------------------------------===//

/// Reduces the dimensions `axes`, all when there are none (unless
/// noop_with_empty_axes: then only the elementwise part of the op is left).
class Onnx_ReduceOp<string mnemonic, Type tensor, string formula>
    : Onnx_Op<mnemonic> {
  let summary = formula;
  let arguments = (ins tensor:$data, Optional<Onnx_IndexTensor>:$axes,
      Onnx_Flag<"1">:$keepdims, Onnx_Flag<"0">:$noop_with_empty_axes);
  let results = (outs tensor:$reduced);
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::inferResultTypes(
        ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      return inferReduction(*this, getData(), getAxes(), getKeepdims(),
                            getNoopWithEmptyAxes(), types);
    }
  }];
}
def Onnx_ReduceSumOp : Onnx_ReduceOp<"ReduceSum", Onnx_NumberTensor, "sum">;
def Onnx_ReduceMeanOp : Onnx_ReduceOp<"ReduceMean", Onnx_NumberTensor,
    "mean; NaN of nothing, 0 for integers">;
def Onnx_ReduceMaxOp : Onnx_ReduceOp<"ReduceMax", Onnx_NumberOrBoolTensor,
    "maximum, NaN wins; -inf or the smallest value of nothing">;
def Onnx_ReduceMinOp : Onnx_ReduceOp<"ReduceMin", Onnx_NumberOrBoolTensor,
    "minimum, NaN wins; inf or the largest value of nothing">;
def Onnx_ReduceProdOp : Onnx_ReduceOp<"ReduceProd", Onnx_NumberTensor, "product">;
def Onnx_ReduceL1Op : Onnx_ReduceOp<"ReduceL1", Onnx_NumberTensor, "sum |x|">;
def Onnx_ReduceL2Op : Onnx_ReduceOp<"ReduceL2", Onnx_NumberTensor, "sqrt(sum x ^ 2)">;
def Onnx_ReduceLogSumOp : Onnx_ReduceOp<"ReduceLogSum", Onnx_NumberTensor, "log(sum x)">;
def Onnx_ReduceLogSumExpOp : Onnx_ReduceOp<"ReduceLogSumExp", Onnx_NumberTensor,
    "log(sum e ^ x), computed relative to the maximum">;
def Onnx_ReduceSumSquareOp : Onnx_ReduceOp<"ReduceSumSquare", Onnx_NumberTensor, "sum x ^ 2">;

//===--- Positions --------------------------------------------------------===//

class Onnx_ArgOp<string mnemonic, string formula> : Onnx_Op<mnemonic> {
  let summary = formula;
  let description = "The first position wins, the last one if select_last_index; NaN beats numbers.";
  let arguments = (ins Onnx_NumberTensor:$data, Onnx_Int<"0">:$axis,
      Onnx_Flag<"1">:$keepdims, Onnx_Flag<"0">:$select_last_index);
  let results = (outs TensorOf<[I64]>:$reduced);
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::inferResultTypes(
        ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      return inferArgReduction(*this, getData(), getAxis(), getKeepdims(), types);
    }
  }];
}
def Onnx_ArgMaxOp : Onnx_ArgOp<"ArgMax", "position of the largest value along an axis">;
def Onnx_ArgMinOp : Onnx_ArgOp<"ArgMin", "position of the smallest value along an axis">;

//===--- Scans ------------------------------------------------------------===//

class Onnx_ScanOp<string mnemonic, string formula> : Onnx_UnaryOp<mnemonic> {
  let summary = formula;
  let arguments = (ins Onnx_NumberTensor:$x, Onnx_IndexTensor:$axis,
      Onnx_Flag<"0">:$exclusive, Onnx_Flag<"0">:$reverse);
  let hasVerifier = 1;
}
def Onnx_CumSumOp : Onnx_ScanOp<"CumSum", "running sums along an axis">;
def Onnx_CumProdOp : Onnx_ScanOp<"CumProd", "running products along an axis">;

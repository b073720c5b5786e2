//===- LogicalOps.td - comparisons, booleans, bits --------------*- tablegen -*-===//

include "onnx-aot/Dialect/Onnx/IR/OnnxBase.td"

//===--- Comparisons ------------------------------------------------------===//

/// bool = a <op> b; false whenever an operand is NaN.
class Onnx_OrderOp<string mnemonic, string formula>
    : Onnx_CompareOp<mnemonic, [SameOperandsElementType]> {
  let summary = formula;
  let arguments = (ins Onnx_NumberTensor:$a, Onnx_NumberTensor:$b);
}
def Onnx_EqualOp : Onnx_CompareOp<"Equal", [SameOperandsElementType]> {
  let summary = "c = (a == b)";
}
def Onnx_GreaterOp : Onnx_OrderOp<"Greater", "c = (a > b)">;
def Onnx_GreaterOrEqualOp : Onnx_OrderOp<"GreaterOrEqual", "c = (a >= b)">;
def Onnx_LessOp : Onnx_OrderOp<"Less", "c = (a < b)">;
def Onnx_LessOrEqualOp : Onnx_OrderOp<"LessOrEqual", "c = (a <= b)">;

//===--- Booleans and bits ------------------------------------------------===//

class Onnx_BoolOp<string mnemonic, string formula> : Onnx_BinaryOp<mnemonic> {
  let summary = formula;
  let arguments = (ins Onnx_BoolTensor:$a, Onnx_BoolTensor:$b);
}
def Onnx_AndOp : Onnx_BoolOp<"And", "c = a and b">;
def Onnx_OrOp : Onnx_BoolOp<"Or", "c = a or b">;
def Onnx_XorOp : Onnx_BoolOp<"Xor", "c = either a or b">;
def Onnx_NotOp : Onnx_UnaryOp<"Not"> {
  let summary = "y = not x";
  let arguments = (ins Onnx_BoolTensor:$x);
  let hasFolder = 1;
}

class Onnx_BitOp<string mnemonic, string formula>
    : Onnx_BinaryOp<mnemonic, [SameOperandsAndResultElementType]> {
  let summary = formula;
  let arguments = (ins Onnx_IntTensor:$a, Onnx_IntTensor:$b);
}
def Onnx_BitwiseAndOp : Onnx_BitOp<"BitwiseAnd", "c = a & b">;
def Onnx_BitwiseOrOp : Onnx_BitOp<"BitwiseOr", "c = a | b">;
def Onnx_BitwiseXorOp : Onnx_BitOp<"BitwiseXor", "c = a ^ b">;
def Onnx_BitwiseNotOp : Onnx_UnaryOp<"BitwiseNot", [SameOperandsAndResultElementType]> {
  let summary = "y = ~x";
  let arguments = (ins Onnx_IntTensor:$x);
}

//===--- Selection and classification -------------------------------------===//

def Onnx_WhereOp : Onnx_Op<"Where", [AllElementTypesMatch<["x", "y", "output"]>]> {
  let summary = "output = x where condition, else y, with broadcasting";
  let arguments = (ins Onnx_BoolTensor:$condition, Onnx_Tensor:$x, Onnx_Tensor:$y);
  let results = (outs Onnx_Tensor:$output);
}

/// bool = p(x), elementwise.
class Onnx_ClassifyOp<string mnemonic, string formula, dag attributes = (ins)>
    : Onnx_UnaryOp<mnemonic> {
  let summary = formula;
  let arguments = !con((ins Onnx_FloatTensor:$x), attributes);
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::inferResultTypes(
        ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      types.push_back(getX().getType().clone(
          ::mlir::IntegerType::get(getContext(), 1)));
      return ::mlir::success();
    }
  }];
}
def Onnx_IsNaNOp : Onnx_ClassifyOp<"IsNaN", "y = (x is NaN)">;
def Onnx_IsInfOp : Onnx_ClassifyOp<"IsInf", "y = (x is infinite, of a sign asked for)",
    (ins Onnx_Flag<"1">:$detect_negative, Onnx_Flag<"1">:$detect_positive)>;

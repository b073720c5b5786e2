// What cannot be compiled is said once, with what is supported.
// RUN: split-file %s %t
// RUN: not onnx-aot-compile %t/rank.mlir -o %t/x.so 2>&1 | FileCheck %s --check-prefix=RANK
// RUN: not onnx-aot-compile %t/axis.mlir -o %t/x.so 2>&1 | FileCheck %s --check-prefix=AXIS

// RANK: error: graph input 'x' has rank 17 (supported: up to 16)
//--- rank.mlir
func.func @main(%x: tensor<1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x2xf32> {onnx.name = "x"}) -> (tensor<2xf32> {onnx.name = "y"}) {
  %shape = onnx.Constant dense<2> : tensor<1xi64>
  %0 = onnx.Reshape %x, %shape : (tensor<1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x2xf32>, tensor<1xi64>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// AXIS: error: node 'sum': 'onnx.CumSum' op axis that is no scalar
// AXIS-NOT: error
//--- axis.mlir
func.func @main(%x: tensor<2xf32> {onnx.name = "x"}, %a: tensor<?xi64> {onnx.name = "a"}) -> (tensor<2xf32> {onnx.name = "y"}) {
  %0 = onnx.CumSum %x, %a : (tensor<2xf32>, tensor<?xi64>) -> tensor<2xf32> loc("sum")
  return %0 : tensor<2xf32>
}

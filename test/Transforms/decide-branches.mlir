// RUN: onnx-aot-opt %s --onnx-decide-branches --onnx-verify-lowerable | FileCheck %s

module attributes {onnx.symbols = ["n"]} {

// Only a matrix fits Gemm: the run ends where the condition does not hold.
// CHECK-LABEL: func.func @main
// CHECK-NOT: onnx.If
// CHECK: onnx.Squeeze
// CHECK: onnx.Not
// CHECK: onnx.Gather
// CHECK: onnx.Gemm
func.func @main(%x: tensor<2x1x3xf32>, %is_one: tensor<i1>, %w: tensor<3x4xf32>) -> tensor<2x4xf32> {
  %axes = onnx.Constant dense<1> : tensor<1xi64>
  %z = onnx.If %is_one then {
    %t = onnx.Squeeze %x, %axes : (tensor<2x1x3xf32>, tensor<1xi64>) -> tensor<2x3xf32>
    onnx.Yield %t : tensor<2x3xf32>
  } else {
    onnx.Yield %x : tensor<2x1x3xf32>
  } : (tensor<i1>) -> tensor<*xf32>
  %y = onnx.Gemm %z, %w : (tensor<*xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}
}

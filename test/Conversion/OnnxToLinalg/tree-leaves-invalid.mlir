// RUN: not onnx-aot-opt %s -convert-onnx-to-linalg 2>&1 | FileCheck %s

func.func @leads_nowhere(%x: tensor<3x2xf32>) -> tensor<3x1xi32> {
  %nodes = onnx.Constant dense<[[0, 0, 0, 7]]> : tensor<1x4xi32>
  %roots = onnx.Constant dense<[0]> : tensor<1xi32>
  // CHECK: error: {{.*}}the trees lead to nodes that are not there
  %0 = onnx.ml.TreeLeaves %x, %nodes, %roots {depth = 2 : i64} : (tensor<3x2xf32>, tensor<1x4xi32>, tensor<1xi32>) -> tensor<3x1xi32>
  return %0 : tensor<3x1xi32>
}

// RUN: onnx-aot-opt %s -onnx-infer-shapes -convert-onnx-to-linalg | FileCheck %s

// Two steps for every tree, without a branch; leaves lead to themselves.
// CHECK-LABEL: func.func @tree_leaves
// CHECK: linalg.generic
// CHECK-COUNT-2: arith.cmpf ole
// CHECK-NOT: arith.cmpf
// CHECK: linalg.yield
func.func @tree_leaves(%x: tensor<3x2xf32>) -> tensor<3x1xi32> {
  %nodes = onnx.Constant dense<[[0, 0, 0, 0], [0, 0, 1, 1], [0, 0, 2, 2], [0, 1056964608, 0, 4], [2, 0, 1, 2]]> : tensor<5x4xi32>
  %roots = onnx.Constant dense<[3]> : tensor<1xi32>
  %0 = onnx.ml.TreeLeaves %x, %nodes, %roots {depth = 2 : i64} : (tensor<3x2xf32>, tensor<5x4xi32>, tensor<1xi32>) -> tensor<3x1xi32>
  return %0 : tensor<3x1xi32>
}

// RUN: onnx-aot-opt %s --onnx-fix-list-lengths | FileCheck %s

module attributes {onnx.symbols = ["n", "m", "k"]} {

// The declared rank tells how many sizes there are, the data's how many pads.
// CHECK-LABEL: func.func @main
// CHECK-SAME: tensor<2xi64>
// CHECK-SAME: tensor<6xi64>
// CHECK-SAME: tensor<?xi64
// CHECK: onnx.Reshape {{.*}} -> tensor<?x?xf32
func.func @main(%x: tensor<2x3x4xf32>,
                %shape: tensor<?xi64, affine_map<()[s0] -> (s0)>>,
                %pads: tensor<?xi64, affine_map<()[s0, s1] -> (s1)>>,
                %other: tensor<?xi64, affine_map<()[s0, s1, s2] -> (s2)>>)
    -> (tensor<*xf32> {onnx.rank = 2 : i64}, tensor<?x?x?xf32>, tensor<?xi64, affine_map<()[s0, s1, s2] -> (s2)>>) {
  %y = onnx.Reshape %x, %shape : (tensor<2x3x4xf32>, tensor<?xi64, affine_map<()[s0] -> (s0)>>) -> tensor<*xf32>
  %z = onnx.Pad %x, %pads {operandSegmentSizes = array<i32: 1, 1, 0, 0>} : (tensor<2x3x4xf32>, tensor<?xi64, affine_map<()[s0, s1] -> (s1)>>) -> tensor<?x?x?xf32>
  return %y, %z, %other : tensor<*xf32>, tensor<?x?x?xf32>, tensor<?xi64, affine_map<()[s0, s1, s2] -> (s2)>>
}
}

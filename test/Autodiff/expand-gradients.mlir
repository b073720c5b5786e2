// RUN: onnx-aot-opt %s --split-input-file --onnx-expand-gradients | FileCheck %s

// The function is evaluated at %v, not at %x, and only the part behind %x counts.

// CHECK-LABEL: @evaluates_at_the_inputs
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>, %[[V:.*]]: tensor<4xf32>)
// CHECK: onnx.Exp %[[X]]
// CHECK: %[[COPY:.*]] = onnx.Identity %[[V]]
// CHECK: %[[Y:.*]] = onnx.Exp %[[COPY]]
// CHECK: %[[G:.*]] = onnx.Mul %{{.*}}, %[[Y]]
// CHECK: return %[[G]]
func.func @evaluates_at_the_inputs(%x: tensor<4xf32>, %v: tensor<4xf32>) -> tensor<4xf32> {
  %y = onnx.Exp %x : (tensor<4xf32>) -> tensor<4xf32>
  %g = "train.Gradient"(%y, %x, %v) {operandSegmentSizes = array<i32: 1, 1, 0, 1>} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %g : tensor<4xf32>
}

// -----

// CHECK-LABEL: @differentiates_again
// CHECK-NOT: train.Gradient
// CHECK: onnx.Cos
// CHECK: onnx.Sin
// CHECK-NOT: train.Gradient
// CHECK: return
func.func @differentiates_again(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = onnx.Sin %x : (tensor<4xf32>) -> tensor<4xf32>
  %g = "train.Gradient"(%y, %x, %x) {operandSegmentSizes = array<i32: 1, 1, 0, 1>} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %h = "train.Gradient"(%g, %x, %x) {operandSegmentSizes = array<i32: 1, 1, 0, 1>} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %h : tensor<4xf32>
}

// RUN: onnx-aot-opt %s --verify-roundtrip --onnx-infer-shapes | FileCheck %s

// CHECK-LABEL: @backward_data
// CHECK: train.ConvBackwardData {{.*}} -> tensor<2x3x8x8xf32>
func.func @backward_data(%dy: tensor<2x4x4x4xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<?x?x?x?xf32> {
  %shape = onnx.Constant dense<[2, 3, 8, 8]> : tensor<4xi64>
  %dx = train.ConvBackwardData %dy, %w, %shape {strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>} : (tensor<2x4x4x4xf32>, tensor<4x3x3x3xf32>, tensor<4xi64>) -> tensor<?x?x?x?xf32>
  return %dx : tensor<?x?x?x?xf32>
}

// CHECK-LABEL: @backward_weight
// CHECK: train.ConvBackwardWeight {{.*}} -> tensor<6x2x3x2xf32>
func.func @backward_weight(%x: tensor<2x4x8x8xf32>, %dy: tensor<2x6x6x7xf32>) -> tensor<?x?x?x?xf32> {
  %dw = train.ConvBackwardWeight %x, %dy {group = 2 : i64, kernel_shape = array<i64: 3, 2>} : (tensor<2x4x8x8xf32>, tensor<2x6x6x7xf32>) -> tensor<?x?x?x?xf32>
  return %dw : tensor<?x?x?x?xf32>
}

// CHECK-LABEL: @backward_pool
// CHECK: train.MaxPoolBackward {{.*}} -> tensor<2x3x8x8xf32>
func.func @backward_pool(%dy: tensor<2x3x4x4xf32>, %x: tensor<2x3x8x8xf32>) -> tensor<?x?x?x?xf32> {
  %dx = train.MaxPoolBackward %dy, %x, %dy {kernel_shape = array<i64: 2, 2>, strides = array<i64: 2, 2>} : (tensor<2x3x4x4xf32>, tensor<2x3x8x8xf32>, tensor<2x3x4x4xf32>) -> tensor<?x?x?x?xf32>
  return %dx : tensor<?x?x?x?xf32>
}

// RUN: onnx-aot-opt %s --convert-onnx-to-linalg | FileCheck %s

// The place of each maximum once, then a sum for each remainder of the position;
// windows that do not overlap leave one term of it.

// CHECK-LABEL: @backward_pool
// CHECK: linalg.fill ins(%c4_i32
// CHECK: linalg.generic {{.*}}"reduction", "reduction"]} ins(%{{.*}}, %{{.*}}, %{{.*}} : tensor<2x8x8x3xf32>, tensor<2x4x4x3xf32>, tensor<2x2xf32>)
// CHECK: arith.minsi
// CHECK-COUNT-4: tensor.insert_slice %{{.*}} [2, 4, 4, 3] [1, 2, 2, 1]
// CHECK-NOT: tensor.insert
func.func @backward_pool(%dy: tensor<2x4x4x3xf32>, %x: tensor<2x8x8x3xf32>, %y: tensor<2x4x4x3xf32>) -> tensor<2x8x8x3xf32> {
  %dx = train.MaxPoolBackward %dy, %x, %y {channels_last, kernel_shape = array<i64: 2, 2>, strides = array<i64: 2, 2>} : (tensor<2x4x4x3xf32>, tensor<2x8x8x3xf32>, tensor<2x4x4x3xf32>) -> tensor<2x8x8x3xf32>
  return %dx : tensor<2x8x8x3xf32>
}

// RUN: onnx-aot-opt %s --verify-roundtrip | FileCheck %s

// CHECK-LABEL: func.func @every_output_is_a_result
func.func @every_output_is_a_result(%x: tensor<2x3x4xf32>, %c: tensor<3xf32>, %s: tensor<4xf32>) {
  // CHECK: onnx.BatchNormalization {{.*}} {momentum = 5.000000e-01 : f32, training_mode = 1 : i64}
  %0:3 = onnx.BatchNormalization %x, %c, %c, %c, %c {momentum = 0.5 : f32, training_mode = 1 : i64} : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>)
  // CHECK: onnx.LayerNormalization %{{.*}}, %{{.*}} :
  %1:3 = onnx.LayerNormalization %x, %s : (tensor<2x3x4xf32>, tensor<4xf32>) -> (tensor<2x3x4xf32>, tensor<2x3x1xf32>, tensor<2x3x1xf32>)
  // CHECK: onnx.MeanVarianceNormalization %{{.*}} {axes = array<i64: 2>}
  %2 = onnx.MeanVarianceNormalization %x {axes = array<i64: 2>} : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  return
}

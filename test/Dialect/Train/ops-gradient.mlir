// RUN: onnx-aot-opt %s --verify-roundtrip --onnx-infer-shapes | FileCheck %s

// CHECK-LABEL: @stop_gradient
// CHECK: train.StopGradient %{{.*}} : (tensor<4xf32>) -> tensor<4xf32>
func.func @stop_gradient(%x: tensor<4xf32>) -> tensor<*xf32> {
  %y = train.StopGradient %x : (tensor<4xf32>) -> tensor<*xf32>
  return %y : tensor<*xf32>
}

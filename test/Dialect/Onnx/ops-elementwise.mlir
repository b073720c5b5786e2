// RUN: onnx-aot-opt %s --verify-roundtrip | FileCheck %s

// CHECK-LABEL: func.func @attributes_and_optional_operands
func.func @attributes_and_optional_operands(%x: tensor<4xf32>, %u: tensor<4xui8>, %s: tensor<f32>) {
  // CHECK: onnx.Clip %{{.*}}, %{{.*}} {operandSegmentSizes = array<i32: 1, 0, 1>}
  %0 = onnx.Clip %x, %s {operandSegmentSizes = array<i32: 1, 0, 1>} : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  // CHECK: onnx.LeakyRelu %{{.*}} : (
  %1 = onnx.LeakyRelu %x {alpha = 0.01 : f32} : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: onnx.Gelu %{{.*}} {approximate = "tanh"}
  %2 = onnx.Gelu %x {approximate = "tanh"} : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: onnx.BitShift %{{.*}}, %{{.*}} {direction = "LEFT"}
  %3 = onnx.BitShift %u, %u {direction = "LEFT"} : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xui8>
  // CHECK: onnx.Max %{{.*}}, %{{.*}}, %{{.*}} : (
  %4 = onnx.Max %x, %x, %s : (tensor<4xf32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  // CHECK: onnx.Cast %{{.*}} {to = 2 : i64}
  %5 = onnx.Cast %x {to = 2 : i64} : (tensor<4xf32>) -> tensor<4xui8>
  return
}

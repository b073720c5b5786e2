// RUN: onnx-aot-opt %s -onnx-infer-shapes -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: func.func @infers_in_order
// CHECK-SAME: -> tensor<?x4xf32, #
func.func @infers_in_order(%x: tensor<?x1xf32, affine_map<()[s0] -> (s0, 1)>>, %y: tensor<4xf32>) -> tensor<*xf32> {
  %0 = onnx.Relu %x : (tensor<?x1xf32, affine_map<()[s0] -> (s0, 1)>>) -> tensor<*xf32>
  %1 = onnx.Add %0, %y : (tensor<*xf32>, tensor<4xf32>) -> tensor<*xf32>
  return %1 : tensor<*xf32>
}

// -----

func.func @reports_every_contradiction(%x: tensor<3xf32>, %y: tensor<4xf32>) {
  // expected-error @below {{cannot be broadcast together}}
  %0 = onnx.Add %x, %y : (tensor<3xf32>, tensor<4xf32>) -> tensor<*xf32>
  // expected-error @below {{cannot be broadcast together}}
  %1 = onnx.Mul %x, %y : (tensor<3xf32>, tensor<4xf32>) -> tensor<*xf32>
  return
}

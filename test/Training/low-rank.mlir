// A low-rank update of the last weight: nothing below it is differentiated, and
// no gradient of a weight is computed.
// RUN: onnx-aot-compile %s --train --loss=mse --optimizer=sgd --lora=1:alpha=2,targets=v --emit=onnx | FileCheck %s

// CHECK: // ----- train
// CHECK: func.func @main(%{{.*}}: tensor<4x3xf32> {onnx.name = "x"}, %{{.*}}: tensor<4x2xf32> {onnx.name = "target"}
// CHECK-SAME: tensor<1x3xf32> {onnx.name = "v.lora_A"}, %{{.*}}: tensor<2x1xf32> {onnx.name = "v.lora_B"}
// CHECK-NOT: onnx.name = "w"
// CHECK: onnx.Tanh
// CHECK-NOT: tensor<3x3xf32>
// CHECK-NOT: -> tensor<3x2xf32>
// CHECK: return
// CHECK: // ----- eval
func.func @main(%x: tensor<4x3xf32> {onnx.name = "x"}) -> (tensor<4x2xf32> {onnx.name = "y"}) {
  %w = onnx.Constant {onnx.name = "w"} dense<[[1.0, 2.0, 0.0], [3.0, 4.0, 1.0], [5.0, 6.0, 2.0]]> : tensor<3x3xf32>
  %v = onnx.Constant {onnx.name = "v"} dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32>
  %h = onnx.MatMul %x, %w : (tensor<4x3xf32>, tensor<3x3xf32>) -> tensor<4x3xf32>
  %t = onnx.Tanh %h : (tensor<4x3xf32>) -> tensor<4x3xf32>
  %y = onnx.MatMul %t, %v : (tensor<4x3xf32>, tensor<3x2xf32>) -> tensor<4x2xf32>
  return %y : tensor<4x2xf32>
}

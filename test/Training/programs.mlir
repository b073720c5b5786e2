// One model becomes five programs over the same state.
// RUN: onnx-aot-compile %s --train --loss=mse --optimizer=sgd:momentum=0.9 --emit=onnx | FileCheck %s
// RUN: onnx-aot-compile %s --train --loss=mse --optimizer=sgd --clip-norm=1 --emit=onnx | FileCheck %s --check-prefix=CLIP
// RUN: onnx-aot-compile %s --train --loss=mse --optimizer=none --emit=onnx | FileCheck %s --check-prefix=NONE

// CHECK: // ----- train
// CHECK: func.func @main(%{{.*}}: tensor<4x3xf32> {onnx.name = "x"}, %{{.*}}: tensor<4x2xf32> {onnx.name = "target"}
// CHECK-SAME: %{{.*}}: tensor<3x2xf32> {onnx.name = "w"}, %{{.*}}: tensor<3x2xf32> {onnx.name = "w.grad"}
// CHECK-SAME: %{{.*}}: tensor<i1> {onnx.name = "accumulate"}, %{{.*}}: tensor<f32> {onnx.name = "loss_scale"})
// CHECK-SAME: -> (tensor<f32> {onnx.name = "loss"}, tensor<3x2xf32> {abi.updates = 3 : i64, onnx.name = ""})
// CHECK: // ----- eval
// CHECK: -> (tensor<f32> {onnx.name = "loss"}, tensor<4x2xf32> {onnx.name = "y"})
// CHECK: // ----- optimizer
// CHECK: func.func @main(%{{.*}}: tensor<3x2xf32> {onnx.name = "w"}, %{{.*}}: tensor<3x2xf32> {onnx.name = "w.grad"}
// CHECK-SAME: {onnx.name = "w.momentum_buffer"}, %{{.*}}: tensor<f32> {onnx.name = "learning_rate"}, %{{.*}}: tensor<i64> {onnx.name = "step"}
// CHECK-SAME: -> (tensor<f32> {onnx.name = "grad_norm"}, tensor<i1> {onnx.name = "updated"}, tensor<3x2xf32> {abi.updates = 0 : i64, onnx.name = ""}, tensor<3x2xf32> {abi.updates = 2 : i64, onnx.name = ""})
// CHECK: // ----- fused
// CHECK-SAME: {{$}}
// CHECK-NOT: w.grad
// CHECK: -> (tensor<f32> {onnx.name = "loss"}, tensor<3x2xf32> {abi.updates = 2 : i64, onnx.name = ""}, tensor<3x2xf32> {abi.updates = 3 : i64, onnx.name = ""})
// CHECK: // ----- infer
// CHECK: func.func @main(%{{.*}}: tensor<4x3xf32> {onnx.name = "x"}, %{{.*}}: tensor<3x2xf32> {onnx.name = "w"})
// CHECK-SAME: -> (tensor<4x2xf32> {onnx.name = "y"})
// CHECK-NOT: {{Sub|Mean}}

// A norm of all gradients is needed before the first update.
// CLIP: // ----- train
// CLIP: // ----- eval
// CLIP: // ----- optimizer
// CLIP-NOT: // ----- fused
// CLIP: // ----- infer

// NONE: // ----- train
// NONE: // ----- eval
// NONE-NEXT: module
// NONE-NOT: // ----- {{optimizer|fused}}
// NONE: // ----- infer
func.func @main(%x: tensor<4x3xf32> {onnx.name = "x"}) -> (tensor<4x2xf32> {onnx.name = "y"}) {
  %w = onnx.Constant {onnx.name = "w"} dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32>
  %y = onnx.MatMul %x, %w : (tensor<4x3xf32>, tensor<3x2xf32>) -> tensor<4x2xf32>
  return %y : tensor<4x2xf32>
}

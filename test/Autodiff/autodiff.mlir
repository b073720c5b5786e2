// RUN: onnx-aot-opt %s --split-input-file --onnx-autodiff | FileCheck %s
// RUN: onnx-aot-opt %s --split-input-file --onnx-autodiff --onnx-autodiff=outputs=x_grad | FileCheck %s --check-prefix=SECOND

// CHECK-LABEL: @names_and_seed
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32> {onnx.name = "x"}) -> (tensor<4xf32> {onnx.name = "y"}, tensor<4xf32> {onnx.name = "x_grad"})
// CHECK: %[[Y:.*]] = onnx.Exp %[[X]]
// CHECK: %[[ONES:.*]] = onnx.ConstantOfShape %{{.*}} {value = dense<1.000000e+00> : tensor<1xf32>}
// CHECK: %[[G:.*]] = onnx.Mul %[[ONES]], %[[Y]]
// CHECK: return %[[Y]], %[[G]]
// SECOND-LABEL: @names_and_seed
// SECOND-SAME: onnx.name = "x_grad"}, tensor<4xf32> {onnx.name = "x_grad_grad"})
func.func @names_and_seed(%x: tensor<4xf32> {onnx.name = "x"}) -> (tensor<4xf32> {onnx.name = "y"}) {
  %y = onnx.Exp %x : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// CHECK-LABEL: @sums_both_uses
// CHECK: %[[ONE:.*]] = onnx.ConstantOfShape
// CHECK: %[[A:.*]] = onnx.Mul %[[ONE]], %[[X:.*]] :
// CHECK: %[[B:.*]] = onnx.Mul %[[ONE]], %[[X]] :
// CHECK: onnx.Add %[[A]], %[[B]]
func.func @sums_both_uses(%x: tensor<4xf32> {onnx.name = "x"}) -> (tensor<4xf32> {onnx.name = "y"}) {
  %y = onnx.Mul %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// Ops that no input reaches, or that do not reach the output, are left alone:
// Det has no part in the gradient.

// CHECK-LABEL: @only_what_is_active
// CHECK: onnx.Det
// CHECK: onnx.NonZero
// CHECK: onnx.Neg
// CHECK-NOT: onnx.Det
func.func @only_what_is_active(%x: tensor<2x2xf32> {onnx.name = "x"}) -> (tensor<2x2xf32> {onnx.name = "y"}) {
  %c = onnx.Constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %d = onnx.Det %c : (tensor<2x2xf32>) -> tensor<f32>
  %unused = onnx.NonZero %x : (tensor<2x2xf32>) -> tensor<2x?xi64>
  %0 = onnx.Neg %x : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %y = onnx.Add %0, %d : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
  return %y : tensor<2x2xf32>
}

// -----

// CHECK-LABEL: @reduces_what_was_broadcast
// CHECK: %[[AXES:.*]] = onnx.Constant dense<[0, 1]> : tensor<2xi64>
// CHECK: %[[SUM:.*]] = onnx.ReduceSum %{{.*}}, %[[AXES]] {keepdims = 0 : i64}
// CHECK: onnx.Reshape %[[SUM]], %{{.*}} -> tensor<1x3xf32>
func.func @reduces_what_was_broadcast(%x: tensor<1x3xf32> {onnx.name = "x"}) -> (tensor<5x2x3xf32> {onnx.name = "y"}) {
  %s = onnx.Constant dense<[5, 2, 3]> : tensor<3xi64>
  %c = onnx.ConstantOfShape %s : (tensor<3xi64>) -> tensor<5x2x3xf32>
  %y = onnx.Add %c, %x : (tensor<5x2x3xf32>, tensor<1x3xf32>) -> tensor<5x2x3xf32>
  return %y : tensor<5x2x3xf32>
}

// -----

// Whether %b is broadcast shows at run time: the dimension of the gradient is cut
// into (size of y / size of b) x (size of b).

// CHECK-LABEL: @reduces_what_may_be_broadcast
// CHECK: %[[RATIO:.*]] = onnx.Div
// CHECK: onnx.Concat %{{.*}}, %[[RATIO]], %{{.*}} {axis = 0 : i64}
// CHECK: onnx.Reshape
// CHECK: onnx.ReduceSum {{.*}} -> tensor<?xf32, #map{{.*}}>
module attributes {onnx.symbols = ["n", "m"]} {
func.func @reduces_what_may_be_broadcast(
    %x: tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>> {onnx.name = "x"},
    %b: tensor<?xf32, affine_map<()[s1] -> (s1)>> {onnx.name = "b"})
    -> (tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>> {onnx.name = "y"}) {
  %y = onnx.Sub %x, %b : (tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>>, tensor<?xf32, affine_map<()[s1] -> (s1)>>) -> tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>>
  return %y : tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>>
}
}

// -----

// CHECK-LABEL: @integers_stop_gradients
// CHECK: %[[F:.*]] = onnx.Cast %{{.*}} {to = 1 : i64} : (tensor<4xi64>)
// CHECK-NOT: onnx.Cast
// CHECK: onnx.Mul %{{.*}}, %[[F]]
// CHECK: return
func.func @integers_stop_gradients(%x: tensor<4xf32> {onnx.name = "x"}) -> (tensor<4xf32> {onnx.name = "y"}) {
  %i = onnx.Cast %x {to = 7 : i64} : (tensor<4xf32>) -> tensor<4xi64>
  %f = onnx.Cast %i {to = 1 : i64} : (tensor<4xi64>) -> tensor<4xf32>
  %y = onnx.Mul %x, %f : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// CHECK-LABEL: @stops_where_asked
// CHECK: train.StopGradient
// CHECK: onnx.ConstantOfShape
// CHECK-NEXT: %[[G:.*]] = onnx.Mul
// CHECK-NEXT: return %{{.*}}, %[[G]]
func.func @stops_where_asked(%x: tensor<4xf32> {onnx.name = "x"}) -> (tensor<4xf32> {onnx.name = "y"}) {
  %s = train.StopGradient %x : (tensor<4xf32>) -> tensor<4xf32>
  %y = onnx.Mul %x, %s : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

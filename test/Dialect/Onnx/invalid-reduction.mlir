// RUN: onnx-aot-opt %s -split-input-file -verify-diagnostics -onnx-infer-shapes

func.func @axis_of_a_reduction(%x: tensor<4x4xf32>) {
  %axes = onnx.Constant dense<2> : tensor<1xi64>
  // expected-error @below {{axis 2 is out of range for 'tensor<4x4xf32>'}}
  %0 = onnx.ReduceSum %x, %axes : (tensor<4x4xf32>, tensor<1xi64>) -> tensor<*xf32>
  return
}
// -----
func.func @axis_of_a_position(%x: tensor<4x4xf32>) {
  // expected-error @below {{axis -3 is out of range for 'tensor<4x4xf32>'}}
  %0 = onnx.ArgMin %x {axis = -3 : i64} : (tensor<4x4xf32>) -> tensor<*xi64>
  return
}
// -----
func.func @axis_of_a_scan(%x: tensor<4x4xf32>) {
  %axis = onnx.Constant dense<2> : tensor<i64>
  // expected-error @below {{axis 2 is out of range for 'tensor<4x4xf32>'}}
  %0 = onnx.CumSum %x, %axis : (tensor<4x4xf32>, tensor<i64>) -> tensor<*xf32>
  return
}
// -----
func.func @many_axes_of_a_scan(%x: tensor<4x4xf32>, %axis: tensor<2xi64>) {
  // expected-error @below {{axis must be a scalar, not 'tensor<2xi64>'}}
  %0 = onnx.CumSum %x, %axis : (tensor<4x4xf32>, tensor<2xi64>) -> tensor<*xf32>
  return
}
// -----
func.func @flag(%x: tensor<4x4xf32>) {
  // expected-error @below {{attribute 'keepdims' failed to satisfy constraint: 64-bit signless integer attribute 0 or 1}}
  %0 = onnx.ArgMin %x {keepdims = 2 : i64} : (tensor<4x4xf32>) -> tensor<*xi64>
  return
}

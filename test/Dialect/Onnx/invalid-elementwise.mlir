// RUN: onnx-aot-opt %s -split-input-file -verify-diagnostics -onnx-infer-shapes

func.func @no_arithmetic_on_bools(%x: tensor<4xi1>) {
  // expected-error @below {{operand #0 must be tensor of}}
  %0 = onnx.Add %x, %x : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  return
}
// -----
func.func @element_types_differ(%x: tensor<4xf32>, %y: tensor<4xf16>) {
  // expected-error @below {{requires the same element type}}
  %0 = onnx.Mul %x, %y : (tensor<4xf32>, tensor<4xf16>) -> tensor<4xf32>
  return
}
// -----
func.func @shapes_do_not_fit(%x: tensor<4xf32>, %y: tensor<3xf32>) {
  // expected-error @below {{cannot be broadcast together}}
  %0 = onnx.Mul %x, %y : (tensor<4xf32>, tensor<3xf32>) -> tensor<*xf32>
  return
}
// -----
func.func @slope_grows_x(%x: tensor<4xf32>, %y: tensor<2x4xf32>) {
  // expected-error @below {{slope of type 'tensor<2x4xf32>' cannot be broadcast to 'tensor<4xf32>'}}
  %0 = onnx.PRelu %x, %y : (tensor<4xf32>, tensor<2x4xf32>) -> tensor<*xf32>
  return
}
// -----
func.func @unknown_direction(%x: tensor<4xui8>) {
  // expected-error @below {{attribute 'direction' failed to satisfy constraint: string attribute one of LEFT, RIGHT}}
  %0 = onnx.BitShift %x, %x {direction = "UP"} : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xui8>
  return
}
// -----
func.func @unknown_data_type(%x: tensor<4xui8>) {
  // expected-error @below {{attribute 'to' is 99, which is no element type}}
  %0 = onnx.Cast %x {to = 99 : i64} : (tensor<4xui8>) -> tensor<4xui8>
  return
}
// -----
func.func @bound_is_no_scalar(%x: tensor<4xf32>, %y: tensor<2xf32>) {
  // expected-error @below {{bounds must be scalars, not 'tensor<2xf32>'}}
  %0 = onnx.Clip %x, %y {operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<4xf32>, tensor<2xf32>) -> tensor<4xf32>
  return
}
// -----
func.func @bits_differ(%x: tensor<4xf32>) {
  // expected-error @below {{cannot reinterpret 'f32' as data type 7}}
  %0 = onnx.BitCast %x {to = 7 : i64} : (tensor<4xf32>) -> tensor<4xi64>
  return
}
// -----
func.func @branches_of_where_differ(%c: tensor<4xi1>, %x: tensor<4xf32>, %y: tensor<4xi64>) {
  // expected-error @below {{failed to verify that all of {x, y, output} have same element type}}
  %0 = onnx.Where %c, %x, %y : (tensor<4xi1>, tensor<4xf32>, tensor<4xi64>) -> tensor<4xf32>
  return
}

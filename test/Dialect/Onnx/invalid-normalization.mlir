// RUN: onnx-aot-opt %s -split-input-file -verify-diagnostics -onnx-infer-shapes

func.func @softmax_axis(%x: tensor<4x4xf32>) {
  // expected-error @below {{axis 2 is out of range for 'tensor<4x4xf32>'}}
  %0 = onnx.Softmax %x {axis = 2 : i64} : (tensor<4x4xf32>) -> tensor<*xf32>
  return
}
// -----
func.func @channels(%x: tensor<2x3x4xf32>, %c: tensor<4xf32>) {
  // expected-error @below {{per-channel parameter has type 'tensor<4xf32>', which does not fit 'tensor<2x3x4xf32>'}}
  %0 = onnx.InstanceNormalization %x, %c, %c : (tensor<2x3x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<*xf32>
  return
}
// -----
func.func @groups(%x: tensor<2x3x4xf32>, %c: tensor<3xf32>) {
  // expected-error @below {{num_groups 2 does not divide the channels of 'tensor<2x3x4xf32>'}}
  %0 = onnx.GroupNormalization %x, %c, %c {num_groups = 2 : i64} : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<*xf32>
  return
}
// -----
func.func @scale(%x: tensor<2x4xf32>, %s: tensor<3xf32>) {
  // expected-error @below {{parameter of type 'tensor<3xf32>' cannot be broadcast to 'tensor<2x4xf32>'}}
  %0 = onnx.RMSNormalization %x, %s : (tensor<2x4xf32>, tensor<3xf32>) -> tensor<*xf32>
  return
}
// -----
func.func @stash_type(%x: tensor<2x4xf32>, %s: tensor<4xf32>) {
  // expected-error @below {{stash_type 7 is no float type}}
  %0 = onnx.RMSNormalization %x, %s {stash_type = 7 : i64} : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<*xf32>
  return
}
// -----
func.func @rank(%x: tensor<4xf32>) {
  // expected-error @below {{input must have at least 2 dimensions, not 'tensor<4xf32>'}}
  %0 = onnx.LRN %x {size = 3 : i64} : (tensor<4xf32>) -> tensor<*xf32>
  return
}
// -----
func.func @targets(%x: tensor<2x3x4xf32>, %t: tensor<2x3xi64>) {
  // expected-error @below {{target of type 'tensor<2x3xi64>' does not fit 'tensor<2x3x4xf32>'}}
  %0 = onnx.NegativeLogLikelihoodLoss %x, %t : (tensor<2x3x4xf32>, tensor<2x3xi64>) -> tensor<*xf32>
  return
}
// -----
func.func @groups_of_parameters(%x: tensor<?x?x4xf32>, %s: tensor<4xf32>) {
  // expected-error @below {{num_groups 3 does not divide the channels of 'tensor<4xf32>'}}
  %0 = onnx.GroupNormalization %x, %s, %s {num_groups = 3 : i64} : (tensor<?x?x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x?x4xf32>
  return
}

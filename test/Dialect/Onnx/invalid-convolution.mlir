// RUN: onnx-aot-opt %s -onnx-infer-shapes -split-input-file -verify-diagnostics

func.func @weight_rank(%x: tensor<1x4x5xf32>, %w: tensor<8x4x3x3xf32>) -> tensor<*xf32> {
  // expected-error @+1 {{input of rank 3 and weight of rank 4}}
  %0 = onnx.Conv %x, %w : (tensor<1x4x5xf32>, tensor<8x4x3x3xf32>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}

// -----
func.func @group_zero(%x: tensor<1x4x5x5xf32>, %w: tensor<8x4x3x3xf32>) -> tensor<*xf32> {
  // expected-error @+1 {{group is 0 (supported: 1 or more)}}
  %0 = onnx.Conv %x, %w {group = 0 : i64} : (tensor<1x4x5x5xf32>, tensor<8x4x3x3xf32>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}

// -----
func.func @group_does_not_divide(%x: tensor<1x4x5x5xf32>, %w: tensor<8x4x3x3xf32>) -> tensor<*xf32> {
  // expected-error @+1 {{has 8 filters, not a multiple of group 3}}
  %0 = onnx.Conv %x, %w {group = 3 : i64} : (tensor<1x4x5x5xf32>, tensor<8x4x3x3xf32>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}

// -----
func.func @channels(%x: tensor<1x4x5x5xf32>, %w: tensor<8x3x3x3xf32>) -> tensor<*xf32> {
  // expected-error @+1 {{has 4 channels in 1 groups, but a weight of 3 channels per group}}
  %0 = onnx.Conv %x, %w : (tensor<1x4x5x5xf32>, tensor<8x3x3x3xf32>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}

// -----
func.func @stride_zero(%x: tensor<1x4x5x5xf32>, %w: tensor<8x4x3x3xf32>) -> tensor<*xf32> {
  // expected-error @+1 {{strides has 0 (supported: 1 to}}
  %0 = onnx.Conv %x, %w {strides = array<i64: 0, 1>} : (tensor<1x4x5x5xf32>, tensor<8x4x3x3xf32>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}

// -----
func.func @pads_count(%x: tensor<1x4x5x5xf32>, %w: tensor<8x4x3x3xf32>) -> tensor<*xf32> {
  // expected-error @+1 {{pads has 3 entries, expected 4}}
  %0 = onnx.Conv %x, %w {pads = array<i64: 1, 1, 1>} : (tensor<1x4x5x5xf32>, tensor<8x4x3x3xf32>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}

// -----
func.func @negative_pad(%x: tensor<1x1x5x5xf32>) -> tensor<*xf32> {
  // expected-error @+1 {{pads has -1 (supported: 0 to}}
  %0:2 = onnx.MaxPool %x {kernel_shape = array<i64: 2, 2>, pads = array<i64: -1, 0, 0, 0>} : (tensor<1x1x5x5xf32>) -> (tensor<*xf32>, tensor<*xi64>)
  return %0#0 : tensor<*xf32>
}

// -----
func.func @window_too_large(%x: tensor<1x1x2x5xf32>) -> tensor<*xf32> {
  // expected-error @+1 {{window of extent 5 does not fit into spatial dimension 0 of size 2}}
  %0:2 = onnx.MaxPool %x {kernel_shape = array<i64: 5, 5>} : (tensor<1x1x2x5xf32>) -> (tensor<*xf32>, tensor<*xi64>)
  return %0#0 : tensor<*xf32>
}

// -----
func.func @auto_pad(%x: tensor<1x1x2x5xf32>) -> tensor<*xf32> {
  // expected-error @+1 {{auto_pad "SAME" is not known}}
  %0 = onnx.AveragePool %x {kernel_shape = array<i64: 1, 1>, auto_pad = "SAME"} : (tensor<1x1x2x5xf32>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}

// -----
func.func @kernel_rank(%x: tensor<1x1x5xf32>) -> tensor<*xf32> {
  // expected-error @+1 {{input of rank 3 does not fit a kernel of 2 dimensions}}
  %0 = onnx.LpPool %x {kernel_shape = array<i64: 1, 1>} : (tensor<1x1x5xf32>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}

// RUN: onnx-aot-opt %s -onnx-infer-shapes -split-input-file -verify-diagnostics

func.func @neither_scales_nor_sizes(%x: tensor<1x1x2x4xf32>) -> tensor<*xf32> {
  // expected-error @+1 {{needs scales or sizes}}
  %0 = onnx.Resize %x {operandSegmentSizes = array<i32: 1, 0, 0, 0>} : (tensor<1x1x2x4xf32>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}

// -----
func.func @negative_scale(%x: tensor<1x1x2x4xf32>) -> tensor<*xf32> {
  %s = onnx.Constant dense<[1.0, 1.0, -2.0, 2.0]> : tensor<4xf32>
  // expected-error @+1 {{is not a positive number}}
  %0 = onnx.Resize %x, %s {operandSegmentSizes = array<i32: 1, 0, 1, 0>} : (tensor<1x1x2x4xf32>, tensor<4xf32>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}

// -----
func.func @number_of_scales(%x: tensor<1x1x2x4xf32>, %s: tensor<3xf32>) -> tensor<*xf32> {
  // expected-error @+1 {{scales must have 4 elements}}
  %0 = onnx.Resize %x, %s {operandSegmentSizes = array<i32: 1, 0, 1, 0>} : (tensor<1x1x2x4xf32>, tensor<3xf32>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}

// -----
func.func @mode(%x: tensor<1x1x2x4xf32>, %s: tensor<4xf32>) -> tensor<*xf32> {
  // expected-error @+1 {{mode "lanczos" is not known (supported: nearest, linear, cubic)}}
  %0 = onnx.Resize %x, %s {mode = "lanczos", operandSegmentSizes = array<i32: 1, 0, 1, 0>} : (tensor<1x1x2x4xf32>, tensor<4xf32>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}

// -----
func.func @grid_coordinates(%x: tensor<2x3x4x5xf32>, %grid: tensor<2x6x7x3xf32>) -> tensor<*xf32> {
  // expected-error @+1 {{grid has positions of 3 coordinates, expected 2}}
  %0 = onnx.GridSample %x, %grid : (tensor<2x3x4x5xf32>, tensor<2x6x7x3xf32>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}

// -----
func.func @attention_heads(%q: tensor<1x3x2x8xf32>, %k: tensor<1x2x2x8xf32>) -> tensor<*xf32> {
  // expected-error @+1 {{has 3 heads of q, not a multiple of 2 heads of k}}
  %0:4 = onnx.Attention %q, %k, %k {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>} : (tensor<1x3x2x8xf32>, tensor<1x2x2x8xf32>, tensor<1x2x2x8xf32>) -> (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>)
  return %0#0 : tensor<*xf32>
}

// -----
func.func @output_padding(%x: tensor<1x4x5x5xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<*xf32> {
  // expected-error @+1 {{output_padding has -1}}
  %0 = onnx.ConvTranspose %x, %w {output_padding = array<i64: -1, 0>} : (tensor<1x4x5x5xf32>, tensor<4x3x3x3xf32>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}

// RUN: onnx-aot-opt %s -onnx-infer-shapes -split-input-file -verify-diagnostics

func.func @weight_gates(%x: tensor<4x7x3xf32>, %w: tensor<1x20x3xf32>, %r: tensor<1x15x5xf32>) -> tensor<*xf32> {
  // expected-error @+1 {{w of type 'tensor<1x20x3xf32>' does not fit, expected (1, 15, 3)}}
  %0:2 = onnx.GRU %x, %w, %r {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>} : (tensor<4x7x3xf32>, tensor<1x20x3xf32>, tensor<1x15x5xf32>) -> (tensor<*xf32>, tensor<*xf32>)
  return %0#0 : tensor<*xf32>
}

// -----
func.func @direction(%x: tensor<4x7x3xf32>, %w: tensor<1x5x3xf32>, %r: tensor<1x5x5xf32>) -> tensor<*xf32> {
  // expected-error @+1 {{direction "backward" is not known}}
  %0:2 = onnx.RNN %x, %w, %r {direction = "backward", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>} : (tensor<4x7x3xf32>, tensor<1x5x3xf32>, tensor<1x5x5xf32>) -> (tensor<*xf32>, tensor<*xf32>)
  return %0#0 : tensor<*xf32>
}

// -----
func.func @hidden_size(%x: tensor<4x7x3xf32>, %w: tensor<1x5x3xf32>, %r: tensor<1x5x5xf32>) -> tensor<*xf32> {
  // expected-error @+1 {{hidden_size is 6, but r has 5}}
  %0:2 = onnx.RNN %x, %w, %r {hidden_size = 6 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>} : (tensor<4x7x3xf32>, tensor<1x5x3xf32>, tensor<1x5x5xf32>) -> (tensor<*xf32>, tensor<*xf32>)
  return %0#0 : tensor<*xf32>
}

// -----
func.func @rank(%x: tensor<7x3xf32>, %w: tensor<1x5x3xf32>, %r: tensor<1x5x5xf32>) -> tensor<*xf32> {
  // expected-error @+1 {{x and r must have rank 3}}
  %0:2 = onnx.RNN %x, %w, %r {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>} : (tensor<7x3xf32>, tensor<1x5x3xf32>, tensor<1x5x5xf32>) -> (tensor<*xf32>, tensor<*xf32>)
  return %0#0 : tensor<*xf32>
}

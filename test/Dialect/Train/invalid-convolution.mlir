// RUN: onnx-aot-opt %s --split-input-file --verify-diagnostics --onnx-infer-shapes

func.func @wrong_rank(%dy: tensor<2x4x4xf32>, %w: tensor<4x3x3x3xf32>, %shape: tensor<4xi64>) -> tensor<*xf32> {
  // expected-error @+1 {{needs dy and x_shape of 4 dimensions, found 'tensor<2x4x4xf32>' and 'tensor<4xi64>'}}
  %dx = train.ConvBackwardData %dy, %w, %shape : (tensor<2x4x4xf32>, tensor<4x3x3x3xf32>, tensor<4xi64>) -> tensor<*xf32>
  return %dx : tensor<*xf32>
}

// -----

func.func @no_group(%x: tensor<2x4x8xf32>, %dy: tensor<2x6x6xf32>) -> tensor<*xf32> {
  // expected-error @+1 {{group is 0 (supported: 1 or more)}}
  %dw = train.ConvBackwardWeight %x, %dy {group = 0 : i64, kernel_shape = array<i64: 3>} : (tensor<2x4x8xf32>, tensor<2x6x6xf32>) -> tensor<*xf32>
  return %dw : tensor<*xf32>
}

// -----

func.func @no_image(%x: tensor<2x4x8xf32>, %dy: tensor<2x6xf32>) -> tensor<*xf32> {
  // expected-error @+1 {{needs dy, x and y of rank 3, found 'tensor<2x6xf32>'}}
  %dx = train.MaxPoolBackward %dy, %x, %dy {kernel_shape = array<i64: 3>} : (tensor<2x6xf32>, tensor<2x4x8xf32>, tensor<2x6xf32>) -> tensor<*xf32>
  return %dx : tensor<*xf32>
}

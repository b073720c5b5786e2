// RUN: onnx-aot-opt %s -onnx-infer-shapes -split-input-file -verify-diagnostics

func.func @perm_repeats_a_dimension(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{perm [0, 0] is not a permutation of 2 dimensions}}
  %0 = onnx.Transpose %x {perm = array<i64: 0, 0>} : (tensor<2x3xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @counts_differ(%x: tensor<2x3xf32>) {
  %shape = onnx.Constant dense<[4, 2]> : tensor<2xi64>
  // expected-error @+1 {{cannot reshape 'tensor<2x3xf32>' into (4, 2): the numbers of elements differ}}
  %0 = onnx.Reshape %x, %shape : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @two_open_sizes(%x: tensor<2x3xf32>) {
  %shape = onnx.Constant dense<-1> : tensor<2xi64>
  // expected-error @+1 {{shape has more than one -1}}
  %0 = onnx.Reshape %x, %shape : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @copies_a_size_that_is_not_there(%x: tensor<6xf32>) {
  %shape = onnx.Constant dense<[6, 0]> : tensor<2xi64>
  // expected-error @+1 {{shape copies dimension 1 of an input of rank 1}}
  %0 = onnx.Reshape %x, %shape : (tensor<6xf32>, tensor<2xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @axis_out_of_range(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{axis 2 is out of range for rank 2}}
  %0 = onnx.Concat %x, %x {axis = 2} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @split_does_not_sum(%x: tensor<6xf32>) {
  %split = onnx.Constant dense<[2, 3]> : tensor<2xi64>
  // expected-error @+1 {{split sizes sum to 5, but the dimension is 6}}
  %0:2 = onnx.Split %x, %split : (tensor<6xf32>, tensor<2xi64>) -> (tensor<*xf32>, tensor<*xf32>)
  return
}

// -----

func.func @step_of_zero(%x: tensor<6xf32>) {
  %zero = onnx.Constant dense<0> : tensor<1xi64>
  // expected-error @+1 {{step of axis 0 is 0}}
  %0 = onnx.Slice %x, %zero, %zero, %zero, %zero {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>} : (tensor<6xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @pads_of_another_rank(%x: tensor<6xf32>) {
  %pads = onnx.Constant dense<0> : tensor<3xi64>
  // expected-error @+1 {{has 3 pads for 1 axes}}
  %0 = onnx.Pad %x, %pads {operandSegmentSizes = array<i32: 1, 1, 0, 0>} : (tensor<6xf32>, tensor<3xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @delta_of_zero() {
  %zero = onnx.Constant dense<0> : tensor<i64>
  // expected-error @+1 {{delta is 0}}
  %0 = onnx.Range %zero, %zero, %zero : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<*xi64>
  return
}

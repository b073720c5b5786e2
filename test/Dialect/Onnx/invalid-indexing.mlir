// RUN: onnx-aot-opt %s -onnx-infer-shapes -split-input-file -verify-diagnostics

func.func @constant_index_out_of_range(%x: tensor<3xf32>) {
  %index = onnx.Constant dense<3> : tensor<i64>
  // expected-error @+1 {{index 3 is out of range for a dimension of 3}}
  %0 = onnx.Gather %x, %index : (tensor<3xf32>, tensor<i64>) -> tensor<*xf32>
  return
}

// -----

func.func @unknown_reduction(%x: tensor<3xf32>, %i: tensor<1xi64>, %u: tensor<1xf32>) {
  // expected-error @+1 {{reduction "sum" is not supported (supported: none, add, mul, max, min)}}
  %0 = onnx.ScatterElements %x, %i, %u {reduction = "sum"} : (tensor<3xf32>, tensor<1xi64>, tensor<1xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @k_beyond_the_dimension(%x: tensor<3xf32>) {
  %k = onnx.Constant dense<4> : tensor<1xi64>
  // expected-error @+1 {{k = 4 is out of range}}
  %0:2 = onnx.TopK %x, %k : (tensor<3xf32>, tensor<1xi64>) -> (tensor<*xf32>, tensor<*xi64>)
  return
}

// -----

func.func @updates_do_not_fit(%x: tensor<3x4xf32>, %i: tensor<2x1xi64>, %u: tensor<2x3xf32>) {
  // expected-error @+1 {{do not fit data}}
  %0 = onnx.ScatterND %x, %i, %u : (tensor<3x4xf32>, tensor<2x1xi64>, tensor<2x3xf32>) -> tensor<*xf32>
  return
}

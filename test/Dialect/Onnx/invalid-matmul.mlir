// RUN: onnx-aot-opt %s -onnx-infer-shapes -split-input-file -verify-diagnostics

func.func @inner_sizes(%a: tensor<2x3xf32>, %b: tensor<4x5xf32>) -> tensor<*xf32> {
  // expected-error @+1 {{inner sizes 3 and 4 of the operands differ}}
  %0 = onnx.MatMul %a, %b : (tensor<2x3xf32>, tensor<4x5xf32>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}

// -----
func.func @scalar(%a: tensor<f32>, %b: tensor<4x5xf32>) -> tensor<*xf32> {
  // expected-error @+1 {{operands must have at least one dimension}}
  %0 = onnx.MatMul %a, %b : (tensor<f32>, tensor<4x5xf32>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}

// -----
func.func @gemm_rank(%a: tensor<2x2x3xf32>, %b: tensor<3x5xf32>) -> tensor<*xf32> {
  // expected-error @+1 {{operands a and b must be matrices}}
  %0 = onnx.Gemm %a, %b : (tensor<2x2x3xf32>, tensor<3x5xf32>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}

// -----
func.func @gemm_c(%a: tensor<2x3xf32>, %b: tensor<3x5xf32>, %c: tensor<4xf32>) -> tensor<*xf32> {
  // expected-error @+1 {{does not broadcast to the product}}
  %0 = onnx.Gemm %a, %b, %c : (tensor<2x3xf32>, tensor<3x5xf32>, tensor<4xf32>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}

// -----
func.func @einsum_rank(%a: tensor<2x3xf32>) -> tensor<*xf32> {
  // expected-error @+1 {{equation term 'ijk' does not fit an input of rank 2}}
  %0 = onnx.Einsum %a {equation = "ijk->i"} : (tensor<2x3xf32>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}

// -----
func.func @einsum_character(%a: tensor<2x3xf32>) -> tensor<*xf32> {
  // expected-error @+1 {{unexpected '$'}}
  %0 = onnx.Einsum %a {equation = "i$->i"} : (tensor<2x3xf32>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}

// -----
func.func @einsum_output(%a: tensor<2x3xf32>) -> tensor<*xf32> {
  // expected-error @+1 {{equation output has a label no input has}}
  %0 = onnx.Einsum %a {equation = "ij->k"} : (tensor<2x3xf32>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}

// RUN: onnx-aot-opt %s --split-input-file --verify-diagnostics --onnx-autodiff
// RUN: not onnx-aot-opt %s --split-input-file --onnx-autodiff=inputs=z,n 2>&1 | FileCheck %s

// All ops in the way are named, also those before the first one refused.
func.func @everything_at_once(%x: tensor<4xf32> {onnx.name = "x"}) -> (tensor<f32> {onnx.name = "y"}) {
  // expected-error @+1 {{'onnx.Bernoulli' op has no gradient rule}}
  %0 = onnx.Bernoulli %x : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error @+1 {{'onnx.Bernoulli' op has no gradient rule}}
  %1 = onnx.Bernoulli %0 : (tensor<4xf32>) -> tensor<4xf32>
  %y = onnx.ReduceSum %1 {keepdims = 0 : i64} : (tensor<4xf32>) -> tensor<f32>
  return %y : tensor<f32>
}

// -----

// expected-error @+1 {{output number 0 of type 'tensor<4xi64>' cannot be differentiated}}
func.func @integer_output(%x: tensor<4xf32> {onnx.name = "x"}) -> (tensor<4xi64> {onnx.name = "y"}) {
  %0 = onnx.Cast %x {to = 7 : i64} : (tensor<4xf32>) -> tensor<4xi64>
  return %0 : tensor<4xi64>
}

// -----

// expected-warning @+1 {{no output depends on input 'x' through floats: its gradient is 0}}
func.func @independent(%x: tensor<4xf32> {onnx.name = "x"}, %z: tensor<4xf32> {onnx.name = "z"}, %n: tensor<4xi64> {onnx.name = "n"}) -> (tensor<4xf32> {onnx.name = "y"}) {
  %y = onnx.Neg %z : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// CHECK: no input is called 'z' (there are: x)
// CHECK: input "n" of type 'tensor<4xi64>' has no gradient (supported: f16, bf16, f32, f64)

// RUN: onnx-aot-opt %s --verify-diagnostics --onnx-infer-shapes

func.func @too_few_inputs(%x: tensor<4xf32>, %z: tensor<4xf32>, %y: tensor<f32>) -> tensor<4xf32> {
  // expected-error @+1 {{has 1 inputs for 1 xs and 1 zs}}
  %g = "train.Gradient"(%y, %x, %z, %x) {operandSegmentSizes = array<i32: 1, 1, 1, 1>} : (tensor<f32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %g : tensor<4xf32>
}

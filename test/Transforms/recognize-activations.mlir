// RUN: onnx-aot-opt %s -onnx-canonicalize -onnx-recognize-activations -split-input-file | FileCheck %s

// CHECK-LABEL: func.func @finds_gelu_with_erf
// CHECK: onnx.Gelu %{{.*}} : (tensor<3xf32>)
// CHECK-NOT: onnx.Mul
func.func @finds_gelu_with_erf(%x: tensor<3xf32>) -> tensor<3xf32> {
  %root = onnx.Constant dense<1.41421354> : tensor<f32>
  %one = onnx.Constant dense<1.0> : tensor<f32>
  %half = onnx.Constant dense<0.5> : tensor<f32>
  %0 = onnx.Div %x, %root : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  %1 = onnx.Erf %0 : (tensor<3xf32>) -> tensor<3xf32>
  %2 = onnx.Add %1, %one : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  %3 = onnx.Mul %x, %2 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %4 = onnx.Mul %3, %half : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  return %4 : tensor<3xf32>
}

// -----

// CHECK-LABEL: func.func @finds_gelu_with_tanh
// CHECK: onnx.Gelu %{{.*}} {approximate = "tanh"}
func.func @finds_gelu_with_tanh(%x: tensor<3xf32>) -> tensor<3xf32> {
  %three = onnx.Constant dense<3.0> : tensor<f32>
  %a = onnx.Constant dense<4.471500e-02> : tensor<f32>
  %b = onnx.Constant dense<0.797884583> : tensor<f32>
  %one = onnx.Constant dense<1.0> : tensor<f32>
  %half = onnx.Constant dense<0.5> : tensor<f32>
  %0 = onnx.Pow %x, %three : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  %1 = onnx.Mul %0, %a : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  %2 = onnx.Add %x, %1 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %3 = onnx.Mul %2, %b : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  %4 = onnx.Tanh %3 : (tensor<3xf32>) -> tensor<3xf32>
  %5 = onnx.Add %4, %one : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  %6 = onnx.Mul %x, %half : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  %7 = onnx.Mul %6, %5 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return %7 : tensor<3xf32>
}

// -----

// Four digits of 1 / sqrt 2 are another function.
// CHECK-LABEL: func.func @leaves_what_is_only_like_gelu
// CHECK-NOT: onnx.Gelu
// CHECK: return
func.func @leaves_what_is_only_like_gelu(%x: tensor<3xf32>) -> tensor<3xf32> {
  %root = onnx.Constant dense<0.7071> : tensor<f32>
  %one = onnx.Constant dense<1.0> : tensor<f32>
  %half = onnx.Constant dense<0.5> : tensor<f32>
  %0 = onnx.Mul %x, %root : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  %1 = onnx.Erf %0 : (tensor<3xf32>) -> tensor<3xf32>
  %2 = onnx.Add %1, %one : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  %3 = onnx.Mul %x, %2 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %4 = onnx.Mul %3, %half : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  return %4 : tensor<3xf32>
}

// -----

// CHECK-LABEL: func.func @finds_self_gates
// CHECK: %[[SWISH:.*]] = onnx.Swish
// CHECK: %[[MISH:.*]] = onnx.Mish
// CHECK: %[[HARD:.*]] = onnx.HardSwish
// CHECK: %[[OTHER:.*]] = onnx.Mul
// CHECK: return %[[SWISH]], %[[MISH]], %[[HARD]], %[[OTHER]]
func.func @finds_self_gates(%x: tensor<3xf32>, %y: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
  %0 = onnx.Sigmoid %x : (tensor<3xf32>) -> tensor<3xf32>
  %1 = onnx.Mul %0, %x : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %2 = onnx.Softplus %x : (tensor<3xf32>) -> tensor<3xf32>
  %3 = onnx.Tanh %2 : (tensor<3xf32>) -> tensor<3xf32>
  %4 = onnx.Mul %x, %3 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %5 = onnx.HardSigmoid %x {alpha = 0.166666672 : f32, beta = 0.5 : f32} : (tensor<3xf32>) -> tensor<3xf32>
  %6 = onnx.Mul %x, %5 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %7 = onnx.Mul %y, %0 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return %1, %4, %6, %7 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}

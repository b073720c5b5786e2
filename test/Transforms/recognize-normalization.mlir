// RUN: onnx-aot-opt %s -onnx-infer-shapes -onnx-canonicalize -onnx-recognize-normalization -split-input-file | FileCheck %s

// CHECK-LABEL: func.func @finds_layer_norm
// CHECK-SAME: (%[[X:.*]]: tensor<2x3x4xf32>, %[[SCALE:.*]]: tensor<4xf32>, %[[BIAS:.*]]: tensor<4xf32>)
// CHECK: onnx.LayerNormalization %[[X]], %[[SCALE]], %[[BIAS]] {axis = 2 : i64
// CHECK-NOT: onnx.ReduceMean
func.func @finds_layer_norm(%x: tensor<2x3x4xf32>, %scale: tensor<4xf32>, %bias: tensor<4xf32>) -> tensor<*xf32> {
  %axes = onnx.Constant dense<-1> : tensor<1xi64>
  %two = onnx.Constant dense<2.0> : tensor<f32>
  %eps = onnx.Constant dense<1.0e-5> : tensor<f32>
  %0 = onnx.ReduceMean %x, %axes : (tensor<2x3x4xf32>, tensor<1xi64>) -> tensor<*xf32>
  %1 = onnx.Sub %x, %0 : (tensor<2x3x4xf32>, tensor<*xf32>) -> tensor<*xf32>
  %2 = onnx.Pow %1, %two : (tensor<*xf32>, tensor<f32>) -> tensor<*xf32>
  %3 = onnx.ReduceMean %2, %axes : (tensor<*xf32>, tensor<1xi64>) -> tensor<*xf32>
  %4 = onnx.Add %3, %eps : (tensor<*xf32>, tensor<f32>) -> tensor<*xf32>
  %5 = onnx.Sqrt %4 : (tensor<*xf32>) -> tensor<*xf32>
  %6 = onnx.Div %1, %5 : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  %7 = onnx.Mul %6, %scale : (tensor<*xf32>, tensor<4xf32>) -> tensor<*xf32>
  %8 = onnx.Add %7, %bias : (tensor<*xf32>, tensor<4xf32>) -> tensor<*xf32>
  return %8 : tensor<*xf32>
}

// -----

// CHECK-LABEL: func.func @finds_rms_norm
// CHECK-SAME: (%[[X:.*]]: tensor<2x4xf32>, %[[SCALE:.*]]: tensor<4xf32>)
// CHECK: onnx.RMSNormalization %[[X]], %[[SCALE]] {axis = 1 : i64
func.func @finds_rms_norm(%x: tensor<2x4xf32>, %scale: tensor<4xf32>) -> tensor<*xf32> {
  %axes = onnx.Constant dense<1> : tensor<1xi64>
  %eps = onnx.Constant dense<1.0e-5> : tensor<f32>
  %0 = onnx.Mul %x, %x : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<*xf32>
  %1 = onnx.ReduceMean %0, %axes : (tensor<*xf32>, tensor<1xi64>) -> tensor<*xf32>
  %2 = onnx.Add %1, %eps : (tensor<*xf32>, tensor<f32>) -> tensor<*xf32>
  %3 = onnx.Sqrt %2 : (tensor<*xf32>) -> tensor<*xf32>
  %4 = onnx.Reciprocal %3 : (tensor<*xf32>) -> tensor<*xf32>
  %5 = onnx.Mul %x, %4 : (tensor<2x4xf32>, tensor<*xf32>) -> tensor<*xf32>
  %6 = onnx.Mul %5, %scale : (tensor<*xf32>, tensor<4xf32>) -> tensor<*xf32>
  return %6 : tensor<*xf32>
}

// -----

// The first dimension is none to normalize over; a scale per row is no scale.
// CHECK-LABEL: func.func @leaves_other_dimensions
// CHECK-NOT: Normalization
// CHECK: return
func.func @leaves_other_dimensions(%x: tensor<2x4xf32>) -> tensor<*xf32> {
  %axes = onnx.Constant dense<0> : tensor<1xi64>
  %eps = onnx.Constant dense<1.0e-5> : tensor<f32>
  %0 = onnx.Mul %x, %x : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<*xf32>
  %1 = onnx.ReduceMean %0, %axes : (tensor<*xf32>, tensor<1xi64>) -> tensor<*xf32>
  %2 = onnx.Add %1, %eps : (tensor<*xf32>, tensor<f32>) -> tensor<*xf32>
  %3 = onnx.Sqrt %2 : (tensor<*xf32>) -> tensor<*xf32>
  %4 = onnx.Div %x, %3 : (tensor<2x4xf32>, tensor<*xf32>) -> tensor<*xf32>
  return %4 : tensor<*xf32>
}

// -----

// CHECK-LABEL: func.func @finds_softmax
// CHECK: onnx.Softmax %{{.*}} {axis = 1 : i64}
// Different axes are no Softmax.
// CHECK: onnx.Div
func.func @finds_softmax(%x: tensor<2x4x3xf32>) -> (tensor<*xf32>, tensor<*xf32>) {
  %axes = onnx.Constant dense<1> : tensor<1xi64>
  %other = onnx.Constant dense<2> : tensor<1xi64>
  %0 = onnx.ReduceMax %x, %axes : (tensor<2x4x3xf32>, tensor<1xi64>) -> tensor<*xf32>
  %1 = onnx.Sub %x, %0 : (tensor<2x4x3xf32>, tensor<*xf32>) -> tensor<*xf32>
  %2 = onnx.Exp %1 : (tensor<*xf32>) -> tensor<*xf32>
  %3 = onnx.ReduceSum %2, %axes : (tensor<*xf32>, tensor<1xi64>) -> tensor<*xf32>
  %4 = onnx.Div %2, %3 : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  %5 = onnx.ReduceSum %2, %other : (tensor<*xf32>, tensor<1xi64>) -> tensor<*xf32>
  %6 = onnx.Div %2, %5 : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  return %4, %6 : tensor<*xf32>, tensor<*xf32>
}

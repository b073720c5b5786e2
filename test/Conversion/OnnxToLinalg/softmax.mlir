// RUN: onnx-aot-opt %s -split-input-file -onnx-infer-shapes -convert-onnx-to-linalg | FileCheck %s

// The axis needs no transpose.
// CHECK-LABEL: func.func @softmax_of_the_middle_axis
// CHECK-NOT: linalg.transpose
// CHECK: linalg.fill {{.*}} -> tensor<2x4xf32>
// CHECK: iterator_types = ["parallel", "reduction", "parallel"]
// CHECK: arith.maximumf
// CHECK: math.exp
// CHECK: iterator_types = ["parallel", "reduction", "parallel"]
// CHECK: arith.addf
// CHECK: arith.divf
func.func @softmax_of_the_middle_axis(%x: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
  %0 = onnx.Softmax %x {axis = 1 : i64} : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  return %0 : tensor<2x3x4xf32>
}
// -----
// CHECK-LABEL: func.func @log_softmax_keeps_the_sum_wide
// CHECK: linalg.fill {{.*}} -> tensor<2xf32>
// CHECK: math.exp
// CHECK: math.log
// CHECK: arith.truncf %{{.*}} : f32 to f16
func.func @log_softmax_keeps_the_sum_wide(%x: tensor<2x3xf16>) -> tensor<2x3xf16> {
  %0 = onnx.LogSoftmax %x : (tensor<2x3xf16>) -> tensor<2x3xf16>
  return %0 : tensor<2x3xf16>
}
// -----
// CHECK-LABEL: func.func @hardmax_compares_positions
// CHECK: linalg.index 1
// CHECK: linalg.index 1
// CHECK: arith.select
func.func @hardmax_compares_positions(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = onnx.Hardmax %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

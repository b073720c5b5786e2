// RUN: onnx-aot-opt %s -onnx-use-integer-products | FileCheck %s

// CHECK-LABEL: func.func @matmul
// CHECK-SAME: %[[A:[^:]*]]: tensor<?x4xui8
// CHECK: %[[SUM:.*]] = onnx.MatMulInteger %[[A]], %{{.*}}, %{{.*}} {operandSegmentSizes = array<i32: 1, 1, 1, 0>}
// CHECK: %[[REAL:.*]] = onnx.Cast %[[SUM]]
// CHECK: onnx.Mul %[[REAL]]
func.func @matmul(%a: tensor<?x4xui8, affine_map<()[s0] -> (s0, 4)>>) -> tensor<?x2xf32, affine_map<()[s0] -> (s0, 2)>> {
  %s = onnx.Constant dense<0.5> : tensor<f32>
  %p = onnx.Constant dense<7> : tensor<ui8>
  %w = onnx.Constant dense<[[1, 2], [3, 4], [5, 6], [7, 8]]> : tensor<4x2xi8>
  %0 = onnx.DequantizeLinear %a, %s, %p : (tensor<?x4xui8, affine_map<()[s0] -> (s0, 4)>>, tensor<f32>, tensor<ui8>) -> tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>>
  %1 = onnx.DequantizeLinear %w, %s : (tensor<4x2xi8>, tensor<f32>) -> tensor<4x2xf32>
  %2 = onnx.MatMul %0, %1 : (tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>>, tensor<4x2xf32>) -> tensor<?x2xf32, affine_map<()[s0] -> (s0, 2)>>
  return %2 : tensor<?x2xf32, affine_map<()[s0] -> (s0, 2)>>
}

// The weights are not known: nothing is gained.
// CHECK-LABEL: func.func @keeps_run_time_weights
// CHECK: onnx.MatMul %
func.func @keeps_run_time_weights(%a: tensor<2x4xui8>, %w: tensor<4x2xi8>) -> tensor<2x2xf32> {
  %s = onnx.Constant dense<0.5> : tensor<f32>
  %0 = onnx.DequantizeLinear %a, %s : (tensor<2x4xui8>, tensor<f32>) -> tensor<2x4xf32>
  %1 = onnx.DequantizeLinear %w, %s : (tensor<4x2xi8>, tensor<f32>) -> tensor<4x2xf32>
  %2 = onnx.MatMul %0, %1 : (tensor<2x4xf32>, tensor<4x2xf32>) -> tensor<2x2xf32>
  return %2 : tensor<2x2xf32>
}

// CHECK-LABEL: func.func @merges_zero_points
// CHECK: dense<{{\[\[}}-127, 72], [0, 0]]> : tensor<2x2xi8>
// CHECK: onnx.MatMulInteger %{{.*}}, %{{[^,]*}} {operandSegmentSizes = array<i32: 1, 1, 0, 0>}
func.func @merges_zero_points(%a: tensor<2x2xui8>) -> tensor<2x2xi32> {
  %z = onnx.Constant dense<0> : tensor<ui8>
  %p = onnx.Constant dense<[128, 100]> : tensor<2xui8>
  %w = onnx.Constant dense<[[1, 172], [128, 100]]> : tensor<2x2xui8>
  %0 = onnx.MatMulInteger %a, %w, %z, %p {operandSegmentSizes = array<i32: 1, 1, 1, 1>} : (tensor<2x2xui8>, tensor<2x2xui8>, tensor<ui8>, tensor<2xui8>) -> tensor<2x2xi32>
  return %0 : tensor<2x2xi32>
}

// 255 - 0 does not fit 8 bits with a sign.
// CHECK-LABEL: func.func @keeps_wide_differences
// CHECK: onnx.MatMulInteger {{.*}} {operandSegmentSizes = array<i32: 1, 1, 0, 1>}
func.func @keeps_wide_differences(%a: tensor<2x2xui8>) -> tensor<2x2xi32> {
  %p = onnx.Constant dense<1> : tensor<ui8>
  %w = onnx.Constant dense<[[255, 0], [128, 100]]> : tensor<2x2xui8>
  %0 = onnx.MatMulInteger %a, %w, %p {operandSegmentSizes = array<i32: 1, 1, 0, 1>} : (tensor<2x2xui8>, tensor<2x2xui8>, tensor<ui8>) -> tensor<2x2xi32>
  return %0 : tensor<2x2xi32>
}

// CHECK-LABEL: func.func @conv
// CHECK: onnx.ConvInteger
// CHECK: onnx.Cast
// CHECK: onnx.Mul
// CHECK: onnx.Add
func.func @conv(%x: tensor<1x2x4x4xi8>, %b: tensor<3xf32>) -> tensor<1x3x4x4xf32> {
  %s = onnx.Constant dense<0.5> : tensor<f32>
  %t = onnx.Constant dense<[0.5, 0.25, 0.125]> : tensor<3xf32>
  %w = onnx.Constant dense<1> : tensor<3x2x1x1xi8>
  %0 = onnx.DequantizeLinear %x, %s : (tensor<1x2x4x4xi8>, tensor<f32>) -> tensor<1x2x4x4xf32>
  %1 = onnx.DequantizeLinear %w, %t {axis = 0 : i64} : (tensor<3x2x1x1xi8>, tensor<3xf32>) -> tensor<3x2x1x1xf32>
  %2 = onnx.Conv %0, %1, %b : (tensor<1x2x4x4xf32>, tensor<3x2x1x1xf32>, tensor<3xf32>) -> tensor<1x3x4x4xf32>
  return %2 : tensor<1x3x4x4xf32>
}

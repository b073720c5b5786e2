// RUN: onnx-aot-opt %s -onnx-infer-shapes | FileCheck %s

// CHECK-DAG: #[[Y:.*]] = affine_map<()[s0] -> (1, 3, s0 * 2, 16)>
// CHECK-LABEL: func.func @resize_scales_a_symbol
// CHECK: onnx.Resize {{.*}} -> tensor<1x3x?x16xf32, #[[Y]]>
func.func @resize_scales_a_symbol(%x: tensor<1x3x?x8xf32, affine_map<()[s0] -> (1, 3, s0, 8)>>) -> tensor<*xf32> {
  %s = onnx.Constant dense<[1.0, 1.0, 2.0, 2.0]> : tensor<4xf32>
  %0 = onnx.Resize %x, %s {operandSegmentSizes = array<i32: 1, 0, 1, 0>} : (tensor<1x3x?x8xf32, affine_map<()[s0] -> (1, 3, s0, 8)>>, tensor<4xf32>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}

// CHECK-LABEL: func.func @resize_rounds_down
// CHECK: onnx.Resize {{.*}} -> tensor<1x1x1x2xf32>
func.func @resize_rounds_down(%x: tensor<1x1x2x4xf32>) -> tensor<*xf32> {
  %s = onnx.Constant dense<[1.0, 1.0, 0.6, 0.6]> : tensor<4xf32>
  %0 = onnx.Resize %x, %s {operandSegmentSizes = array<i32: 1, 0, 1, 0>} : (tensor<1x1x2x4xf32>, tensor<4xf32>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}

// CHECK-LABEL: func.func @resize_keeps_the_aspect_ratio
// CHECK: onnx.Resize {{.*}} -> tensor<1x1x7x7xf32>
func.func @resize_keeps_the_aspect_ratio(%x: tensor<1x1x2x2xf32>) -> tensor<*xf32> {
  %s = onnx.Constant dense<[7, 8]> : tensor<2xi64>
  %0 = onnx.Resize %x, %s {axes = array<i64: 2, 3>, keep_aspect_ratio_policy = "not_larger", operandSegmentSizes = array<i32: 1, 0, 0, 1>} : (tensor<1x1x2x2xf32>, tensor<2xi64>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}

// CHECK-LABEL: func.func @grid_sample
// CHECK: onnx.GridSample {{.*}} -> tensor<2x3x6x7xf32>
func.func @grid_sample(%x: tensor<2x3x4x5xf32>, %grid: tensor<2x6x7x2xf32>) -> tensor<*xf32> {
  %0 = onnx.GridSample %x, %grid : (tensor<2x3x4x5xf32>, tensor<2x6x7x2xf32>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}

// CHECK-LABEL: func.func @conv_transpose
// CHECK: onnx.ConvTranspose {{.*}} -> tensor<1x6x9x10xf32>
func.func @conv_transpose(%x: tensor<1x4x5x5xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<*xf32> {
  %0 = onnx.ConvTranspose %x, %w {group = 2 : i64, strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>, output_padding = array<i64: 0, 1>} : (tensor<1x4x5x5xf32>, tensor<4x3x3x3xf32>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}

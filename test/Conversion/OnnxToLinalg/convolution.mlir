// RUN: onnx-aot-opt %s -onnx-infer-shapes -convert-onnx-to-linalg -split-input-file | FileCheck %s

// CHECK-DAG: #[[X:.*]] = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1 * 2 + d4, d2 + d5 * 2, d6)>
// CHECK-DAG: #[[W:.*]] = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d3, d6, d4, d5)>
// CHECK-DAG: #[[Y:.*]] = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)>
// CHECK-LABEL: func.func @channels_last
// CHECK: tensor.pad %{{.*}} low[0, 1, 1, 0] high[0, 1, 1, 0]
// CHECK: linalg.generic {indexing_maps = [#[[X]], #[[W]], #[[Y]]]
// CHECK-SAME: "parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"
// CHECK: arith.mulf
// CHECK-NEXT: arith.addf
// CHECK: linalg.generic
// CHECK: arith.addf
func.func @channels_last(%x: tensor<1x8x8x4xf32>, %w: tensor<6x4x3x3xf32>, %b: tensor<6xf32>) -> tensor<1x4x6x6xf32> {
  %0 = onnx.Conv %x, %w, %b {channels_last, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 2, 1>, dilations = array<i64: 1, 2>} : (tensor<1x8x8x4xf32>, tensor<6x4x3x3xf32>, tensor<6xf32>) -> tensor<1x4x6x6xf32>
  return %0 : tensor<1x4x6x6xf32>
}

// -----
// CHECK-DAG: #[[X:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1 + d4, d2 + d5, d3)>
// CHECK-DAG: #[[W:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, d4, d5)>
// CHECK-LABEL: func.func @depthwise_has_no_channel_reduction
// CHECK: tensor.collapse_shape
// CHECK: linalg.generic {indexing_maps = [#[[X]], #[[W]]
func.func @depthwise_has_no_channel_reduction(%x: tensor<1x8x8x4xf32>, %w: tensor<4x1x3x3xf32>) -> tensor<1x6x6x4xf32> {
  %0 = onnx.Conv %x, %w {channels_last, group = 4 : i64} : (tensor<1x8x8x4xf32>, tensor<4x1x3x3xf32>) -> tensor<1x6x6x4xf32>
  return %0 : tensor<1x6x6x4xf32>
}

// -----
// CHECK-LABEL: func.func @groups_are_an_iterator
// CHECK: tensor.expand_shape %{{.*}} {{\[\[}}0], [1, 2], [3]]
// CHECK: tensor.expand_shape %{{.*}} {{\[\[}}0, 1], [2], [3]]
// CHECK: linalg.generic
// CHECK-SAME: "parallel", "parallel", "parallel", "parallel", "reduction", "reduction"
// CHECK: tensor.collapse_shape
func.func @groups_are_an_iterator(%x: tensor<1x4x8xf32>, %w: tensor<6x2x3xf32>) -> tensor<1x6x6xf32> {
  %0 = onnx.Conv %x, %w {group = 2 : i64} : (tensor<1x4x8xf32>, tensor<6x2x3xf32>) -> tensor<1x6x6xf32>
  return %0 : tensor<1x6x6xf32>
}

// -----
// CHECK-LABEL: func.func @pool_pads_with_the_lowest
// CHECK: %[[LOW:.*]] = arith.constant 0xFF800000 : f32
// CHECK: tensor.pad
// CHECK: tensor.yield %[[LOW]]
// CHECK: arith.maximumf
func.func @pool_pads_with_the_lowest(%x: tensor<1x1x5x5xf32>) -> tensor<1x1x3x3xf32> {
  %0:2 = onnx.MaxPool %x {kernel_shape = array<i64: 3, 3>, strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>} : (tensor<1x1x5x5xf32>) -> (tensor<1x1x3x3xf32>, tensor<1x1x3x3xi64>)
  return %0#0 : tensor<1x1x3x3xf32>
}

// -----
// CHECK-LABEL: func.func @average_without_padding_divides_by_a_constant
// CHECK: %[[NINE:.*]] = arith.constant 9.0
// CHECK: arith.divf %{{.*}}, %[[NINE]]
func.func @average_without_padding_divides_by_a_constant(%x: tensor<1x1x5x5xf32>) -> tensor<1x1x3x3xf32> {
  %0 = onnx.AveragePool %x {kernel_shape = array<i64: 3, 3>} : (tensor<1x1x5x5xf32>) -> tensor<1x1x3x3xf32>
  return %0 : tensor<1x1x3x3xf32>
}

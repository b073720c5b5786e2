// RUN: onnx-aot-opt %s --convert-onnx-to-linalg | FileCheck %s

// dw is one contraction over the batch and the windows, with the filters last
// so that they are the lanes of a vector.

// CHECK: #[[X:.*]] = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d4, d2, d5 * 2 + d0, d6 * 2 + d1)>
// CHECK: #[[DY:.*]] = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d4, d3, d5, d6)>
// CHECK: #[[DW:.*]] = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)>
// CHECK-LABEL: @backward_weight
// CHECK: tensor.pad %{{.*}} low[0, 0, 1, 1] high[0, 0, 1, 1]
// CHECK: linalg.generic {indexing_maps = [#[[X]], #[[DY]], #[[DW]]], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
// CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<3x3x3x4xf32>) outs(%{{.*}} : tensor<4x3x3x3xf32>)
func.func @backward_weight(%x: tensor<2x3x8x8xf32>, %dy: tensor<2x4x4x4xf32>) -> tensor<4x3x3x3xf32> {
  %dw = train.ConvBackwardWeight %x, %dy {kernel_shape = array<i64: 3, 3>, strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>} : (tensor<2x3x8x8xf32>, tensor<2x4x4x4xf32>) -> tensor<4x3x3x3xf32>
  return %dw : tensor<4x3x3x3xf32>
}

// dy is spread, and the kernel turned round.

// CHECK-LABEL: @backward_data
// CHECK: tensor.insert_slice %{{.*}} into %{{.*}}[0, 0, 1, 1] [2, 4, 4, 4] [1, 1, 2, 2] : tensor<2x4x4x4xf32> into tensor<2x4x10x10xf32>
// CHECK: -> tensor<2x3x8x8xf32>
func.func @backward_data(%dy: tensor<2x4x4x4xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<2x3x8x8xf32> {
  %shape = onnx.Constant dense<[2, 3, 8, 8]> : tensor<4xi64>
  %dx = train.ConvBackwardData %dy, %w, %shape {strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>} : (tensor<2x4x4x4xf32>, tensor<4x3x3x3xf32>, tensor<4xi64>) -> tensor<2x3x8x8xf32>
  return %dx : tensor<2x3x8x8xf32>
}

// With channels last each remainder of the position is a convolution with its
// part of the kernel: 3x3 with strides of 2 in parts of 1x1, 1x2, 2x1 and 2x2.

// CHECK-LABEL: @backward_data_in_phases
// CHECK: tensor<3x4x1x1xf32>
// CHECK: tensor.insert_slice %{{.*}} into %{{.*}}[0, 0, 0, 0] [2, 4, 4, 3] [1, 2, 2, 1]
// CHECK: tensor<3x4x1x2xf32>
// CHECK: tensor.insert_slice %{{.*}} into %{{.*}}[0, 0, 1, 0] [2, 4, 4, 3] [1, 2, 2, 1]
// CHECK: tensor<3x4x2x2xf32>
// CHECK: tensor.insert_slice %{{.*}} into %{{.*}}[0, 1, 1, 0] [2, 4, 4, 3] [1, 2, 2, 1]
func.func @backward_data_in_phases(%dy: tensor<2x4x4x4xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<2x8x8x3xf32> {
  %shape = onnx.Constant dense<[2, 3, 8, 8]> : tensor<4xi64>
  %dx = train.ConvBackwardData %dy, %w, %shape {channels_last, strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>} : (tensor<2x4x4x4xf32>, tensor<4x3x3x3xf32>, tensor<4xi64>) -> tensor<2x8x8x3xf32>
  return %dx : tensor<2x8x8x3xf32>
}

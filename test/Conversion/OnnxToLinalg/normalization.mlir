// RUN: onnx-aot-opt %s -split-input-file -onnx-infer-shapes -convert-onnx-to-linalg | FileCheck %s

// CHECK-LABEL: func.func @layer_normalization
// CHECK: iterator_types = ["parallel", "reduction"]
// CHECK: iterator_types = ["parallel", "reduction"]
// CHECK: math.sqrt
// CHECK: iterator_types = ["parallel", "parallel"]
// CHECK: arith.mulf
func.func @layer_normalization(%x: tensor<2x4xf32>, %s: tensor<4xf32>) -> tensor<2x4xf32> {
  %0:3 = onnx.LayerNormalization %x, %s : (tensor<2x4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<2x1xf32>, tensor<2x1xf32>)
  return %0#0 : tensor<2x4xf32>
}
// -----
// CHECK-LABEL: func.func @batch_normalization_for_inference
// CHECK-SAME: %[[X:.*]]: tensor<?x3x5xf32>, %[[C:.*]]: tensor<3xf32>
// CHECK: math.sqrt
// CHECK: iterator_types = ["parallel", "parallel", "parallel"]
// CHECK-NOT: "reduction"
// CHECK: return %{{.*}}, %[[C]]
func.func @batch_normalization_for_inference(%x: tensor<?x3x5xf32>, %c: tensor<3xf32>) -> (tensor<?x3x5xf32>, tensor<3xf32>) {
  %0:3 = onnx.BatchNormalization %x, %c, %c, %c, %c : (tensor<?x3x5xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<?x3x5xf32>, tensor<3xf32>, tensor<3xf32>)
  return %0#0, %0#1 : tensor<?x3x5xf32>, tensor<3xf32>
}
// -----
// CHECK-LABEL: func.func @group_normalization_splits_the_channels
// CHECK: tensor.expand_shape %{{.*}} {{\[}}[0], [1, 2], [3]] {{.*}} into tensor<2x2x3x5xf32>
// CHECK: tensor.collapse_shape %{{.*}} {{\[}}[0], [1, 2], [3]]
func.func @group_normalization_splits_the_channels(%x: tensor<2x6x5xf32>, %c: tensor<6xf32>) -> tensor<2x6x5xf32> {
  %0 = onnx.GroupNormalization %x, %c, %c {num_groups = 2 : i64} : (tensor<2x6x5xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<2x6x5xf32>
  return %0 : tensor<2x6x5xf32>
}
// -----
// CHECK-DAG: #[[WINDOW:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d1 + d3, d2)>
// CHECK-LABEL: func.func @lrn_is_a_window_over_the_channels
// CHECK: tensor.pad %{{.*}} low[0, 1, 0] high[0, 2, 0]
// CHECK: indexing_maps = [#[[WINDOW]]
// CHECK-NOT: math.powf
func.func @lrn_is_a_window_over_the_channels(%x: tensor<2x6x5xf32>) -> tensor<2x6x5xf32> {
  %0 = onnx.LRN %x {size = 4 : i64} : (tensor<2x6x5xf32>) -> tensor<2x6x5xf32>
  return %0 : tensor<2x6x5xf32>
}

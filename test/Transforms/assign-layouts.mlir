// RUN: onnx-aot-opt %s -onnx-infer-shapes -onnx-assign-layouts -split-input-file | FileCheck %s

// One Transpose in, one out; bias, activation and residual in between.
// CHECK-LABEL: func.func @keeps_transposes_at_the_borders
// CHECK: %[[C:.*]] = onnx.Constant dense<{{.*}}> : tensor<1x1x1x4xf32>
// CHECK: %[[IN:.*]] = onnx.Transpose %{{.*}} {perm = array<i64: 0, 2, 3, 1>}
// CHECK: %[[A:.*]] = onnx.Conv %[[IN]], %{{.*}} {channels_last} {{.*}} -> tensor<1x8x8x4xf32>
// CHECK: %[[M:.*]] = onnx.Mul %[[A]], %[[C]]
// CHECK: %[[R:.*]] = onnx.Relu %[[M]]
// CHECK: %[[B:.*]] = onnx.Conv %[[R]], %{{.*}} {channels_last
// CHECK: %[[S:.*]] = onnx.Add %[[B]], %[[R]]
// CHECK: %[[OUT:.*]] = onnx.Transpose %[[S]] {perm = array<i64: 0, 3, 1, 2>}
// CHECK: return %[[OUT]]
func.func @keeps_transposes_at_the_borders(%x: tensor<1x32x8x8xf32>, %w: tensor<4x32x1x1xf32>, %v: tensor<4x4x3x3xf32>) -> tensor<*xf32> {
  %c = onnx.Constant dense<[[[1.0]], [[2.0]], [[3.0]], [[4.0]]]> : tensor<4x1x1xf32>
  %0 = onnx.Conv %x, %w : (tensor<1x32x8x8xf32>, tensor<4x32x1x1xf32>) -> tensor<*xf32>
  %1 = onnx.Mul %0, %c : (tensor<*xf32>, tensor<4x1x1xf32>) -> tensor<*xf32>
  %2 = onnx.Relu %1 : (tensor<*xf32>) -> tensor<*xf32>
  %3 = onnx.Conv %2, %v {pads = array<i64: 1, 1, 1, 1>} : (tensor<*xf32>, tensor<4x4x3x3xf32>) -> tensor<*xf32>
  %4 = onnx.Add %3, %2 : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  return %4 : tensor<*xf32>
}

// -----

// Pools and a depthwise Conv follow; a gate of 1 x 1 pixels is free to transpose;
// Concat, Split, Softmax, Pad, Slice and ReduceMean name other dimensions.
// CHECK-LABEL: func.func @moves_through_axes
// CHECK: %[[P:.*]] = onnx.Constant dense<[0, 1, 3, 0, 0, 2, 4, 0]>
// CHECK: onnx.Transpose
// CHECK-NOT: onnx.Transpose
// CHECK: onnx.Conv {{.*}}channels_last
// CHECK: onnx.MaxPool {{.*}}channels_last
// CHECK: onnx.Conv {{.*}}channels_last, group = 4
// CHECK: %[[G:.*]] = onnx.GlobalAveragePool {{.*}}channels_last{{.*}} -> tensor<1x1x1x4xf32>
// CHECK: onnx.Mul %{{.*}}, %[[G]]
// CHECK: onnx.Concat {{.*}}axis = 3 : i64
// CHECK: onnx.Split {{.*}}axis = 3 : i64
// CHECK: onnx.Softmax {{.*}}axis = 3 : i64
// CHECK: onnx.Pad %{{.*}}, %[[P]]
// CHECK: onnx.ReduceMean {{.*}} -> tensor<1x4xf32>
// CHECK-NOT: onnx.Transpose
// CHECK: return
func.func @moves_through_axes(%x: tensor<1x32x8x8xf32>, %w: tensor<4x32x1x1xf32>, %d: tensor<4x1x3x3xf32>) -> tensor<*xf32> {
  %pads = onnx.Constant dense<[0, 0, 1, 3, 0, 0, 2, 4]> : tensor<8xi64>
  %axes = onnx.Constant dense<[2, 3]> : tensor<2xi64>
  %0 = onnx.Conv %x, %w : (tensor<1x32x8x8xf32>, tensor<4x32x1x1xf32>) -> tensor<*xf32>
  %1:2 = onnx.MaxPool %0 {kernel_shape = array<i64: 2, 2>} : (tensor<*xf32>) -> (tensor<*xf32>, tensor<*xi64>)
  %2 = onnx.Conv %1#0, %d {group = 4 : i64} : (tensor<*xf32>, tensor<4x1x3x3xf32>) -> tensor<*xf32>
  %3 = onnx.GlobalAveragePool %2 : (tensor<*xf32>) -> tensor<*xf32>
  %4 = onnx.Mul %2, %3 : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  %5 = onnx.Concat %4, %2 {axis = 1 : i64} : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  %6:2 = onnx.Split %5 {axis = -3 : i64, num_outputs = 2 : i64} : (tensor<*xf32>) -> (tensor<*xf32>, tensor<*xf32>)
  %7 = onnx.Softmax %6#0 {axis = 1 : i64} : (tensor<*xf32>) -> tensor<*xf32>
  %8 = onnx.Pad %7, %pads {operandSegmentSizes = array<i32: 1, 1, 0, 0>} : (tensor<*xf32>, tensor<8xi64>) -> tensor<*xf32>
  %9 = onnx.ReduceMean %8, %axes {keepdims = 0 : i64} : (tensor<*xf32>, tensor<2xi64>) -> tensor<*xf32>
  return %9 : tensor<*xf32>
}

// -----

// 27 multiplications an output do not pay for transposes.
// CHECK-LABEL: func.func @leaves_a_small_convolution
// CHECK-NOT: channels_last
// CHECK: return
func.func @leaves_a_small_convolution(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<*xf32> {
  %0 = onnx.Conv %x, %w : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}

// -----

// Its indices count elements channels first.
// CHECK-LABEL: func.func @leaves_a_pool_with_indices
// CHECK: onnx.Conv {{.*}}channels_last
// CHECK: onnx.Transpose
// CHECK: onnx.MaxPool %{{.*}} {kernel_shape = array<i64: 2, 2>}
func.func @leaves_a_pool_with_indices(%x: tensor<1x32x8x8xf32>, %w: tensor<4x32x1x1xf32>) -> (tensor<*xf32>, tensor<*xi64>) {
  %0 = onnx.Conv %x, %w : (tensor<1x32x8x8xf32>, tensor<4x32x1x1xf32>) -> tensor<*xf32>
  %1:2 = onnx.MaxPool %0 {kernel_shape = array<i64: 2, 2>} : (tensor<*xf32>) -> (tensor<*xf32>, tensor<*xi64>)
  return %1#0, %1#1 : tensor<*xf32>, tensor<*xi64>
}

// -----

// CHECK-LABEL: func.func @turns_moves_of_unit_dimensions_into_reshapes
// CHECK-NOT: onnx.Transpose
// CHECK: -> tensor<?x1x1x4xf32
func.func @turns_moves_of_unit_dimensions_into_reshapes(%x: tensor<?x4x1x1xf32, affine_map<()[s0] -> (s0, 4, 1, 1)>>) -> tensor<*xf32> {
  %0 = onnx.Transpose %x {perm = array<i64: 0, 2, 3, 1>} : (tensor<?x4x1x1xf32, affine_map<()[s0] -> (s0, 4, 1, 1)>>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}

// -----

// CHECK-LABEL: func.func @moves_through_resize
// CHECK: onnx.Conv {{.*}}channels_last
// CHECK: onnx.Resize {{.*}}axes = array<i64: 0, 3, 1, 2>{{.*}} -> tensor<1x16x24x4xf32>
// CHECK: onnx.Transpose
func.func @moves_through_resize(%x: tensor<1x32x8x8xf32>, %w: tensor<4x32x1x1xf32>) -> tensor<*xf32> {
  %scales = onnx.Constant dense<[1.0, 1.0, 2.0, 3.0]> : tensor<4xf32>
  %0 = onnx.Conv %x, %w : (tensor<1x32x8x8xf32>, tensor<4x32x1x1xf32>) -> tensor<*xf32>
  %1 = onnx.Resize %0, %scales {operandSegmentSizes = array<i32: 1, 0, 1, 0>} : (tensor<*xf32>, tensor<4xf32>) -> tensor<*xf32>
  return %1 : tensor<*xf32>
}

// -----

// What is not known of a size stays not known in the other layout: the channels'
// 4 must not become a height.
// CHECK-LABEL: func.func @keeps_unknown_sizes_unknown
// CHECK: onnx.Add %{{.*}} -> tensor<1x?x?x4xf32
// CHECK: onnx.Transpose {{.*}} -> tensor<1x4x?x?xf32
func.func @keeps_unknown_sizes_unknown(%x: tensor<1x32x?x?xf32, affine_map<()[s0, s1, s2, s3] -> (1, 32, s0, s1)>>, %y: tensor<1x32x?x?xf32, affine_map<()[s0, s1, s2, s3] -> (1, 32, s2, s3)>>, %w: tensor<4x32x1x1xf32>) -> tensor<*xf32> {
  %0 = onnx.Conv %x, %w : (tensor<1x32x?x?xf32, affine_map<()[s0, s1, s2, s3] -> (1, 32, s0, s1)>>, tensor<4x32x1x1xf32>) -> tensor<*xf32>
  %1 = onnx.Conv %y, %w : (tensor<1x32x?x?xf32, affine_map<()[s0, s1, s2, s3] -> (1, 32, s2, s3)>>, tensor<4x32x1x1xf32>) -> tensor<*xf32>
  %2 = onnx.Add %0, %1 : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  return %2 : tensor<*xf32>
}

// -----

// The first Conv has few channels, but its output is wanted channels-last.
// CHECK-LABEL: func.func @follows_what_its_output_is_for
// CHECK: onnx.Transpose
// CHECK: onnx.Conv {{.*}}channels_last
// CHECK: onnx.Relu
// CHECK: onnx.Conv {{.*}}channels_last
func.func @follows_what_its_output_is_for(%x: tensor<1x3x8x8xf32>, %w: tensor<32x3x1x1xf32>, %v: tensor<4x32x1x1xf32>) -> tensor<*xf32> {
  %0 = onnx.Conv %x, %w : (tensor<1x3x8x8xf32>, tensor<32x3x1x1xf32>) -> tensor<*xf32>
  %1 = onnx.Relu %0 : (tensor<*xf32>) -> tensor<*xf32>
  %2 = onnx.Conv %1, %v : (tensor<*xf32>, tensor<4x32x1x1xf32>) -> tensor<*xf32>
  return %2 : tensor<*xf32>
}

// -----

// What is the same for all of an image goes along, in either layout its samples
// and channels lie in one order.
// CHECK-LABEL: func.func @takes_along_what_an_image_shares
// CHECK: onnx.Conv {{.*}}channels_last
// CHECK: onnx.Mul {{.*}} -> tensor<2x8x8x32xf32>
// CHECK: onnx.Transpose
func.func @takes_along_what_an_image_shares(%x: tensor<2x32x8x8xf32>, %w: tensor<32x32x1x1xf32>, %s: tensor<2x32x1x1xf32>) -> tensor<*xf32> {
  %0 = onnx.Conv %x, %w : (tensor<2x32x8x8xf32>, tensor<32x32x1x1xf32>) -> tensor<*xf32>
  %1 = onnx.Mul %0, %s : (tensor<*xf32>, tensor<2x32x1x1xf32>) -> tensor<*xf32>
  return %1 : tensor<*xf32>
}

// -----

// Gradients follow: that in x as a convolution, that in w where a factor lies
// channels last.
// CHECK-LABEL: func.func @lays_gradients_out
// CHECK: train.ConvBackwardData {{.*}}channels_last
// CHECK: train.ConvBackwardWeight {{.*}}channels_last
func.func @lays_gradients_out(%x: tensor<2x8x8x8xf32>, %dy: tensor<2x32x8x8xf32>, %w: tensor<32x8x1x1xf32>, %v: tensor<8x8x1x1xf32>, %shape: tensor<4xi64>) -> (tensor<*xf32>, tensor<*xf32>) {
  %0 = train.ConvBackwardData %dy, %w, %shape : (tensor<2x32x8x8xf32>, tensor<32x8x1x1xf32>, tensor<4xi64>) -> tensor<*xf32>
  %1 = train.ConvBackwardWeight %x, %0 {kernel_shape = array<i64: 1, 1>} : (tensor<2x8x8x8xf32>, tensor<*xf32>) -> tensor<*xf32>
  return %0, %1 : tensor<*xf32>, tensor<*xf32>
}

// -----

// What dynamic quantization makes of activations lies as they do: transposes
// stay at the borders, whichever convolution the layout comes from.
// CHECK-LABEL: func.func @quantizes_in_either_layout
// CHECK: onnx.Transpose %arg0
// CHECK-NOT: onnx.Transpose
// CHECK: onnx.ConvInteger {{.*}}channels_last
// CHECK-NOT: onnx.Transpose
// CHECK: onnx.DynamicQuantizeLinear {{.*}} : (tensor<1x8x8x32xf32>) -> (tensor<1x8x8x32xui8>, tensor<f32>, tensor<ui8>)
// CHECK-NOT: onnx.Transpose
// CHECK: onnx.ConvInteger {{.*}}channels_last
// CHECK: onnx.Transpose
// CHECK-NOT: onnx.Transpose
// CHECK: return
func.func @quantizes_in_either_layout(%x: tensor<1x3x8x8xui8>, %p: tensor<ui8>, %w: tensor<32x3x1x1xi8>, %v: tensor<8x32x1x1xi8>) -> tensor<*xi32> {
  %0 = onnx.ConvInteger %x, %w, %p {operandSegmentSizes = array<i32: 1, 1, 1, 0>} : (tensor<1x3x8x8xui8>, tensor<32x3x1x1xi8>, tensor<ui8>) -> tensor<*xi32>
  %1 = onnx.Cast %0 {to = 1 : i64} : (tensor<*xi32>) -> tensor<*xf32>
  %y, %s, %z = onnx.DynamicQuantizeLinear %1 : (tensor<*xf32>) -> (tensor<*xui8>, tensor<f32>, tensor<ui8>)
  %2 = onnx.ConvInteger %y, %v, %z {operandSegmentSizes = array<i32: 1, 1, 1, 0>} : (tensor<*xui8>, tensor<8x32x1x1xi8>, tensor<ui8>) -> tensor<*xi32>
  return %2 : tensor<*xi32>
}

// -----

// Behind a convolution that is channels last the transpose goes on down.
// CHECK-LABEL: func.func @quantizes_before_the_transpose
// CHECK: onnx.Conv {{.*}}channels_last
// CHECK: %[[Y:.*]], %[[S:.*]], %[[Z:.*]] = onnx.DynamicQuantizeLinear {{.*}} : (tensor<1x8x8x4xf32>)
// CHECK: %[[T:.*]] = onnx.Transpose %[[Y]] {perm = array<i64: 0, 3, 1, 2>}
// CHECK: return %[[T]], %[[S]], %[[Z]]
func.func @quantizes_before_the_transpose(%x: tensor<1x32x8x8xf32>, %w: tensor<4x32x1x1xf32>) -> (tensor<*xui8>, tensor<f32>, tensor<ui8>) {
  %0 = onnx.Conv %x, %w : (tensor<1x32x8x8xf32>, tensor<4x32x1x1xf32>) -> tensor<*xf32>
  %y, %s, %z = onnx.DynamicQuantizeLinear %0 : (tensor<*xf32>) -> (tensor<*xui8>, tensor<f32>, tensor<ui8>)
  return %y, %s, %z : tensor<*xui8>, tensor<f32>, tensor<ui8>
}

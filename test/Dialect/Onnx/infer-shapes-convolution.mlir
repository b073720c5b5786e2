// RUN: onnx-aot-opt %s -onnx-infer-shapes | FileCheck %s

// CHECK-DAG: #[[Y:.*]] = affine_map<()[s0, s1] -> (s0, 8, (s1 - 1) floordiv 2 + 1, 5)>
// CHECK-LABEL: func.func @conv_keeps_symbols
// CHECK: onnx.Conv {{.*}} -> tensor<?x8x?x5xf32, #[[Y]]>
func.func @conv_keeps_symbols(
    %x: tensor<?x4x?x5xf32, affine_map<()[s0, s1] -> (s0, 4, s1, 5)>>,
    %w: tensor<8x4x3x3xf32>) -> tensor<*xf32> {
  %0 = onnx.Conv %x, %w {pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 2, 1>} : (tensor<?x4x?x5xf32, affine_map<()[s0, s1] -> (s0, 4, s1, 5)>>, tensor<8x4x3x3xf32>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}

// CHECK-LABEL: func.func @conv_channels_last
// CHECK: onnx.Conv {{.*}} -> tensor<1x3x3x8xf32>
func.func @conv_channels_last(%x: tensor<1x5x5x4xf32>, %w: tensor<8x4x3x3xf32>) -> tensor<*xf32> {
  %0 = onnx.Conv %x, %w {channels_last} : (tensor<1x5x5x4xf32>, tensor<8x4x3x3xf32>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}

// CHECK-LABEL: func.func @conv_same_pads
// CHECK: onnx.Conv {{.*}} -> tensor<1x8x4x4xf32>
func.func @conv_same_pads(%x: tensor<1x4x7x8xf32>, %w: tensor<8x4x3x3xf32>) -> tensor<*xf32> {
  %0 = onnx.Conv %x, %w {auto_pad = "SAME_UPPER", strides = array<i64: 2, 2>} : (tensor<1x4x7x8xf32>, tensor<8x4x3x3xf32>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}

// No window starts in the end padding: 3 windows, not 4.
// CHECK-LABEL: func.func @pool_leaves_out_windows_in_padding
// CHECK: onnx.MaxPool {{.*}} -> (tensor<1x1x3x3xf32>, tensor<1x1x3x3xi64>)
func.func @pool_leaves_out_windows_in_padding(%x: tensor<1x1x5x5xf32>) -> tensor<*xf32> {
  %0:2 = onnx.MaxPool %x {kernel_shape = array<i64: 1, 1>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 1, 1>, ceil_mode = 1 : i64} : (tensor<1x1x5x5xf32>) -> (tensor<*xf32>, tensor<*xi64>)
  return %0#0 : tensor<*xf32>
}

// CHECK-LABEL: func.func @global_pool
// CHECK: onnx.GlobalAveragePool {{.*}} -> tensor<2x3x1x1xf32>
func.func @global_pool(%x: tensor<2x3x4x5xf32>) -> tensor<*xf32> {
  %0 = onnx.GlobalAveragePool %x : (tensor<2x3x4x5xf32>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}

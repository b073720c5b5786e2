// RUN: onnx-aot-opt %s -onnx-canonicalize -split-input-file | FileCheck %s

// CHECK-LABEL: func.func @takes_padding_into_conv
// CHECK-SAME: (%[[X:.*]]: tensor<1x1x4x4xf32>
// CHECK: onnx.Conv %[[X]], %{{.*}} {pads = array<i64: 2, 3, 4, 5>}
// CHECK-NOT: onnx.Pad
func.func @takes_padding_into_conv(%x: tensor<1x1x4x4xf32>, %w: tensor<2x1x3x3xf32>) -> tensor<1x2x8x10xf32> {
  %pads = onnx.Constant dense<[0, 0, 1, 2, 0, 0, 3, 4]> : tensor<8xi64>
  %0 = onnx.Pad %x, %pads {operandSegmentSizes = array<i32: 1, 1, 0, 0>} : (tensor<1x1x4x4xf32>, tensor<8xi64>) -> tensor<1x1x8x10xf32>
  %1 = onnx.Conv %0, %w {pads = array<i64: 1, 1, 1, 1>} : (tensor<1x1x8x10xf32>, tensor<2x1x3x3xf32>) -> tensor<1x2x8x10xf32>
  return %1 : tensor<1x2x8x10xf32>
}

// -----

// Channels, ones, reflections, and what is cut off are no padding of a Conv.
// CHECK-LABEL: func.func @keeps_other_padding
// CHECK-COUNT-4: onnx.Pad
func.func @keeps_other_padding(%x: tensor<1x1x4x4xf32>, %w: tensor<2x1x3x3xf32>, %v: tensor<2x2x3x3xf32>) -> (tensor<1x2x2x2xf32>, tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>, tensor<1x2x1x2xf32>) {
  %one = onnx.Constant dense<1.0> : tensor<f32>
  %channels = onnx.Constant dense<[0, 1, 0, 0, 0, 0, 0, 0]> : tensor<8xi64>
  %pads = onnx.Constant dense<[0, 0, 1, 1, 0, 0, 1, 1]> : tensor<8xi64>
  %cut = onnx.Constant dense<[0, 0, -1, 0, 0, 0, 0, 0]> : tensor<8xi64>
  %0 = onnx.Pad %x, %channels {operandSegmentSizes = array<i32: 1, 1, 0, 0>} : (tensor<1x1x4x4xf32>, tensor<8xi64>) -> tensor<1x2x4x4xf32>
  %1 = onnx.Conv %0, %v : (tensor<1x2x4x4xf32>, tensor<2x2x3x3xf32>) -> tensor<1x2x2x2xf32>
  %2 = onnx.Pad %x, %pads, %one {operandSegmentSizes = array<i32: 1, 1, 1, 0>} : (tensor<1x1x4x4xf32>, tensor<8xi64>, tensor<f32>) -> tensor<1x1x6x6xf32>
  %3 = onnx.Conv %2, %w : (tensor<1x1x6x6xf32>, tensor<2x1x3x3xf32>) -> tensor<1x2x4x4xf32>
  %4 = onnx.Pad %x, %pads {mode = "reflect", operandSegmentSizes = array<i32: 1, 1, 0, 0>} : (tensor<1x1x4x4xf32>, tensor<8xi64>) -> tensor<1x1x6x6xf32>
  %5 = onnx.Conv %4, %w : (tensor<1x1x6x6xf32>, tensor<2x1x3x3xf32>) -> tensor<1x2x4x4xf32>
  %6 = onnx.Pad %x, %cut {operandSegmentSizes = array<i32: 1, 1, 0, 0>} : (tensor<1x1x4x4xf32>, tensor<8xi64>) -> tensor<1x1x3x4xf32>
  %7 = onnx.Conv %6, %w : (tensor<1x1x3x4xf32>, tensor<2x1x3x3xf32>) -> tensor<1x2x1x2xf32>
  return %1, %3, %5, %7 : tensor<1x2x2x2xf32>, tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>, tensor<1x2x1x2xf32>
}

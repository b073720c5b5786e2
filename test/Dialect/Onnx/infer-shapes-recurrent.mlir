// RUN: onnx-aot-opt %s -onnx-infer-shapes | FileCheck %s

// CHECK-DAG: #[[Y:.*]] = affine_map<()[s0, s1] -> (s0, 2, s1, 5)>
// CHECK-DAG: #[[H:.*]] = affine_map<()[s0, s1] -> (2, s1, 5)>
// CHECK-LABEL: func.func @bidirectional_lstm
// CHECK: onnx.LSTM {{.*}} -> (tensor<?x2x?x5xf32, #[[Y]]>, tensor<2x?x5xf32, #[[H]]>, tensor<2x?x5xf32, #[[H]]>)
func.func @bidirectional_lstm(
    %x: tensor<?x?x3xf32, affine_map<()[s0, s1] -> (s0, s1, 3)>>,
    %w: tensor<2x20x3xf32>, %r: tensor<2x20x5xf32>) -> tensor<*xf32> {
  %0:3 = onnx.LSTM %x, %w, %r {direction = "bidirectional", hidden_size = 5 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>} : (tensor<?x?x3xf32, affine_map<()[s0, s1] -> (s0, s1, 3)>>, tensor<2x20x3xf32>, tensor<2x20x5xf32>) -> (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>)
  return %0#0 : tensor<*xf32>
}

// CHECK-LABEL: func.func @gru_with_the_batch_first
// CHECK: onnx.GRU {{.*}} -> (tensor<4x7x1x5xf32>, tensor<4x1x5xf32>)
func.func @gru_with_the_batch_first(%x: tensor<4x7x3xf32>, %w: tensor<1x15x3xf32>, %r: tensor<1x15x5xf32>) -> tensor<*xf32> {
  %0:2 = onnx.GRU %x, %w, %r {layout = 1 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>} : (tensor<4x7x3xf32>, tensor<1x15x3xf32>, tensor<1x15x5xf32>) -> (tensor<*xf32>, tensor<*xf32>)
  return %0#0 : tensor<*xf32>
}

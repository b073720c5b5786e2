// RUN: onnx-aot-opt %s -onnx-infer-shapes -convert-onnx-to-linalg | FileCheck %s

// CHECK-LABEL: func.func @adds_with_a_symbolic_batch
// CHECK-SAME: (%[[A:.*]]: tensor<?x4xf32>, %[[B:.*]]: tensor<4xf32>) -> tensor<?x4xf32>
// CHECK: %[[N:.*]] = tensor.dim %[[A]]
// CHECK: %[[E:.*]] = tensor.empty(%[[N]])
// CHECK: linalg.generic
// CHECK-SAME: ins(%[[A]], %[[B]] : tensor<?x4xf32>, tensor<4xf32>) outs(%[[E]] : tensor<?x4xf32>)
// CHECK: arith.addf
// CHECK: arith.maximumf
func.func @adds_with_a_symbolic_batch(
    %a: tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>>, %b: tensor<4xf32>)
    -> tensor<*xf32> {
  %0 = onnx.Add %a, %b : (tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>>, tensor<4xf32>) -> tensor<*xf32>
  %1 = onnx.Relu %0 : (tensor<*xf32>) -> tensor<*xf32>
  return %1 : tensor<*xf32>
}

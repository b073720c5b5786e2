// RUN: onnx-aot-opt %s -split-input-file -onnx-infer-shapes -convert-onnx-to-linalg | FileCheck %s

// A target that is no class is never read.
// CHECK-LABEL: func.func @targets_are_kept_in_range
// CHECK: %[[CLASS:.*]] = arith.andi
// CHECK: %[[SAFE:.*]] = arith.select %[[CLASS]], %{{.*}}, %c0
// CHECK: tensor.extract %{{.*}}[%{{.*}}, %[[SAFE]]]
// CHECK: arith.select %[[CLASS]], %{{.*}}, %cst
func.func @targets_are_kept_in_range(%x: tensor<2x3xf32>, %t: tensor<2xi64>) -> tensor<f32> {
  %0 = onnx.NegativeLogLikelihoodLoss %x, %t : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<f32>
  return %0 : tensor<f32>
}
// -----
// The mean is over the targets that count.
// CHECK-LABEL: func.func @ignored_targets_have_no_weight
// CHECK: math.log
// CHECK: arith.cmpi ne, %{{.*}}, %c-1
// CHECK: arith.cmpi ne, %{{.*}}, %c-1
// CHECK: arith.divf
func.func @ignored_targets_have_no_weight(%x: tensor<2x3xf32>, %t: tensor<2xi64>) -> tensor<f32> {
  %0:2 = onnx.SoftmaxCrossEntropyLoss %x, %t {ignore_index = -1 : i64} : (tensor<2x3xf32>, tensor<2xi64>) -> (tensor<f32>, tensor<2x3xf32>)
  return %0#0 : tensor<f32>
}

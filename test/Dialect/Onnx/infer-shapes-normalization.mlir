// RUN: onnx-aot-opt %s -onnx-infer-shapes | FileCheck %s

// CHECK-LABEL: func.func @statistics_and_losses
func.func @statistics_and_losses(%x: tensor<2x3x4xf16>, %s: tensor<4xf16>, %t: tensor<2x4xi64>) {
  // CHECK: onnx.LayerNormalization {{.*}} -> (tensor<2x3x4xf16>, tensor<2x3x1xf32>, tensor<2x3x1xf32>)
  %0:3 = onnx.LayerNormalization %x, %s : (tensor<2x3x4xf16>, tensor<4xf16>) -> (tensor<*xf16>, tensor<*xf16>, tensor<*xf16>)
  // CHECK: onnx.SoftmaxCrossEntropyLoss {{.*}} -> (tensor<f16>, tensor<2x3x4xf16>)
  %1:2 = onnx.SoftmaxCrossEntropyLoss %x, %t : (tensor<2x3x4xf16>, tensor<2x4xi64>) -> (tensor<*xf16>, tensor<*xf16>)
  // CHECK: onnx.NegativeLogLikelihoodLoss {{.*}} -> tensor<2x4xf16>
  %2 = onnx.NegativeLogLikelihoodLoss %x, %t {reduction = "none"} : (tensor<2x3x4xf16>, tensor<2x4xi64>) -> tensor<*xf16>
  return
}

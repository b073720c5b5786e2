// RUN: onnx-aot-opt %s -onnx-infer-shapes -convert-onnx-to-linalg | FileCheck %s

// Sizes that no loop compares: where only the run knows them, it does.

// CHECK-LABEL: func.func @weight_per_class
func.func @weight_per_class(%x: tensor<4x?xf32>, %t: tensor<4xi64>,
                            %w: tensor<?xf32>) -> tensor<f32> {
  // CHECK: %[[FITS:.*]] = arith.cmpi eq
  // CHECK: cf.assert %[[FITS]], "{{.*}}the weights and the classes"
  // CHECK-NOT: the scores and the targets
  %0 = onnx.NegativeLogLikelihoodLoss %x, %t, %w : (tensor<4x?xf32>, tensor<4xi64>, tensor<?xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// CHECK-LABEL: func.func @dropped_is_one
func.func @dropped_is_one(%x: tensor<?x4xf32>) -> tensor<4xf32> {
  %axes = onnx.Constant dense<0> : tensor<1xi64>
  // CHECK: cf.assert {{.*}}a dimension to drop is not 1
  %0 = onnx.Squeeze %x, %axes : (tensor<?x4xf32>, tensor<1xi64>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func.func @known_sizes
func.func @known_sizes(%x: tensor<1x4xf32>) -> tensor<4xf32> {
  %axes = onnx.Constant dense<0> : tensor<1xi64>
  // CHECK-NOT: cf.assert
  %0 = onnx.Squeeze %x, %axes : (tensor<1x4xf32>, tensor<1xi64>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

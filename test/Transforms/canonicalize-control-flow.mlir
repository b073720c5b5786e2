// RUN: onnx-aot-opt %s -onnx-canonicalize -split-input-file | FileCheck %s

// CHECK-LABEL: func.func @inlines_the_branch_taken
// CHECK-SAME: (%[[X:.*]]: tensor<3xf32>)
// CHECK-NEXT: %[[R:.*]] = onnx.Relu %[[X]]
// CHECK-NEXT: return %[[R]]
func.func @inlines_the_branch_taken(%x: tensor<3xf32>) -> tensor<3xf32> {
  %true = onnx.Constant dense<true> : tensor<i1>
  %0 = onnx.If %true then {
    %1 = onnx.Relu %x : (tensor<3xf32>) -> tensor<3xf32>
    onnx.Yield %1 : tensor<3xf32>
  } else {
    %2 = onnx.Neg %x : (tensor<3xf32>) -> tensor<3xf32>
    onnx.Yield %2 : tensor<3xf32>
  } : (tensor<i1>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// -----

// CHECK-LABEL: func.func @keeps_an_open_branch
// CHECK: onnx.If
func.func @keeps_an_open_branch(%c: tensor<i1>, %x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = onnx.If %c then {
    %1 = onnx.Relu %x : (tensor<3xf32>) -> tensor<3xf32>
    onnx.Yield %1 : tensor<3xf32>
  } else {
    onnx.Yield %x : tensor<3xf32>
  } : (tensor<i1>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// -----

// CHECK-LABEL: func.func @drops_dropout_outside_training
// CHECK-SAME: (%[[X:.*]]: tensor<3xf32>)
// CHECK: %[[KEPT:.*]], %{{.*}} = onnx.Dropout
// CHECK: return %[[X]], %[[KEPT]]
func.func @drops_dropout_outside_training(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %ratio = onnx.Constant dense<0.5> : tensor<f32>
  %true = onnx.Constant dense<true> : tensor<i1>
  %0, %m0 = onnx.Dropout %x, %ratio {operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<3xf32>, tensor<f32>) -> (tensor<3xf32>, tensor<3xi1>)
  %1, %m1 = onnx.Dropout %x, %ratio, %true {operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<3xf32>, tensor<f32>, tensor<i1>) -> (tensor<3xf32>, tensor<3xi1>)
  return %0, %1 : tensor<3xf32>, tensor<3xf32>
}

// RUN: onnx-aot-opt %s -onnx-fold-constants="max-growth-bytes=64" -split-input-file | FileCheck %s
// RUN: onnx-aot-opt %s -onnx-fold-constants="max-growth-bytes=64 max-total-bytes=0" -split-input-file | FileCheck %s --check-prefix=BUDGET

// What an attacker's 20 bytes must not turn into terabytes.
// CHECK-LABEL: func.func @keeps_what_grows
// CHECK: onnx.ConstantOfShape
// CHECK: onnx.Expand
func.func @keeps_what_grows() -> (tensor<1048576x1048576xf32>, tensor<99999x99999xf32>) {
  %s = onnx.Constant dense<1048576> : tensor<2xi64>
  %0 = onnx.ConstantOfShape %s : (tensor<2xi64>) -> tensor<1048576x1048576xf32>
  %t = onnx.Constant dense<99999> : tensor<2xi64>
  %v = onnx.Constant dense<1.0> : tensor<1xf32>
  %1 = onnx.Expand %v, %t : (tensor<1xf32>, tensor<2xi64>) -> tensor<99999x99999xf32>
  return %0, %1 : tensor<1048576x1048576xf32>, tensor<99999x99999xf32>
}

// -----

// A large weight with two users would be stored twice.
// CHECK-LABEL: func.func @keeps_shared_weights
// CHECK: onnx.Neg
// BUDGET-LABEL: func.func @keeps_shared_weights
func.func @keeps_shared_weights() -> (tensor<17xf32>, tensor<17xf32>) {
  %w = onnx.Constant dense<[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0]> : tensor<17xf32>
  %0 = onnx.Neg %w : (tensor<17xf32>) -> tensor<17xf32>
  return %w, %0 : tensor<17xf32>, tensor<17xf32>
}

// -----

// CHECK-LABEL: func.func @folds_weights_of_one_user
// CHECK-NOT: onnx.Neg
// BUDGET-LABEL: func.func @folds_weights_of_one_user
// BUDGET: onnx.Neg
func.func @folds_weights_of_one_user() -> tensor<17xf32> {
  %w = onnx.Constant dense<[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0]> : tensor<17xf32>
  %0 = onnx.Neg %w : (tensor<17xf32>) -> tensor<17xf32>
  return %0 : tensor<17xf32>
}

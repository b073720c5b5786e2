// RUN: onnx-aot-opt %s -onnx-canonicalize -split-input-file | FileCheck %s

// CHECK-LABEL: func.func @takes_swaps_into_gemm
// CHECK-SAME: (%[[A:.*]]: tensor<4x3xf32>, %[[B:.*]]: tensor<5x4xf32>)
// CHECK-NEXT: onnx.Gemm %[[A]], %[[B]] {trans_a = 1 : i64, trans_b = 1 : i64}
func.func @takes_swaps_into_gemm(%a: tensor<4x3xf32>, %b: tensor<5x4xf32>) -> tensor<3x5xf32> {
  %0 = onnx.Transpose %a {perm = array<i64: 1, 0>} : (tensor<4x3xf32>) -> tensor<3x4xf32>
  %1 = onnx.Gemm %0, %b {trans_b = 1 : i64} : (tensor<3x4xf32>, tensor<5x4xf32>) -> tensor<3x5xf32>
  return %1 : tensor<3x5xf32>
}

// -----

// A Transpose that leaves everything in place is no swap (and goes by itself).
// CHECK-LABEL: func.func @takes_no_identity_into_gemm
// CHECK-SAME: (%[[A:.*]]: tensor<4x4xf32>)
// CHECK-NEXT: onnx.MatMul %[[A]], %[[A]]
func.func @takes_no_identity_into_gemm(%a: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = onnx.Transpose %a {perm = array<i64: 0, 1>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = onnx.MatMul %0, %a : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}

// -----

// CHECK-LABEL: func.func @makes_gemm_of_matmul
// CHECK: onnx.Gemm %{{.*}}, %{{.*}} {{{.*}}trans_b = 1 : i64}
// A batched product has no such attribute.
// CHECK: onnx.Transpose
// CHECK: onnx.MatMul
func.func @makes_gemm_of_matmul(%a: tensor<2x3xf32>, %b: tensor<5x3xf32>, %c: tensor<7x2x3xf32>) -> (tensor<2x5xf32>, tensor<7x2x2xf32>) {
  %0 = onnx.Transpose %b {perm = array<i64: 1, 0>} : (tensor<5x3xf32>) -> tensor<3x5xf32>
  %1 = onnx.MatMul %a, %0 : (tensor<2x3xf32>, tensor<3x5xf32>) -> tensor<2x5xf32>
  %2 = onnx.Transpose %c {perm = array<i64: 0, 2, 1>} : (tensor<7x2x3xf32>) -> tensor<7x3x2xf32>
  %3 = onnx.MatMul %c, %2 : (tensor<7x2x3xf32>, tensor<7x3x2xf32>) -> tensor<7x2x2xf32>
  return %1, %3 : tensor<2x5xf32>, tensor<7x2x2xf32>
}

// -----

// The third operand is no matrix to take a Transpose from: nothing to do, and the
// driver must come to an end.
// CHECK-LABEL: func.func @keeps_a_transposed_bias
// CHECK: onnx.Transpose
// CHECK: onnx.Gemm
func.func @keeps_a_transposed_bias(%a: tensor<2x3xf32>, %b: tensor<3x5xf32>, %c: tensor<5x2xf32>) -> tensor<2x5xf32> {
  %0 = onnx.Transpose %c {perm = array<i64: 1, 0>} : (tensor<5x2xf32>) -> tensor<2x5xf32>
  %1 = onnx.Gemm %a, %b, %0 : (tensor<2x3xf32>, tensor<3x5xf32>, tensor<2x5xf32>) -> tensor<2x5xf32>
  return %1 : tensor<2x5xf32>
}

// -----

// Gradients of weights that a model stores turned: the product comes out as they are stored.
// CHECK-LABEL: func.func @exchanges_factors_of_a_transposed_product
// CHECK-NOT: onnx.Transpose
// CHECK: onnx.Gemm %arg1, %arg0 {{{.*}}trans_a = 1 : i64{{.*}}} : (tensor<7x3xf32>, tensor<7x2xf32>) -> tensor<3x2xf32>
func.func @exchanges_factors_of_a_transposed_product(%a: tensor<7x2xf32>, %b: tensor<7x3xf32>) -> tensor<3x2xf32> {
  %0 = onnx.Gemm %a, %b {trans_a = 1 : i64} : (tensor<7x2xf32>, tensor<7x3xf32>) -> tensor<2x3xf32>
  %1 = onnx.Transpose %0 {perm = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return %1 : tensor<3x2xf32>
}

// -----

// Both forms are wanted: two products would cost more than one transposition.
// CHECK-LABEL: func.func @keeps_a_product_with_two_uses
// CHECK: onnx.Gemm %arg0, %arg1
// CHECK: onnx.Transpose
func.func @keeps_a_product_with_two_uses(%a: tensor<7x2xf32>, %b: tensor<7x3xf32>) -> (tensor<3x2xf32>, tensor<2x3xf32>) {
  %0 = onnx.Gemm %a, %b {trans_a = 1 : i64} : (tensor<7x2xf32>, tensor<7x3xf32>) -> tensor<2x3xf32>
  %1 = onnx.Transpose %0 {perm = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return %1, %0 : tensor<3x2xf32>, tensor<2x3xf32>
}

// RUN: onnx-aot-opt %s -onnx-infer-shapes | FileCheck %s

// CHECK-DAG: #[[Y:.*]] = affine_map<()[s0] -> (s0, 5, 3, 7)>
// CHECK-LABEL: func.func @matmul_broadcasts_batch_and_keeps_symbols
// CHECK: onnx.MatMul {{.*}} -> tensor<?x5x3x7xf32, #[[Y]]>
func.func @matmul_broadcasts_batch_and_keeps_symbols(
    %a: tensor<?x1x3x4xf32, affine_map<()[s0] -> (s0, 1, 3, 4)>>,
    %b: tensor<5x4x7xf32>) -> tensor<*xf32> {
  %0 = onnx.MatMul %a, %b : (tensor<?x1x3x4xf32, affine_map<()[s0] -> (s0, 1, 3, 4)>>, tensor<5x4x7xf32>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}

// CHECK-LABEL: func.func @matmul_of_vectors_is_a_scalar
// CHECK: onnx.MatMul {{.*}} -> tensor<f32>
func.func @matmul_of_vectors_is_a_scalar(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<*xf32> {
  %0 = onnx.MatMul %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}

// CHECK-LABEL: func.func @gemm_transposes
// CHECK: onnx.Gemm {{.*}} -> tensor<3x5xf32>
func.func @gemm_transposes(%a: tensor<4x3xf32>, %b: tensor<5x4xf32>, %c: tensor<5xf32>) -> tensor<*xf32> {
  %0 = onnx.Gemm %a, %b, %c {trans_a = 1 : i64, trans_b = 1 : i64} : (tensor<4x3xf32>, tensor<5x4xf32>, tensor<5xf32>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}

// CHECK-LABEL: func.func @einsum_spells_out_the_ellipsis
// CHECK: onnx.Einsum {{.*}} -> tensor<6x2x5xf32>
func.func @einsum_spells_out_the_ellipsis(%a: tensor<6x2x3xf32>, %b: tensor<3x5xf32>) -> tensor<*xf32> {
  %0 = onnx.Einsum %a, %b {equation = "...ij,jk->...ik"} : (tensor<6x2x3xf32>, tensor<3x5xf32>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}

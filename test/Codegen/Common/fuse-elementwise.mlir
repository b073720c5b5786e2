// RUN: onnx-aot-opt %s -codegen-fuse-elementwise -canonicalize | FileCheck %s

// CHECK: #[[SWAPPED:.*]] = affine_map<(d0, d1, d2) -> (d1, d2)>

// CHECK-LABEL: func.func @chain_becomes_one_loop
// CHECK-COUNT-1: linalg.generic
// CHECK: arith.addf
// CHECK-NEXT: arith.mulf
// CHECK-NOT: linalg.{{generic|add|mul}}
func.func @chain_becomes_one_loop(%a: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  %0 = linalg.add ins(%a, %b : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %1 = linalg.mul ins(%0, %b : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}

// A value that is wanted twice is computed once.
// CHECK-LABEL: func.func @two_users_stay_apart
// CHECK-COUNT-3: linalg.generic
func.func @two_users_stay_apart(%a: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %e = tensor.empty() : tensor<8xf32>
  %0 = linalg.exp ins(%a : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %1 = linalg.mul ins(%0, %a : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %2 = linalg.add ins(%0, %a : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  return %1, %2 : tensor<8xf32>, tensor<8xf32>
}

// CHECK-LABEL: func.func @transposition_moves_into_the_product
// CHECK-NOT: linalg.transpose
// CHECK: linalg.generic {indexing_maps = [#{{map[0-9]*}}, #[[SWAPPED]], #{{map[0-9]*}}]
// CHECK-SAME: iterator_types = ["parallel", "parallel", "reduction"]
func.func @transposition_moves_into_the_product(%a: tensor<4x6xf32>, %b: tensor<8x6xf32>, %z: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %e = tensor.empty() : tensor<6x8xf32>
  %t = linalg.transpose ins(%b : tensor<8x6xf32>) outs(%e : tensor<6x8xf32>) permutation = [1, 0]
  %y = linalg.matmul ins(%a, %t : tensor<4x6xf32>, tensor<6x8xf32>) outs(%z : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

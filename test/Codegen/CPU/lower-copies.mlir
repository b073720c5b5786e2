// RUN: onnx-aot-opt %s -pass-pipeline='builtin.module(func.func(cpu-lower-copies))' | FileCheck %s

// CHECK-LABEL: func.func @dense_stays
// CHECK: memref.copy
func.func @dense_stays(%a: memref<4x4xf32>, %b: memref<4x4xf32>) {
  memref.copy %a, %b : memref<4x4xf32> to memref<4x4xf32>
  return
}

// CHECK-LABEL: func.func @strided_becomes_a_loop
// CHECK-NOT: memref.copy
// CHECK: linalg.generic
func.func @strided_becomes_a_loop(%a: memref<4x4xf32, strided<[8, 1]>>, %b: memref<4x4xf32>) {
  memref.copy %a, %b : memref<4x4xf32, strided<[8, 1]>> to memref<4x4xf32>
  return
}

// Upstream takes one dimension of run-time size in each group.
// CHECK-LABEL: func.func @split_in_two_sizes
// CHECK-SAME: %[[A:.*]]: memref<?xf32>, %[[M:.*]]: index, %[[N:.*]]: index
// CHECK: memref.reinterpret_cast %[[A]] to offset: [0], sizes: [%[[M]], %[[N]]], strides: [%[[N]], 1]
func.func @split_in_two_sizes(%a: memref<?xf32>, %m: index, %n: index) -> memref<?x?xf32> {
  %b = memref.expand_shape %a [[0, 1]] output_shape [%m, %n] : memref<?xf32> into memref<?x?xf32>
  return %b : memref<?x?xf32>
}

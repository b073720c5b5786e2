// RUN: onnx-aot-opt %s -cpu-emit-kernels=vector-bytes=16 | FileCheck %s

// More rows than four multiply floats that were unpacked to the stack, here all of
// the reduction, so that no sums wait between parts of it. Few rows
// make floats in the product.
// CHECK-LABEL: func.func private @k0(
// CHECK-SAME: %[[X:[^:]*]]: memref<?x64x4x8xf32>, %[[W:[^:]*]]: memref<1x64x4x4xi32>
// CHECK-DAG: %[[FLOATS:.*]] = memref.alloca() {alignment = 64 : i64} : memref<2048x4xf32>
// CHECK-NOT: memref.alloca()
// CHECK: scf.if
// CHECK: vector.load %[[W]]
// CHECK: vector.store %{{.*}}, %[[FLOATS]]
// CHECK: vector.load %[[FLOATS]]
// CHECK: vector.fma
// CHECK: } else {
// CHECK-NOT: %[[FLOATS]]
// CHECK: vector.load %[[W]]
// CHECK: vector.fma
#rows = affine_map<(m, n, b, w, i) -> (m, b, w, i)>
#words = affine_map<(m, n, b, w, i) -> (n floordiv 4, b, w, n mod 4)>
#blocks = affine_map<(m, n, b, w, i) -> (n floordiv 4, b, n mod 4)>
#out = affine_map<(m, n, b, w, i) -> (m, n)>
module attributes {abi.inputs = [], abi.outputs = []} {
  func.func @main(%rt: !llvm.ptr, %weights: memref<?xi8>, %arena: memref<?xi8>, %x: memref<?x64x4x8xf32>, %w: memref<1x64x4x4xi32>, %s: memref<1x64x4xf32>, %y: memref<?x4xf32>) {
    kernel.launch @kernel.0(%x, %w, %s) into(%y) : (memref<?x64x4x8xf32>, memref<1x64x4x4xi32>, memref<1x64x4xf32>) into(memref<?x4xf32>)
    return
  }
  func.func private @kernel.0(%x: tensor<?x64x4x8xf32>, %w: tensor<1x64x4x4xi32>, %s: tensor<1x64x4xf32>, %y: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %zero = arith.constant 0.0 : f32
    %init = linalg.fill ins(%zero : f32) outs(%y : tensor<?x4xf32>) -> tensor<?x4xf32>
    %0 = linalg.generic {indexing_maps = [#rows, #words, #blocks, #blocks, #out], iterator_types = ["parallel", "parallel", "reduction", "reduction", "reduction"]}
        ins(%x, %w, %s, %s : tensor<?x64x4x8xf32>, tensor<1x64x4x4xi32>, tensor<1x64x4xf32>, tensor<1x64x4xf32>) outs(%init : tensor<?x4xf32>) attrs = {kernel.packed_weights} {
    ^bb0(%in: f32, %word: i32, %scale: f32, %offset: f32, %sum: f32):
      %i = linalg.index 4 : index
      %place = arith.index_cast %i : index to i32
      %number = arith.shrui %word, %place : i32
      %real = arith.sitofp %number : i32 to f32
      %weight = math.fma %real, %scale, %offset : f32
      %m = arith.mulf %in, %weight : f32
      %next = arith.addf %sum, %m : f32
      linalg.yield %next : f32
    } -> tensor<?x4xf32>
    return %0 : tensor<?x4xf32>
  }
}

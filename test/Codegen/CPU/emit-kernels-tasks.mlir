// RUN: onnx-aot-opt %s -split-input-file -cpu-emit-kernels=vector-bytes=16 | FileCheck %s

// Sizes that only the run knows may be 1: each of them is cut, so that a batch
// of one still has tasks for all threads. 43 rows of 384 are 16 k points.
// CHECK-LABEL: func.func @main
// CHECK: %[[BATCH:.*]] = memref.dim %[[X:.*]], %c0
// CHECK: %[[LENGTH:.*]] = memref.dim %[[X]], %c1
// CHECK: %[[PADDED:.*]] = arith.addi %[[LENGTH]], %c42
// CHECK: %[[ROWS:.*]] = arith.divui %[[PADDED]], %c43
// CHECK: %[[TASKS:.*]] = arith.muli %[[BATCH]], %[[ROWS]]
// CHECK: call @k0.launch(%{{.*}}, %[[TASKS]])
#id = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
module attributes {abi.inputs = [], abi.outputs = []} {
  func.func @main(%rt: !llvm.ptr, %weights: memref<?xi8>, %arena: memref<?xi8>, %x: memref<?x?x384xf32>, %y: memref<?x?x384xf32>) {
    kernel.launch @kernel.0(%x) into(%y) : (memref<?x?x384xf32>) into(memref<?x?x384xf32>)
    return
  }
  func.func private @kernel.0(%a: tensor<?x?x384xf32>, %b: tensor<?x?x384xf32>) -> tensor<?x?x384xf32> {
    %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%a : tensor<?x?x384xf32>) outs(%b : tensor<?x?x384xf32>) {
    ^bb0(%in: f32, %out: f32):
      %1 = arith.addf %in, %in : f32
      linalg.yield %1 : f32
    } -> tensor<?x?x384xf32>
    return %0 : tensor<?x?x384xf32>
  }
}

// -----

// Of a product the constant columns are cut, whatever the batch and the rows:
// here into 8 blocks.
// CHECK-LABEL: func.func @main
// CHECK: %[[BATCH:.*]] = memref.dim %[[X:.*]], %c0
// CHECK: %[[BLOCKS:.*]] = arith.muli %[[BATCH]], %c8
// CHECK: %[[TILES:.*]] = arith.divui
// CHECK: %[[TASKS:.*]] = arith.muli %[[BLOCKS]], %[[TILES]]
// CHECK: call @k0.launch(%{{.*}}, %[[TASKS]])
#rows = affine_map<(b, m, n, k) -> (b, m, k)>
#cols = affine_map<(b, m, n, k) -> (k, n)>
#out = affine_map<(b, m, n, k) -> (b, m, n)>
module attributes {abi.inputs = [], abi.outputs = []} {
  func.func @main(%rt: !llvm.ptr, %weights: memref<?xi8>, %arena: memref<?xi8>, %x: memref<?x?x384xf32>, %w: memref<384x384xf32>, %y: memref<?x?x384xf32>) {
    kernel.launch @kernel.0(%x, %w) into(%y) : (memref<?x?x384xf32>, memref<384x384xf32>) into(memref<?x?x384xf32>)
    return
  }
  func.func private @kernel.0(%a: tensor<?x?x384xf32>, %w: tensor<384x384xf32>, %y: tensor<?x?x384xf32>) -> tensor<?x?x384xf32> {
    %zero = arith.constant 0.0 : f32
    %init = linalg.fill ins(%zero : f32) outs(%y : tensor<?x?x384xf32>) -> tensor<?x?x384xf32>
    %0 = linalg.generic {indexing_maps = [#rows, #cols, #out], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%a, %w : tensor<?x?x384xf32>, tensor<384x384xf32>) outs(%init : tensor<?x?x384xf32>) {
    ^bb0(%in: f32, %weight: f32, %sum: f32):
      %1 = arith.mulf %in, %weight : f32
      %2 = arith.addf %sum, %1 : f32
      linalg.yield %2 : f32
    } -> tensor<?x?x384xf32>
    return %0 : tensor<?x?x384xf32>
  }
}

// -----

// A long sum over rows that lie side by side, as a weight's gradient: all tiles
// make 256 steps before any goes on, with their sums in the output.
// CHECK-LABEL: func.func private @k0
// CHECK: scf.for
// CHECK: scf.for %[[FROM:.*]] = %c0{{.*}} to %c1024{{.*}} step %c256
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[FROM]], %c0
// CHECK: scf.if %[[FIRST]]
// CHECK: else
// CHECK: vector.load %arg2
#rows = affine_map<(m, n, k) -> (k, m)>
#cols = affine_map<(m, n, k) -> (k, n)>
#out = affine_map<(m, n, k) -> (m, n)>
module attributes {abi.inputs = [], abi.outputs = []} {
  func.func @main(%rt: !llvm.ptr, %weights: memref<?xi8>, %arena: memref<?xi8>, %x: memref<1024x512xf32>, %w: memref<1024x64xf32>, %y: memref<512x64xf32>) {
    kernel.launch @kernel.0(%x, %w) into(%y) : (memref<1024x512xf32>, memref<1024x64xf32>) into(memref<512x64xf32>)
    return
  }
  func.func private @kernel.0(%a: tensor<1024x512xf32>, %w: tensor<1024x64xf32>, %y: tensor<512x64xf32>) -> tensor<512x64xf32> {
    %zero = arith.constant 0.0 : f32
    %init = linalg.fill ins(%zero : f32) outs(%y : tensor<512x64xf32>) -> tensor<512x64xf32>
    %0 = linalg.generic {indexing_maps = [#rows, #cols, #out], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %w : tensor<1024x512xf32>, tensor<1024x64xf32>) outs(%init : tensor<512x64xf32>) {
    ^bb0(%in: f32, %weight: f32, %sum: f32):
      %1 = arith.mulf %in, %weight : f32
      %2 = arith.addf %sum, %1 : f32
      linalg.yield %2 : f32
    } -> tensor<512x64xf32>
    return %0 : tensor<512x64xf32>
  }
}

// RUN: onnx-aot-opt %s --gpu-emit-device-kernels | FileCheck %s

#a = affine_map<(m, n, k) -> (k, m)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

// One tile of results and a sum of unknown length: up to 128 parts of 256 terms
// or more, then their sum. Both launches take the same words, of which 4 (an
// ONNX_AOT_SCRATCH) stands for memory that nobody else knows.
// CHECK-LABEL: func.func @main
// CHECK: %[[PARTS:.*]] = arith.minui %{{.*}}, %c128
// CHECK: %[[ALL:.*]] = arith.muli %[[PARTS]], %c3200
// CHECK: call @onnx_aot.device_launch
// CHECK: call @onnx_aot.device_launch
// CHECK: gpu.module @kernels
// CHECK: llvm.func @split_contraction_0(%{{.*}}, %[[SCRATCH:.*]]: !llvm.ptr<1>, %[[COUNT:.*]]: i32)
// CHECK-SAME: array<i32: 256, 1, 1>
// CHECK: nvvm.barrier0
// CHECK: llvm.getelementptr %[[SCRATCH]]
// CHECK: llvm.func @summation_1(%{{.*}}, %[[SCRATCH:.*]]: !llvm.ptr<1>, %[[COUNT:.*]]: i32)
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[COUNT]]
// CHECK: llvm.getelementptr %[[SCRATCH]]
// CHECK: arith.addf
// CHECK: llvm.store
module attributes {abi.inputs = [], abi.outputs = [], abi.symbols = []} {
func.func @main(%rt: !llvm.ptr, %w: memref<?xi8>, %arena: memref<?xi8>,
                %x: memref<?x40xf32>, %v: memref<?x20xf32>, %y: memref<40x20xf32>) {
  kernel.launch @product(%x, %v) into(%y) : (memref<?x40xf32>, memref<?x20xf32>) into(memref<40x20xf32>)
  return
}
func.func private @product(%x: tensor<?x40xf32>, %v: tensor<?x20xf32>, %y: tensor<40x20xf32>) -> tensor<40x20xf32> {
  %zero = arith.constant 0.0 : f32
  %z = linalg.fill ins(%zero : f32) outs(%y : tensor<40x20xf32>) -> tensor<40x20xf32>
  %r = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %v : tensor<?x40xf32>, tensor<?x20xf32>) outs(%z : tensor<40x20xf32>) {
  ^bb0(%u: f32, %t: f32, %acc: f32):
    %p = arith.mulf %u, %t : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  } -> tensor<40x20xf32>
  return %r : tensor<40x20xf32>
}
}

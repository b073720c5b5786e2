// RUN: onnx-aot-opt %s -cpu-bufferize | FileCheck %s

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

// Several tiles of rows read a panel: the next one is asked for meanwhile.
// CHECK-LABEL: func.func private @k0
// CHECK: scf.for
// CHECK: memref.prefetch %{{.*}}, read, locality<2>, data : memref<4x3x8xf32>
// CHECK: vector.fma
module attributes {abi.symbols = []} {
  func.func @main(%a: tensor<48x3xf32> {abi.value = {dims = array<i64: 48, 3>, name = "a", type = 1 : i32}})
      -> (tensor<48x32xf32> {abi.value = {dims = array<i64: 48, 32>, name = "c", type = 1 : i32}}) {
    %w = arith.constant dense_resource<w> : tensor<3x32xf32>
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<48x32xf32>
    %i = linalg.fill ins(%zero : f32) outs(%e : tensor<48x32xf32>) -> tensor<48x32xf32>
    %p = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%a, %w : tensor<48x3xf32>, tensor<3x32xf32>) outs(%i : tensor<48x32xf32>) {
    ^bb0(%x: f32, %y: f32, %acc: f32):
      %m = arith.mulf %x, %y : f32
      %s = arith.addf %acc, %m : f32
      linalg.yield %s : f32
    } -> tensor<48x32xf32>
    return %p : tensor<48x32xf32>
  }
}

{-#
  dialect_resources: { builtin: { w: "0x040000000000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F" } }
#-}

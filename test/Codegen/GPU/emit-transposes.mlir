// RUN: onnx-aot-opt %s --gpu-emit-device-kernels | FileCheck %s

// What lies along the lines of the input passes through a tile of shared memory,
// whose lines are an odd number of words apart; what else the op reads is read where
// results are written. Short lines are not worth a tile.
// CHECK: llvm.mlir.global internal @transpose_0.tile0() {addr_space = 3 : i32{{.*}}} : !llvm.array<1088 x f16>
// CHECK: llvm.func @transpose_0
// CHECK: llvm.load %{{.*}} : !llvm.ptr<1> -> f16
// CHECK: llvm.store %{{.*}}, %{{.*}} : f16, !llvm.ptr<3>
// CHECK: nvvm.barrier0
// CHECK: llvm.load %{{.*}} : !llvm.ptr<3> -> f16
// CHECK: llvm.load %{{.*}} : !llvm.ptr<1> -> f16
// CHECK: arith.addf
// CHECK: llvm.store %{{.*}}, %{{.*}} : f16, !llvm.ptr<1>
// CHECK: llvm.func @point_1
#turned = affine_map<(d0, d1) -> (d1, d0)>
#id = affine_map<(d0, d1) -> (d0, d1)>
module attributes {abi.inputs = [], abi.outputs = [], abi.symbols = []} {
  func.func @main(%runtime: !llvm.ptr, %weights: memref<?xi8>, %arena: memref<?xi8>,
                  %x: memref<48x?xf16>, %r: memref<?x48xf16>, %y: memref<?x48xf16>, %s: memref<5x?xf16>, %z: memref<?x5xf16>) {
    kernel.launch @turn(%x, %r) into(%y) : (memref<48x?xf16>, memref<?x48xf16>) into(memref<?x48xf16>)
    kernel.launch @short(%s) into(%z) : (memref<5x?xf16>) into(memref<?x5xf16>)
    return
  }
  func.func private @turn(%x: tensor<48x?xf16>, %r: tensor<?x48xf16>, %y: tensor<?x48xf16>) -> tensor<?x48xf16> {
    %0 = linalg.generic {indexing_maps = [#turned, #id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%x, %r : tensor<48x?xf16>, tensor<?x48xf16>) outs(%y : tensor<?x48xf16>) {
    ^bb0(%a: f16, %b: f16, %o: f16):
      %s = arith.addf %a, %b : f16
      linalg.yield %s : f16
    } -> tensor<?x48xf16>
    return %0 : tensor<?x48xf16>
  }
  func.func private @short(%x: tensor<5x?xf16>, %y: tensor<?x5xf16>) -> tensor<?x5xf16> {
    %0 = linalg.generic {indexing_maps = [#turned, #id], iterator_types = ["parallel", "parallel"]}
        ins(%x : tensor<5x?xf16>) outs(%y : tensor<?x5xf16>) {
    ^bb0(%a: f16, %o: f16):
      linalg.yield %a : f16
    } -> tensor<?x5xf16>
    return %0 : tensor<?x5xf16>
  }
}

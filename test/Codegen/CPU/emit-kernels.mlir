// RUN: onnx-aot-opt %s -cpu-emit-kernels=vector-bytes=16 | FileCheck %s

// A launch becomes a call with the number of tasks; kernels that compute the same
// on buffers of the same types are one function over a range of tasks.
// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[RT:[a-z0-9]+]]: !llvm.ptr, {{.*}}, %[[X:[a-z0-9]+]]: memref<1024xf32>, %[[Y:[a-z0-9]+]]: memref<1024xf32>)
// CHECK: call @k0.launch(%[[RT]], %[[X]], %[[Y]], %{{.*}})
// CHECK: call @k0.launch(%[[RT]], %[[Y]], %[[X]], %{{.*}})
// CHECK-NOT: kernel.launch
// CHECK: func.func private @k0(%[[A:.*]]: memref<1024xf32>, %[[B:.*]]: memref<1024xf32>, %[[BEGIN:.*]]: index, %[[END:.*]]: index)
// CHECK: scf.for %{{.*}} = %[[BEGIN]] to %[[END]]
// CHECK: %[[IN:.*]] = vector.load %[[A]]{{.*}}vector<4xf32>
// CHECK: %[[SUM:.*]] = arith.addf %[[IN]], %[[IN]]
// CHECK: vector.store %[[SUM]], %[[B]]
// CHECK-NOT: func.func private @k1
#id = affine_map<(d0) -> (d0)>
module attributes {abi.inputs = [], abi.outputs = []} {
  func.func @main(%rt: !llvm.ptr, %weights: memref<?xi8>, %arena: memref<?xi8>, %x: memref<1024xf32>, %y: memref<1024xf32>) {
    kernel.launch @kernel.0(%x) into(%y) : (memref<1024xf32>) into(memref<1024xf32>)
    kernel.launch @kernel.1(%y) into(%x) : (memref<1024xf32>) into(memref<1024xf32>)
    return
  }
  func.func private @kernel.0(%a: tensor<1024xf32>, %b: tensor<1024xf32>) -> tensor<1024xf32> {
    %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%a : tensor<1024xf32>) outs(%b : tensor<1024xf32>) {
    ^bb0(%in: f32, %out: f32):
      %1 = arith.addf %in, %in : f32
      linalg.yield %1 : f32
    } -> tensor<1024xf32>
    return %0 : tensor<1024xf32>
  }
  func.func private @kernel.1(%a: tensor<1024xf32>, %b: tensor<1024xf32>) -> tensor<1024xf32> {
    %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%a : tensor<1024xf32>) outs(%b : tensor<1024xf32>) {
    ^bb0(%in: f32, %out: f32):
      %1 = arith.addf %in, %in : f32
      linalg.yield %1 : f32
    } -> tensor<1024xf32>
    return %0 : tensor<1024xf32>
  }
}

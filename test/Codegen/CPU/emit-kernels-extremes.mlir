// RUN: onnx-aot-opt %s -cpu-emit-kernels=vector-bytes=16 | FileCheck %s

// The output starts from the initial value, tasks combine with it what they find
// in lanes of their own, where those beyond the end of a row do not count. A
// kernel of an extreme alone stores nothing else.
// CHECK-LABEL: func.func @main
// CHECK: memref.store %cst, %[[MAX:.*]][] : memref<f32>
// CHECK: call @k0.launch
// CHECK-LABEL: func.func private @k0(
// CHECK-SAME: %[[X:.*]]: memref<?x6xf32>, %[[OUT:.*]]: memref<f32>
// CHECK: %[[LANES:.*]] = memref.alloca() : memref<4xf32>
// CHECK: scf.for
// CHECK: vector.load %[[X]]
// CHECK: arith.maximumf
// CHECK: vector.store %{{.*}}, %[[LANES]]
// CHECK: vector.maskedload %[[X]]
// CHECK: %[[NEXT:.*]] = arith.maximumf
// CHECK: %[[ACTIVE:.*]] = arith.select %{{.*}}, %[[NEXT]]
// CHECK: vector.store %[[ACTIVE]], %[[LANES]]
// CHECK-NOT: vector.store
// CHECK: vector.reduction <maximumf>
// CHECK: memref.atomic_rmw maximumf %{{.*}}, %[[OUT]][]
#id = affine_map<(d0, d1) -> (d0, d1)>
#all = affine_map<(d0, d1) -> ()>
module attributes {abi.inputs = [], abi.outputs = []} {
  func.func @main(%rt: !llvm.ptr, %weights: memref<?xi8>, %arena: memref<?xi8>, %x: memref<?x6xf32>, %y: memref<f32>) {
    kernel.launch @kernel.0(%x) into(%y) : (memref<?x6xf32>) into(memref<f32>)
    return
  }
  func.func private @kernel.0(%a: tensor<?x6xf32>, %b: tensor<f32>) -> tensor<f32> {
    %zero = arith.constant 0.0 : f32
    %init = linalg.fill ins(%zero : f32) outs(%b : tensor<f32>) -> tensor<f32>
    %0 = linalg.generic {indexing_maps = [#id, #all], iterator_types = ["reduction", "reduction"]} ins(%a : tensor<?x6xf32>) outs(%init : tensor<f32>) attrs = {kernel.extreme} {
    ^bb0(%in: f32, %out: f32):
      %1 = arith.maximumf %in, %out : f32
      linalg.yield %1 : f32
    } -> tensor<f32>
    return %0 : tensor<f32>
  }
}

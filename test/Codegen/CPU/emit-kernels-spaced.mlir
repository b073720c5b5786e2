// RUN: onnx-aot-opt %s -cpu-emit-kernels=vector-bytes=16 | FileCheck %s

// Every second element comes from two loads that overlap by one element, so that
// neither reads beyond the last lane; a part of a vector reads up to its last lane.
// CHECK-LABEL: func.func private @k0(
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<11xf32>
// CHECK: %[[LOW:.*]] = vector.load %[[X]]{{.*}}vector<4xf32>
// CHECK: %[[HIGH:.*]] = vector.load %[[X]]{{.*}}vector<4xf32>
// CHECK: vector.shuffle %[[LOW]], %[[HIGH]] [0, 2, 5, 7]
// CHECK: %[[MASK:.*]] = vector.shuffle %[[M:.*]], %[[M]] [0, 1, 1, 2]
// CHECK: %[[LOW:.*]] = vector.maskedload %[[X]]{{.*}}, %[[MASK]]
// CHECK: %[[MASK:.*]] = vector.shuffle %[[M]], %[[M]] [2, 2, 3, 3]
// CHECK: %[[HIGH:.*]] = vector.maskedload %[[X]]{{.*}}, %[[MASK]]
// CHECK: vector.shuffle %[[LOW]], %[[HIGH]] [0, 2, 5, 7]
#spaced = affine_map<(d0) -> (d0 * 2)>
#id = affine_map<(d0) -> (d0)>
module attributes {abi.inputs = [], abi.outputs = []} {
  func.func @main(%rt: !llvm.ptr, %weights: memref<?xi8>, %arena: memref<?xi8>, %x: memref<11xf32>, %y: memref<6xf32>) {
    kernel.launch @kernel.0(%x) into(%y) : (memref<11xf32>) into(memref<6xf32>)
    return
  }
  func.func private @kernel.0(%a: tensor<11xf32>, %b: tensor<6xf32>) -> tensor<6xf32> {
    %0 = linalg.generic {indexing_maps = [#spaced, #id], iterator_types = ["parallel"]} ins(%a : tensor<11xf32>) outs(%b : tensor<6xf32>) {
    ^bb0(%in: f32, %out: f32):
      %1 = arith.addf %in, %in : f32
      linalg.yield %1 : f32
    } -> tensor<6xf32>
    return %0 : tensor<6xf32>
  }
}

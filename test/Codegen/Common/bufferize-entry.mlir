// RUN: onnx-aot-opt %s -split-input-file -codegen-bufferize-entry -canonicalize | FileCheck %s

// The result is written where it is wanted, the input is not; only the value in
// between gets a buffer.
// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<8xf32>, %[[Y:[a-z0-9]+]]: memref<8xf32>)
// CHECK: %[[T:.*]] = memref.alloc()
// CHECK: linalg.exp ins(%[[X]] : memref<8xf32>) outs(%[[T]] : memref<8xf32>)
// CHECK: linalg.add ins(%[[T]], %[[X]] : {{.*}}) outs(%[[Y]] : memref<8xf32>)
// CHECK-NOT: memref.copy
module attributes {abi.inputs = [{dims = array<i64: 8>, name = "x", type = 1 : i32}]} {
func.func @main(%rt: !llvm.ptr, %weights: memref<?xi8>, %arena: memref<?xi8>, %x: memref<8xf32>, %y: memref<8xf32>) {
  %in = bufferization.to_tensor %x restrict : memref<8xf32> to tensor<8xf32>
  %e = tensor.empty() : tensor<8xf32>
  %0 = linalg.exp ins(%in : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %f = tensor.empty() : tensor<8xf32>
  %1 = linalg.add ins(%0, %in : tensor<8xf32>, tensor<8xf32>) outs(%f : tensor<8xf32>) -> tensor<8xf32>
  bufferization.materialize_in_destination %1 in restrict writable %y : (tensor<8xf32>, memref<8xf32>) -> ()
  return
}
}

// -----

// The first output is made by overwriting the second: the value of the second
// must not lie in the buffer of the first, which is written before it is read.
// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<8xf32>, %[[Y:[a-z0-9]+]]: memref<8xf32>, %[[Z:[a-z0-9]+]]: memref<8xf32>)
// CHECK: linalg.exp ins(%[[X]] : memref<8xf32>) outs(%[[Z]] : memref<8xf32>)
// CHECK: memref.copy %[[Z]], %[[T:.*]] :
// CHECK: memref.store {{.*}}, %[[T]]
// CHECK: memref.copy %[[T]], %[[Y]]
// CHECK-NOT: memref.copy
module attributes {abi.inputs = [{dims = array<i64: 8>, name = "x", type = 1 : i32}]} {
func.func @main(%rt: !llvm.ptr, %weights: memref<?xi8>, %arena: memref<?xi8>, %x: memref<8xf32>, %y: memref<8xf32>, %z: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %v = arith.constant 1.0 : f32
  %in = bufferization.to_tensor %x restrict : memref<8xf32> to tensor<8xf32>
  %e = tensor.empty() : tensor<8xf32>
  %0 = linalg.exp ins(%in : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %1 = tensor.insert %v into %0[%c0] : tensor<8xf32>
  bufferization.materialize_in_destination %1 in restrict writable %y : (tensor<8xf32>, memref<8xf32>) -> ()
  bufferization.materialize_in_destination %0 in restrict writable %z : (tensor<8xf32>, memref<8xf32>) -> ()
  return
}
}

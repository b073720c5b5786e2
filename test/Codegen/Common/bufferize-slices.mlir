// RUN: onnx-aot-opt %s -codegen-bufferize-entry -canonicalize | FileCheck %s

// A tensor put together of many slices is a buffer before the analysis, which
// takes cubic time in the length of a chain: the caller's where that is where
// it goes, else a new one.
// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<2xf32>, %[[Y:[a-z0-9]+]]: memref<32xf32>, %[[Z:[a-z0-9]+]]: memref<32xf32>)
// CHECK: %[[T:.*]] = memref.alloc() {{.*}} : memref<32xf32>
// CHECK-COUNT-15: memref.subview %[[T]]
// CHECK: memref.subview %[[T]][30] [2] [1]
// CHECK: linalg.exp ins(%[[T]] : memref<32xf32>) outs(%[[Y]]
// CHECK-NOT: memref.alloc
// CHECK-COUNT-15: memref.subview %[[Z]]
// CHECK: memref.subview %[[Z]][30] [2] [1]
// CHECK-NEXT: memref.copy %[[X]],
// CHECK-NEXT: return
module attributes {abi.inputs = [{dims = array<i64: 2>, name = "x", type = 1 : i32}]} {
func.func @main(%rt: !llvm.ptr, %weights: memref<?xi8>, %arena: memref<?xi8>, %x: memref<2xf32>, %y: memref<32xf32>, %z: memref<32xf32>) {
  %in = bufferization.to_tensor %x restrict : memref<2xf32> to tensor<2xf32>
  %a0 = tensor.empty() : tensor<32xf32>
  %a1 = tensor.insert_slice %in into %a0[0] [2] [1] : tensor<2xf32> into tensor<32xf32>
  %a2 = tensor.insert_slice %in into %a1[2] [2] [1] : tensor<2xf32> into tensor<32xf32>
  %a3 = tensor.insert_slice %in into %a2[4] [2] [1] : tensor<2xf32> into tensor<32xf32>
  %a4 = tensor.insert_slice %in into %a3[6] [2] [1] : tensor<2xf32> into tensor<32xf32>
  %a5 = tensor.insert_slice %in into %a4[8] [2] [1] : tensor<2xf32> into tensor<32xf32>
  %a6 = tensor.insert_slice %in into %a5[10] [2] [1] : tensor<2xf32> into tensor<32xf32>
  %a7 = tensor.insert_slice %in into %a6[12] [2] [1] : tensor<2xf32> into tensor<32xf32>
  %a8 = tensor.insert_slice %in into %a7[14] [2] [1] : tensor<2xf32> into tensor<32xf32>
  %a9 = tensor.insert_slice %in into %a8[16] [2] [1] : tensor<2xf32> into tensor<32xf32>
  %a10 = tensor.insert_slice %in into %a9[18] [2] [1] : tensor<2xf32> into tensor<32xf32>
  %a11 = tensor.insert_slice %in into %a10[20] [2] [1] : tensor<2xf32> into tensor<32xf32>
  %a12 = tensor.insert_slice %in into %a11[22] [2] [1] : tensor<2xf32> into tensor<32xf32>
  %a13 = tensor.insert_slice %in into %a12[24] [2] [1] : tensor<2xf32> into tensor<32xf32>
  %a14 = tensor.insert_slice %in into %a13[26] [2] [1] : tensor<2xf32> into tensor<32xf32>
  %a15 = tensor.insert_slice %in into %a14[28] [2] [1] : tensor<2xf32> into tensor<32xf32>
  %a16 = tensor.insert_slice %in into %a15[30] [2] [1] : tensor<2xf32> into tensor<32xf32>
  %e = tensor.empty() : tensor<32xf32>
  %r = linalg.exp ins(%a16 : tensor<32xf32>) outs(%e : tensor<32xf32>) -> tensor<32xf32>
  bufferization.materialize_in_destination %r in restrict writable %y : (tensor<32xf32>, memref<32xf32>) -> ()
  %b0 = tensor.empty() : tensor<32xf32>
  %b1 = tensor.insert_slice %in into %b0[0] [2] [1] : tensor<2xf32> into tensor<32xf32>
  %b2 = tensor.insert_slice %in into %b1[2] [2] [1] : tensor<2xf32> into tensor<32xf32>
  %b3 = tensor.insert_slice %in into %b2[4] [2] [1] : tensor<2xf32> into tensor<32xf32>
  %b4 = tensor.insert_slice %in into %b3[6] [2] [1] : tensor<2xf32> into tensor<32xf32>
  %b5 = tensor.insert_slice %in into %b4[8] [2] [1] : tensor<2xf32> into tensor<32xf32>
  %b6 = tensor.insert_slice %in into %b5[10] [2] [1] : tensor<2xf32> into tensor<32xf32>
  %b7 = tensor.insert_slice %in into %b6[12] [2] [1] : tensor<2xf32> into tensor<32xf32>
  %b8 = tensor.insert_slice %in into %b7[14] [2] [1] : tensor<2xf32> into tensor<32xf32>
  %b9 = tensor.insert_slice %in into %b8[16] [2] [1] : tensor<2xf32> into tensor<32xf32>
  %b10 = tensor.insert_slice %in into %b9[18] [2] [1] : tensor<2xf32> into tensor<32xf32>
  %b11 = tensor.insert_slice %in into %b10[20] [2] [1] : tensor<2xf32> into tensor<32xf32>
  %b12 = tensor.insert_slice %in into %b11[22] [2] [1] : tensor<2xf32> into tensor<32xf32>
  %b13 = tensor.insert_slice %in into %b12[24] [2] [1] : tensor<2xf32> into tensor<32xf32>
  %b14 = tensor.insert_slice %in into %b13[26] [2] [1] : tensor<2xf32> into tensor<32xf32>
  %b15 = tensor.insert_slice %in into %b14[28] [2] [1] : tensor<2xf32> into tensor<32xf32>
  %b16 = tensor.insert_slice %in into %b15[30] [2] [1] : tensor<2xf32> into tensor<32xf32>
  bufferization.materialize_in_destination %b16 in restrict writable %z : (tensor<32xf32>, memref<32xf32>) -> ()
  return
}
}

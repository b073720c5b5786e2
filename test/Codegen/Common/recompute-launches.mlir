// What lies idle where most memory is used is computed again. Each buffer has
// 4096 bytes; without a budget three are alive at once.
// RUN: onnx-aot-opt %s --codegen-recompute-launches=budget=8192 | FileCheck %s
// RUN: onnx-aot-opt %s --codegen-recompute-launches=budget=12288 | FileCheck %s --check-prefix=FITS

// CHECK: module attributes
// CHECK-SAME: codegen.natural_bytes = 12288 : i64
// CHECK-SAME: codegen.repeated_steps = 1 : i64
// FITS-NOT: codegen.natural_bytes

// CHECK-LABEL: func.func @main
// CHECK: %[[X:.*]] = bufferization.to_tensor
// CHECK: %[[A:.*]] = kernel.launch @f(%[[X]])
// CHECK: %[[B:.*]] = kernel.launch @f(%[[A]])
// CHECK: %[[C:.*]] = kernel.launch @f(%[[B]])
// CHECK: %[[D:.*]] = kernel.launch @f(%[[C]])
// CHECK: %[[A1:.*]] = kernel.launch @f(%[[X]])
// CHECK: kernel.launch @add(%[[A1]], %[[D]])

// FITS-LABEL: func.func @main
// FITS-COUNT-4: kernel.launch @f
// FITS-NOT: kernel.launch @f
// FITS: kernel.launch @add
module attributes {abi.inputs = [{dims = array<i64: 1024>, name = "x", type = 1 : i32}], abi.outputs = [{dims = array<i64: 1024>, name = "y", type = 1 : i32}], abi.symbols = [], abi.value_shaped_outputs = array<i64>} {
  func.func private @f(%x: tensor<1024xf32>, %init: tensor<1024xf32>) -> tensor<1024xf32> {
    %y = linalg.exp ins(%x : tensor<1024xf32>) outs(%init : tensor<1024xf32>) -> tensor<1024xf32>
    return %y : tensor<1024xf32>
  }
  func.func private @add(%x: tensor<1024xf32>, %y: tensor<1024xf32>, %init: tensor<1024xf32>) -> tensor<1024xf32> {
    %z = linalg.add ins(%x, %y : tensor<1024xf32>, tensor<1024xf32>) outs(%init : tensor<1024xf32>) -> tensor<1024xf32>
    return %z : tensor<1024xf32>
  }
  func.func @main(%runtime: !llvm.ptr, %weights: memref<?xi8>, %arena: memref<?xi8>, %in: memref<1024xf32>, %out: memref<1024xf32>) {
    %x = bufferization.to_tensor %in restrict : memref<1024xf32> to tensor<1024xf32>
    %0 = tensor.empty() : tensor<1024xf32>
    %a = kernel.launch @f(%x) into(%0) : (tensor<1024xf32>) into(tensor<1024xf32>) -> tensor<1024xf32>
    %b = kernel.launch @f(%a) into(%0) : (tensor<1024xf32>) into(tensor<1024xf32>) -> tensor<1024xf32>
    %c = kernel.launch @f(%b) into(%0) : (tensor<1024xf32>) into(tensor<1024xf32>) -> tensor<1024xf32>
    %d = kernel.launch @f(%c) into(%0) : (tensor<1024xf32>) into(tensor<1024xf32>) -> tensor<1024xf32>
    %e = kernel.launch @add(%a, %d) into(%0) : (tensor<1024xf32>, tensor<1024xf32>) into(tensor<1024xf32>) -> tensor<1024xf32>
    bufferization.materialize_in_destination %e in restrict writable %out : (tensor<1024xf32>, memref<1024xf32>) -> ()
    return
  }
}

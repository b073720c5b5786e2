// RUN: onnx-aot-opt %s --codegen-recompute-launches="budget=4096 state=100" --split-input-file --verify-diagnostics

// The second launch needs its input and its output.
module attributes {abi.inputs = [{dims = array<i64: 1024>, name = "x", type = 1 : i32}], abi.outputs = [{dims = array<i64: 1024>, name = "y", type = 1 : i32}], abi.symbols = [], abi.value_shaped_outputs = array<i64>} {
  func.func private @f(%x: tensor<1024xf32>, %init: tensor<1024xf32>) -> tensor<1024xf32> {
    %y = linalg.exp ins(%x : tensor<1024xf32>) outs(%init : tensor<1024xf32>) -> tensor<1024xf32>
    return %y : tensor<1024xf32>
  }
  // expected-error @+1 {{the memory budget of 4196 bytes cannot be kept: at least 8292 are needed, 8192 of them for temporary values however much is computed again (8192 when nothing is), 100 for parameters and other state}}
  func.func @main(%runtime: !llvm.ptr, %weights: memref<?xi8>, %arena: memref<?xi8>, %in: memref<1024xf32>, %out: memref<1024xf32>) {
    %x = bufferization.to_tensor %in restrict : memref<1024xf32> to tensor<1024xf32>
    %0 = tensor.empty() : tensor<1024xf32>
    %a = kernel.launch @f(%x) into(%0) : (tensor<1024xf32>) into(tensor<1024xf32>) -> tensor<1024xf32>
    %b = kernel.launch @f(%a) into(%0) : (tensor<1024xf32>) into(tensor<1024xf32>) -> tensor<1024xf32>
    %c = kernel.launch @f(%b) into(%0) : (tensor<1024xf32>) into(tensor<1024xf32>) -> tensor<1024xf32>
    bufferization.materialize_in_destination %c in restrict writable %out : (tensor<1024xf32>, memref<1024xf32>) -> ()
    return
  }
}

// -----

module attributes {abi.inputs = [{dims = array<i64: -1>, name = "x", type = 1 : i32}], abi.outputs = [{dims = array<i64: -1>, name = "y", type = 1 : i32}], abi.symbols = ["n"], abi.value_shaped_outputs = array<i64>} {
  func.func private @f(%x: tensor<?xf32>, %init: tensor<?xf32>) -> tensor<?xf32> {
    %y = linalg.exp ins(%x : tensor<?xf32>) outs(%init : tensor<?xf32>) -> tensor<?xf32>
    return %y : tensor<?xf32>
  }
  // expected-error @+1 {{a memory budget needs sizes that are known when the model is compiled: fix them by --dim}}
  func.func @main(%runtime: !llvm.ptr, %weights: memref<?xi8>, %arena: memref<?xi8>, %n: index, %in: memref<?xf32>, %out: memref<?xf32>) {
    %x = bufferization.to_tensor %in restrict : memref<?xf32> to tensor<?xf32>
    %0 = tensor.empty(%n) : tensor<?xf32>
    %a = kernel.launch @f(%x) into(%0) : (tensor<?xf32>) into(tensor<?xf32>) -> tensor<?xf32>
    %b = kernel.launch @f(%a) into(%0) : (tensor<?xf32>) into(tensor<?xf32>) -> tensor<?xf32>
    bufferization.materialize_in_destination %b in restrict writable %out : (tensor<?xf32>, memref<?xf32>) -> ()
    return
  }
}

// What is printed can be read again.
// RUN: onnx-aot-opt %s | onnx-aot-opt | FileCheck %s

// CHECK-LABEL: func.func @without_inputs
// CHECK: kernel.launch @k() into(%{{.*}}) : into(tensor<4xf32>) -> tensor<4xf32>
// CHECK: kernel.call "f"() into(%{{.*}}) {{.*}} : into(tensor<4xf32>) -> tensor<4xf32>
func.func @without_inputs() -> (tensor<4xf32>, tensor<4xf32>) {
  %e = tensor.empty() : tensor<4xf32>
  %0 = kernel.launch @k() into (%e) : into (tensor<4xf32>) -> tensor<4xf32>
  %1 = kernel.call "f"() into (%e) {message = "no", input_types = array<i32: 0>, output_types = array<i32: 1>, node_attributes = {}}
      : into (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @on_buffers
// CHECK: kernel.launch @b(%{{.*}}) into(%{{.*}}) : (memref<4xf32>) into(memref<4xf32>)
func.func @on_buffers(%x: memref<4xf32>, %y: memref<4xf32>) {
  kernel.launch @b(%x) into (%y) : (memref<4xf32>) into (memref<4xf32>)
  return
}

func.func private @k(%y: tensor<4xf32>) -> tensor<4xf32> {
  return %y : tensor<4xf32>
}

func.func private @b(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

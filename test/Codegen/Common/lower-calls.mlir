// RUN: onnx-aot-opt %s -codegen-lower-calls | FileCheck %s

// Addresses of all operands, then their sizes; the run ends where the function
// does not return 0.
// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[CONTEXT:.*]]: !llvm.ptr
// CHECK: %[[X:.*]] = memref.extract_aligned_pointer_as_index
// CHECK: %[[ROWS:.*]] = memref.dim
// CHECK: %[[C3:.*]] = arith.constant 3 : index
// CHECK: %[[Y:.*]] = memref.extract_aligned_pointer_as_index
// CHECK: %[[C4:.*]] = arith.constant 4 : index
// CHECK: %[[STATUS:.*]] = call @onnx_aot.call.0(%[[CONTEXT]], %[[X]], %[[Y]], %[[ROWS]], %[[C3]], %[[C4]])
// CHECK: %[[FINE:.*]] = arith.cmpi eq, %[[STATUS]]
// CHECK: cf.assert %[[FINE]], "it failed"
// CHECK: func.func private @onnx_aot.call.0(!llvm.ptr, index, index, index, index, index) -> i32
// CHECK-SAME: callee = "my_op", inputs = array<i32: 0, 1>, outputs = array<i32: 1>, ranks = array<i32: 2, 1>
func.func @main(%context: !llvm.ptr, %weights: memref<?xi8>, %arena: memref<?xi8>, %x: memref<?x3xf32>, %y: memref<4xf32>) {
  kernel.call "my_op"(%x) into (%y) {message = "it failed", input_types = array<i32: 0, 1>,
    output_types = array<i32: 1>, node_attributes = {}, operandSegmentSizes = array<i32: 1, 1>}
    : (memref<?x3xf32>) into (memref<4xf32>)
  return
}

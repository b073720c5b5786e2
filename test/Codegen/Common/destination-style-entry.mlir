// RUN: onnx-aot-opt %s -codegen-destination-style-entry | FileCheck %s

// CHECK: module attributes {
// CHECK-SAME: abi.inputs = [{dims = array<i64: -1, 4>, name = "a", type = 1 : i32}, {{{.*}}}]
// CHECK-SAME: abi.value_shaped_outputs = array<i64: 1>
module attributes {abi.symbols = ["batch"]} {

// CHECK: func.func @main(%[[RT:.*]]: !llvm.ptr, %{{.*}}: memref<?xi8>, %{{.*}}: memref<?xi8>, %[[S:.*]]: index, %[[A:.*]]: memref<?x4xf32>, %{{.*}}: memref<index>, %[[Y:.*]]: memref<?x4xf32>) -> (index, index)
// CHECK: %[[N:.*]] = tensor.extract
// CHECK: materialize_in_destination %{{.*}} in restrict writable %[[Y]]
// CHECK: %[[Z:.*]] = call @onnx_aot.allocate_output.1(%[[RT]], %[[N]])
// CHECK: materialize_in_destination %{{.*}} in restrict writable %[[Z]]
// CHECK: return %[[S]], %[[N]] : index, index
func.func @main(%a: tensor<?x4xf32> {abi.value = {dims = array<i64: -1, 4>, name = "a", type = 1 : i32}},
                %n: tensor<index> {abi.value = {dims = array<i64>, name = "n", type = 7 : i32}})
    -> (tensor<?x4xf32> {abi.value = {dims = array<i64: -1, 4>, name = "y", type = 1 : i32}},
        tensor<?xf32> {abi.value = {dims = array<i64: -1>, name = "z", type = 1 : i32}}) {
  %size = tensor.extract %n[] : tensor<index>
  %z = tensor.empty(%size) : tensor<?xf32>
  return %a, %z : tensor<?x4xf32>, tensor<?xf32>
}
}

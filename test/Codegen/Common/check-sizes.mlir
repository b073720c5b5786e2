// RUN: onnx-aot-opt %s -codegen-destination-style-entry -codegen-check-sizes -canonicalize | FileCheck %s

#id = affine_map<(d0) -> (d0)>
module attributes {abi.symbols = ["m", "n"]} {
// Two symbols that must be equal are compared, one with itself is not.
// CHECK-LABEL: func.func @main
// CHECK-SAME: memref<?xi8>, %[[M:[a-z0-9]+]]: index, %[[N:[a-z0-9]+]]: index,
// CHECK: %[[EQ:.*]] = arith.cmpi eq, %[[M]], %[[N]]
// CHECK: cf.assert %[[EQ]], "an operator: sizes of its inputs do not fit together"
// CHECK-NOT: cf.assert
func.func @main(%a: tensor<?xf32> {abi.value = {dims = array<i64: -1>, name = "a", type = 1 : i32}},
                %b: tensor<?xf32> {abi.value = {dims = array<i64: -2>, name = "b", type = 1 : i32}})
    -> (tensor<?xf32> {abi.value = {dims = array<i64: -1>, name = "y", type = 1 : i32}}) {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %a, %c0 : tensor<?xf32>
  %e = tensor.empty(%m) : tensor<?xf32>
  %y = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%a, %b : tensor<?xf32>, tensor<?xf32>) outs(%e : tensor<?xf32>) {
  ^bb0(%x: f32, %z: f32, %o: f32):
    %s = arith.addf %x, %z : f32
    linalg.yield %s : f32
  } -> tensor<?xf32>
  return %y : tensor<?xf32>
}
}

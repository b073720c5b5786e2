// RUN: onnx-aot-opt %s -codegen-destination-style-entry -codegen-check-sizes -canonicalize -split-input-file | FileCheck %s

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

// -----

#window = affine_map<(d0, d1) -> (d0 * 2 + d1)>
#kernel = affine_map<(d0, d1) -> (d1)>
#out = affine_map<(d0, d1) -> (d0)>
module attributes {abi.symbols = ["n"]} {
// The number of windows is not negative, and the last one ends in the input.
// CHECK-LABEL: func.func @main
// CHECK-SAME: memref<?xi8>, %[[N:[a-z0-9]+]]: index,
// CHECK: %[[COUNT:.*]] = affine.apply {{.*}}[%[[N]]]
// CHECK: %[[SOME:.*]] = arith.cmpi sge, %[[COUNT]], %c0
// CHECK: cf.assert %[[SOME]], "an operator: a size is negative: its inputs are too small"
// CHECK: %[[LAST:.*]] = affine.apply {{.*}}[%[[N]]]
// CHECK: %[[INSIDE:.*]] = arith.cmpi slt, %[[LAST]], %[[N]]
// CHECK: %[[NONE:.*]] = arith.cmpi eq, %[[COUNT]], %c0
// CHECK: %[[OK:.*]] = arith.ori %[[INSIDE]], %[[NONE]]
// CHECK: cf.assert %[[OK]], "an operator: its window reaches over its input"
// CHECK-NOT: cf.assert
func.func @main(%a: tensor<?xf32> {abi.value = {dims = array<i64: -1>, name = "a", type = 1 : i32}})
    -> (tensor<?xf32> {abi.value = {dims = array<i64: -1>, name = "y", type = 1 : i32}}) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %a, %c0 : tensor<?xf32>
  %count = affine.apply affine_map<()[s0] -> ((s0 - 3) floordiv 2 + 1)>()[%n]
  %k = tensor.empty() : tensor<3xf32>
  %e = tensor.empty(%count) : tensor<?xf32>
  %y = linalg.generic {indexing_maps = [#window, #kernel, #out], iterator_types = ["parallel", "reduction"]}
      ins(%a, %k : tensor<?xf32>, tensor<3xf32>) outs(%e : tensor<?xf32>) {
  ^bb0(%x: f32, %z: f32, %o: f32):
    %s = arith.addf %x, %o : f32
    linalg.yield %s : f32
  } -> tensor<?xf32>
  return %y : tensor<?xf32>
}
}

// -----

// A cast that claims a size: the run compares.
module attributes {abi.symbols = ["m"]} {
// CHECK-LABEL: func.func @main
// CHECK-SAME: memref<?xi8>, %[[M:[a-z0-9]+]]: index
// CHECK: %[[FOUR:.*]] = arith.cmpi eq, %[[M]], %c4
// CHECK: cf.assert %[[FOUR]], "an operator: sizes of its inputs do not fit together"
func.func @main(%a: tensor<?xf32> {abi.value = {dims = array<i64: -1>, name = "a", type = 1 : i32}})
    -> (tensor<4xf32> {abi.value = {dims = array<i64: 4>, name = "y", type = 1 : i32}}) {
  %0 = tensor.cast %a : tensor<?xf32> to tensor<4xf32>
  return %0 : tensor<4xf32>
}
}

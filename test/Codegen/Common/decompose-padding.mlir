// RUN: onnx-aot-opt %s -codegen-decompose-padding | FileCheck %s

#id = affine_map<(i, j) -> (i, j)>

// The ring stands before the op that makes the inside: rows over the whole width,
// then columns between them.
// CHECK-LABEL: func.func @before_the_producer
// CHECK: %[[ALL:.*]] = tensor.empty() : tensor<7x6xf32>
// CHECK: %[[TOP:.*]] = linalg.fill {{.*}} -> tensor<1x6xf32>
// CHECK: %[[R1:.*]] = tensor.insert_slice %[[TOP]] into %[[ALL]][0, 0] [1, 6] [1, 1]
// CHECK: %[[LOW:.*]] = linalg.fill {{.*}} -> tensor<2x6xf32>
// CHECK: %[[R2:.*]] = tensor.insert_slice %[[LOW]] into %[[R1]][5, 0] [2, 6] [1, 1]
// CHECK: %[[SIDE:.*]] = linalg.fill {{.*}} -> tensor<4x3xf32>
// CHECK: %[[R3:.*]] = tensor.insert_slice %[[SIDE]] into %[[R2]][1, 3] [4, 3] [1, 1]
// CHECK: %[[IN:.*]] = linalg.generic
// CHECK: %[[Y:.*]] = tensor.insert_slice %[[IN]] into %[[R3]][1, 0] [4, 3] [1, 1]
// CHECK: return %[[Y]]
func.func @before_the_producer(%x: tensor<4x3xf32>) -> tensor<7x6xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x3xf32>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x3xf32>) outs(%e : tensor<4x3xf32>) {
  ^bb0(%a: f32, %out: f32):
    %n = arith.negf %a : f32
    linalg.yield %n : f32
  } -> tensor<4x3xf32>
  %p = tensor.pad %y low[1, 0] high[2, 3] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<4x3xf32> to tensor<7x6xf32>
  return %p : tensor<7x6xf32>
}

// What no op makes is copied by one; sizes may be known at run time only.
// CHECK-LABEL: func.func @copies_an_argument
// CHECK: tensor.dim
// CHECK: %[[C:.*]] = linalg.generic
// CHECK: tensor.insert_slice %[[C]]
func.func @copies_an_argument(%x: tensor<?x3xf32>, %n: index) -> tensor<?x3xf32> {
  %one = arith.constant 1.0 : f32
  %p = tensor.pad %x low[%n, 0] high[0, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %one : f32
  } : tensor<?x3xf32> to tensor<?x3xf32>
  return %p : tensor<?x3xf32>
}

// Nothing inside, and no end that has elements but those of the first axis.
// CHECK-LABEL: func.func @empty_inside
// CHECK: linalg.fill {{.*}} -> tensor<2x4xf32>
// CHECK: %[[Y:.*]] = tensor.insert_slice
// CHECK-NOT: tensor.insert_slice
// CHECK: return %[[Y]]
func.func @empty_inside(%x: tensor<0x3xf32>) -> tensor<2x4xf32> {
  %one = arith.constant 1.0 : f32
  %p = tensor.pad %x low[2, 1] high[0, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %one : f32
  } : tensor<0x3xf32> to tensor<2x4xf32>
  return %p : tensor<2x4xf32>
}

// CHECK-LABEL: func.func @empty
// CHECK-NOT: tensor.insert_slice
func.func @empty(%x: tensor<0x3xf32>) -> tensor<0x4xf32> {
  %one = arith.constant 1.0 : f32
  %p = tensor.pad %x low[0, 1] high[0, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %one : f32
  } : tensor<0x3xf32> to tensor<0x4xf32>
  return %p : tensor<0x4xf32>
}

// The value depends on the place: not a ring.
// CHECK-LABEL: func.func @keeps_other_values
// CHECK: tensor.pad
func.func @keeps_other_values(%x: tensor<4xindex>) -> tensor<5xindex> {
  %p = tensor.pad %x low[0] high[1] {
  ^bb0(%i: index):
    tensor.yield %i : index
  } : tensor<4xindex> to tensor<5xindex>
  return %p : tensor<5xindex>
}

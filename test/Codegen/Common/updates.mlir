// A result that updates an argument is written to the argument's memory, in place
// where the old value is not read any more.
// RUN: onnx-aot-opt %s --split-input-file --cpu-bufferize | FileCheck %s

#id = affine_map<(i) -> (i)>

// The moment and the parameter are one kernel, which overwrites both.
// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[W:[a-z0-9]+]]: memref<100xf32>, %[[G:[a-z0-9]+]]: memref<100xf32>, %[[M:[a-z0-9]+]]: memref<100xf32>)
// CHECK-NOT: memref.view
// CHECK: call @k0.launch(%{{.*}}, %[[W]], %[[M]], %[[G]], %[[M]], %[[W]], %{{.*}})
// CHECK-NOT: call
// CHECK-NOT: memref.copy
// CHECK: return
module attributes {abi.symbols = []} {
func.func @main(%w: tensor<100xf32> {abi.value = {dims = array<i64: 100>, name = "w", type = 1 : i32}},
                %g: tensor<100xf32> {abi.value = {dims = array<i64: 100>, name = "g", type = 1 : i32}},
                %m: tensor<100xf32> {abi.value = {dims = array<i64: 100>, name = "m", type = 1 : i32}})
    -> (tensor<100xf32> {abi.updates = 0 : i64, abi.value = {dims = array<i64: 100>, name = "", type = 1 : i32}},
        tensor<100xf32> {abi.updates = 2 : i64, abi.value = {dims = array<i64: 100>, name = "", type = 1 : i32}}) {
  %e = tensor.empty() : tensor<100xf32>
  %m1 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%m, %g : tensor<100xf32>, tensor<100xf32>) outs(%e : tensor<100xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<100xf32>
  %w1 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%w, %m1 : tensor<100xf32>, tensor<100xf32>) outs(%e : tensor<100xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.subf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<100xf32>
  return %w1, %m1 : tensor<100xf32>, tensor<100xf32>
}
}

// -----

// The old value is an output too, so the new one waits elsewhere.
// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[W:[a-z0-9]+]]: memref<100xf32>, %[[OLD:[a-z0-9]+]]: memref<100xf32>)
// CHECK: %[[VIEW:.*]] = memref.view
// CHECK: call @k0.launch(%{{.*}}, %[[W]], %[[VIEW]], %{{.*}})
// CHECK: memref.copy %[[W]], %[[OLD]]
// CHECK: memref.copy %[[VIEW]], %[[W]]
module attributes {abi.symbols = []} {
func.func @main(%w: tensor<100xf32> {abi.value = {dims = array<i64: 100>, name = "w", type = 1 : i32}})
    -> (tensor<100xf32> {abi.updates = 0 : i64, abi.value = {dims = array<i64: 100>, name = "", type = 1 : i32}},
        tensor<100xf32> {abi.value = {dims = array<i64: 100>, name = "old", type = 1 : i32}}) {
  %e = tensor.empty() : tensor<100xf32>
  %w1 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%w : tensor<100xf32>) outs(%e : tensor<100xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %a, %a : f32
    linalg.yield %s : f32
  } -> tensor<100xf32>
  return %w1, %w : tensor<100xf32>, tensor<100xf32>
}
}

// -----

// A transposition reads elements after it has written others.
// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[W:[a-z0-9]+]]: memref<10x10xf32>)
// CHECK: call @k0.launch(%{{.*}}, %[[W]], %[[VIEW:.*]], %{{.*}})
// CHECK: memref.copy %[[VIEW]], %[[W]]
module attributes {abi.symbols = []} {
func.func @main(%w: tensor<10x10xf32> {abi.value = {dims = array<i64: 10, 10>, name = "w", type = 1 : i32}})
    -> (tensor<10x10xf32> {abi.updates = 0 : i64, abi.value = {dims = array<i64: 10, 10>, name = "", type = 1 : i32}}) {
  %e = tensor.empty() : tensor<10x10xf32>
  %w1 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%w, %w : tensor<10x10xf32>, tensor<10x10xf32>) outs(%e : tensor<10x10xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<10x10xf32>
  return %w1 : tensor<10x10xf32>
}
}

// -----

// Two arguments change places.
// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[P:[a-z0-9]+]]: memref<100xf32>, %[[Q:[a-z0-9]+]]: memref<100xf32>)
// CHECK-DAG: memref.copy %[[Q]], %[[NEWP:.*]] :
// CHECK-DAG: memref.copy %[[P]], %[[NEWQ:.*]] :
// CHECK: memref.copy %{{.*}}, %[[P]] :
// CHECK: memref.copy %{{.*}}, %[[Q]] :
// CHECK: return
module attributes {abi.symbols = []} {
func.func @main(%p: tensor<100xf32> {abi.value = {dims = array<i64: 100>, name = "p", type = 1 : i32}},
                %q: tensor<100xf32> {abi.value = {dims = array<i64: 100>, name = "q", type = 1 : i32}})
    -> (tensor<100xf32> {abi.updates = 0 : i64, abi.value = {dims = array<i64: 100>, name = "", type = 1 : i32}},
        tensor<100xf32> {abi.updates = 1 : i64, abi.value = {dims = array<i64: 100>, name = "", type = 1 : i32}}) {
  return %q, %p : tensor<100xf32>, tensor<100xf32>
}
}

// -----

// The old value is not read, as where all of it is overwritten by a constant.
// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[W:[a-z0-9]+]]: memref<4xf32>)
// CHECK: call @k0.launch(%{{.*}}, %[[W]], %{{.*}})
// CHECK-NOT: memref.copy
// CHECK: return
module attributes {abi.symbols = []} {
func.func @main(%w: tensor<4xf32> {abi.value = {dims = array<i64: 4>, name = "w", type = 1 : i32}})
    -> (tensor<4xf32> {abi.updates = 0 : i64, abi.value = {dims = array<i64: 4>, name = "", type = 1 : i32}}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %0 = linalg.fill ins(%zero : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
}

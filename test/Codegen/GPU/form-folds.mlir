// RUN: onnx-aot-opt %s --gpu-form-folds --split-input-file | FileCheck %s

#in = affine_map<(d0, d1) -> (d0, d1)>
#out = affine_map<(d0, d1) -> (d0)>

// A maximum and its place: two results of one body; the scalar it uses is passed.
// CHECK-LABEL: func.func @main
// CHECK: %[[R:.*]]:2 = kernel.launch @fold.0(%{{.*}}, %{{.*}}) into(%{{.*}}, %{{.*}})
// CHECK: return %[[R]]#0, %[[R]]#1
// CHECK: func.func private @fold.0(%[[X:.*]]: tensor<?x?xf32>, %[[S:.*]]: f32, %[[M:.*]]: tensor<?xf32>, %[[P:.*]]: tensor<?xi64>)
// CHECK: linalg.fill ins(%{{.*}} : f32) outs(%[[M]] : tensor<?xf32>)
// CHECK: linalg.fill ins(%{{.*}} : i64) outs(%[[P]] : tensor<?xi64>)
// CHECK: linalg.generic
// CHECK: arith.mulf %{{.*}}, %[[S]]
module attributes {abi.inputs = [], abi.outputs = [], abi.symbols = []} {
func.func @main(%x: tensor<?x?xf32>, %s: f32) -> (tensor<?xf32>, tensor<?xi64>) {
  %c0 = arith.constant 0 : index
  %low = arith.constant 0xFF800000 : f32
  %none = arith.constant -1 : i64
  %n = tensor.dim %x, %c0 : tensor<?x?xf32>
  %e = tensor.empty(%n) : tensor<?xf32>
  %m = linalg.fill ins(%low : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %f = tensor.empty(%n) : tensor<?xi64>
  %p = linalg.fill ins(%none : i64) outs(%f : tensor<?xi64>) -> tensor<?xi64>
  %r:2 = linalg.generic {indexing_maps = [#in, #out, #out], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<?x?xf32>) outs(%m, %p : tensor<?xf32>, tensor<?xi64>) {
  ^bb0(%a: f32, %best: f32, %place: i64):
    %k = linalg.index 1 : index
    %i = arith.index_cast %k : index to i64
    %v = arith.mulf %a, %s : f32
    %more = arith.cmpf ogt, %v, %best : f32
    %newBest = arith.select %more, %v, %best : f32
    %newPlace = arith.select %more, %i, %place : i64
    linalg.yield %newBest, %newPlace : f32, i64
  } -> (tensor<?xf32>, tensor<?xi64>)
  return %r#0, %r#1 : tensor<?xf32>, tensor<?xi64>
}
}

// -----

#in1 = affine_map<(d0) -> (d0)>
#out1 = affine_map<(d0) -> ()>

// What the sum starts from is not known: it stays.
// CHECK-LABEL: func.func @main
// CHECK-NOT: kernel.launch
// CHECK: linalg.generic
module attributes {abi.inputs = [], abi.outputs = [], abi.symbols = []} {
func.func @main(%x: tensor<?xf32>, %start: tensor<f32>) -> tensor<f32> {
  %r = linalg.generic {indexing_maps = [#in1, #out1], iterator_types = ["reduction"]}
      ins(%x : tensor<?xf32>) outs(%start : tensor<f32>) {
  ^bb0(%a: f32, %sum: f32):
    %h = arith.mulf %sum, %sum : f32
    %t = arith.addf %h, %a : f32
    linalg.yield %t : f32
  } -> tensor<f32>
  return %r : tensor<f32>
}
}

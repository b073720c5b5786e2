// RUN: onnx-aot-opt %s -cpu-widen-sums | FileCheck %s

// CHECK-LABEL: func.func @sum
// CHECK: %[[START:.*]] = linalg.fill ins(%{{.*}} : f64)
// CHECK: %[[TOTAL:.*]] = linalg.generic
// CHECK-SAME: outs(%[[START]] : tensor<?xf64>)
// CHECK: arith.mulf {{.*}} : f32
// CHECK: %[[TERM:.*]] = arith.extf {{.*}} : f32 to f64
// CHECK: arith.addf %{{.*}}, %[[TERM]] : f64
// CHECK: linalg.generic
// CHECK-SAME: ins(%[[TOTAL]] : tensor<?xf64>)
// CHECK: arith.truncf {{.*}} : f64 to f32
func.func @sum(%x: tensor<?x8xf32>, %n: index) -> tensor<?xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty(%n) : tensor<?xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<?x8xf32>) outs(%f : tensor<?xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %p = arith.mulf %a, %a : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  } -> tensor<?xf32>
  return %r : tensor<?xf32>
}

// What is no sum stays as it is.
// CHECK-LABEL: func.func @largest
// CHECK-NOT: f64
// CHECK: return
func.func @largest(%x: tensor<4x8xf32>) -> tensor<4xf32> {
  %low = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<4xf32>
  %f = linalg.fill ins(%low : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<4x8xf32>) outs(%f : tensor<4xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %m = arith.maximumf %acc, %a : f32
    linalg.yield %m : f32
  } -> tensor<4xf32>
  return %r : tensor<4xf32>
}

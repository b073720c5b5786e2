// RUN: onnx-aot-opt %s -codegen-form-kernels=join-extremes=true | FileCheck %s
// RUN: onnx-aot-opt %s -codegen-form-kernels | FileCheck %s --check-prefix=APART

#id = affine_map<(m, n) -> (m, n)>
#all = affine_map<(m, n) -> ()>
#row = affine_map<(m, n) -> (m)>

// Both extremes of what a kernel makes are its results; those of an argument,
// which nobody makes, are a kernel of their own. Sums depend on their order.
// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[A:.*]]: tensor<4x6xf32>)
// CHECK: %[[R:.*]]:3 = kernel.launch @kernel.{{[0-9]}}(%[[A]]) into(%{{.*}}, %{{.*}}, %{{.*}}) {{.*}} -> tensor<4x6xf32>, tensor<f32>, tensor<f32>
// CHECK: %[[OWN:.*]] = kernel.launch @kernel.{{[0-9]}}(%[[A]]) into(%{{.*}}) : (tensor<4x6xf32>) into(tensor<f32>) -> tensor<f32>
// CHECK: return %[[R]]#0, %[[R]]#1, %[[R]]#2, %[[OWN]], %{{.*}}

// The value that only an extreme reads is not stored.
// CHECK: func.func private @kernel.{{[0-9]}}(%{{.*}}: tensor<4x6xf32>, %{{.*}}: tensor<f32>) -> tensor<f32>

// APART-COUNT-5: kernel.launch
func.func @main(%a: tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x6xf32>
  %s = tensor.empty() : tensor<f32>
  %z = linalg.fill ins(%zero : f32) outs(%s : tensor<f32>) -> tensor<f32>
  %q = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) {
  ^bb0(%x: f32, %o: f32):
    %v = arith.mulf %x, %x : f32
    linalg.yield %v : f32
  } -> tensor<4x6xf32>
  %max = linalg.generic {indexing_maps = [#id, #all], iterator_types = ["reduction", "reduction"]}
      ins(%q : tensor<4x6xf32>) outs(%z : tensor<f32>) {
  ^bb0(%x: f32, %acc: f32):
    %v = arith.maximumf %x, %acc : f32
    linalg.yield %v : f32
  } -> tensor<f32>
  %min = linalg.generic {indexing_maps = [#id, #all], iterator_types = ["reduction", "reduction"]}
      ins(%q : tensor<4x6xf32>) outs(%z : tensor<f32>) {
  ^bb0(%x: f32, %acc: f32):
    %v = arith.minimumf %x, %acc : f32
    linalg.yield %v : f32
  } -> tensor<f32>
  %own = linalg.generic {indexing_maps = [#id, #all], iterator_types = ["reduction", "reduction"]}
      ins(%a : tensor<4x6xf32>) outs(%z : tensor<f32>) {
  ^bb0(%x: f32, %acc: f32):
    %v = arith.maximumf %x, %acc : f32
    linalg.yield %v : f32
  } -> tensor<f32>
  %sum = linalg.generic {indexing_maps = [#id, #all], iterator_types = ["reduction", "reduction"]}
      ins(%q : tensor<4x6xf32>) outs(%z : tensor<f32>) {
  ^bb0(%x: f32, %acc: f32):
    %v = arith.addf %x, %acc : f32
    linalg.yield %v : f32
  } -> tensor<f32>
  return %q, %max, %min, %own, %sum : tensor<4x6xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>
}

// RUN: onnx-aot-opt %s -cpu-pack-operands=vector-bytes=16 | FileCheck %s

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (n, k)>
#c = affine_map<(m, n, k) -> (m, n)>

// CHECK-DAG: #[[PANEL:.*]] = affine_map<(d0, d1, d2) -> (d1 floordiv 8, d2, d1 mod 8)>
// CHECK-DAG: #[[COPY:.*]] = affine_map<(d0, d1, d2) -> (d0 * 8 + d2, d1)>
// CHECK-DAG: #[[TURN:.*]] = affine_map<(d0, d1) -> (d1, d0)>

// Nine columns in panels of eight; the second panel is padded.
// CHECK-LABEL: func.func @packs_a_constant
// CHECK: %[[P:.*]] = arith.constant {{.*}} : tensor<2x2x8xf32>
// CHECK: linalg.generic {indexing_maps = [#{{.*}}, #[[PANEL]], #{{.*}}]
// CHECK-SAME: ins(%{{.*}}, %[[P]] : tensor<4x2xf32>, tensor<2x2x8xf32>)
func.func @packs_a_constant(%a: tensor<4x2xf32>, %z: tensor<4x9xf32>) -> tensor<4x9xf32> {
  %b = arith.constant dense<[[1.,2.],[3.,4.],[5.,6.],[7.,8.],[9.,10.],[11.,12.],[13.,14.],[15.,16.],[17.,18.]]> : tensor<9x2xf32>
  %p = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<4x2xf32>, tensor<9x2xf32>) outs(%z : tensor<4x9xf32>) {
  ^bb0(%x: f32, %y: f32, %acc: f32):
    %m = arith.mulf %x, %y : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  } -> tensor<4x9xf32>
  return %p : tensor<4x9xf32>
}

// Columns that do not lie side by side are copied to panels; the copy's last panel
// ends before that of the columns.
// CHECK-LABEL: func.func @copies_a_run_time_operand
// CHECK: %[[T:.*]] = linalg.generic {indexing_maps = [#[[COPY]], #{{.*}}]{{.*}} ins(%{{.*}} : tensor<?x2xf32>) outs(%{{.*}} : tensor<2x2x8xf32>) attrs = {kernel.guard}
// CHECK: linalg.generic {indexing_maps = [#{{.*}}, #[[PANEL]], #{{.*}}]
func.func @copies_a_run_time_operand(%a: tensor<4x2xf32>, %b: tensor<9x2xf32>, %z: tensor<4x9xf32>) -> tensor<4x9xf32> {
  %p = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<4x2xf32>, tensor<9x2xf32>) outs(%z : tensor<4x9xf32>) {
  ^bb0(%x: f32, %y: f32, %acc: f32):
    %m = arith.mulf %x, %y : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  } -> tensor<4x9xf32>
  return %p : tensor<4x9xf32>
}

// One panel is only turned.
// CHECK-LABEL: func.func @turns_a_run_time_operand
// CHECK: %[[T:.*]] = linalg.generic {indexing_maps = [#[[TURN]], #{{.*}}]
func.func @turns_a_run_time_operand(%a: tensor<4x2xf32>, %b: tensor<5x2xf32>, %z: tensor<4x5xf32>) -> tensor<4x5xf32> {
  %p = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<4x2xf32>, tensor<5x2xf32>) outs(%z : tensor<4x5xf32>) {
  ^bb0(%x: f32, %y: f32, %acc: f32):
    %m = arith.mulf %x, %y : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  } -> tensor<4x5xf32>
  return %p : tensor<4x5xf32>
}

// RUN: onnx-aot-opt %s -cpu-pack-nibbles=vector-bytes=16 | FileCheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (n, k)>
#c = affine_map<(m, n, k) -> (m, n)>

// CHECK-DAG: #[[ROWS:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d3, d4)>
// CHECK-DAG: #[[WORDS:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d1 floordiv 4, d2, d3, d1 mod 4)>
// CHECK-DAG: #[[BLOCKS:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d1 floordiv 4, d2, d1 mod 4)>

// Two columns of two blocks of eight numbers: a word for each, in a panel that is
// padded. Offsets are those of the least number, -8, less the points.
// CHECK-LABEL: func.func @packs
// CHECK-SAME: %[[A:.*]]: tensor<?x16xf32>
// CHECK-DAG: %[[W:.*]] = arith.constant dense_resource<packed> : tensor<1x2x1x4xi32>
// CHECK-DAG: %[[S:.*]] = arith.constant dense_resource<packed_1> : tensor<1x2x4xf32>
// CHECK-DAG: %[[O:.*]] = arith.constant dense_resource<packed_2> : tensor<1x2x4xf32>
// CHECK: %[[E:.*]] = tensor.expand_shape %[[A]] {{\[\[}}0], [1, 2, 3]] {{.*}} into tensor<?x2x1x8xf32>
// CHECK: linalg.generic {indexing_maps = [#[[ROWS]], #[[WORDS]], #[[BLOCKS]], #[[BLOCKS]], #{{.*}}]
// CHECK-SAME: ins(%[[E]], %[[W]], %[[S]], %[[O]]
// CHECK-SAME: attrs = {kernel.packed_weights}
// CHECK: math.fma
// CHECK-NOT: arith.extsi
func.func @packs(%x: tensor<?x16xf32>, %z: tensor<?x2xf32>) -> tensor<?x2xf32> {
  %w = arith.constant dense<[[-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7], [7, 7, 7, 7, 7, 7, 7, 7, 0, 0, 0, 0, 0, 0, 0, 0]]> : tensor<2x16xi8>
  %scale = arith.constant dense<[[0.5, 1.0], [2.0, 4.0]]> : tensor<2x2xf32>
  %point = arith.constant dense<[[0, 1], [2, 3]]> : tensor<2x2xi8>
  %c8 = arith.constant 8 : index
  %e = tensor.empty() : tensor<2x16xf32>
  %d = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%w : tensor<2x16xi8>) outs(%e : tensor<2x16xf32>) {
  ^bb0(%in: i8, %out: f32):
    %n = linalg.index 0 : index
    %k = linalg.index 1 : index
    %number = arith.extsi %in : i8 to i32
    %block = arith.divsi %k, %c8 : index
    %p = tensor.extract %point[%n, %block] : tensor<2x2xi8>
    %q = arith.extsi %p : i8 to i32
    %sub = arith.subi %number, %q : i32
    %real = arith.sitofp %sub : i32 to f32
    %s = tensor.extract %scale[%n, %block] : tensor<2x2xf32>
    %y = arith.mulf %real, %s : f32
    linalg.yield %y : f32
  } -> tensor<2x16xf32>
  %r = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %d : tensor<?x16xf32>, tensor<2x16xf32>) outs(%z : tensor<?x2xf32>) {
  ^bb0(%in: f32, %weight: f32, %sum: f32):
    %m = arith.mulf %in, %weight : f32
    %s = arith.addf %sum, %m : f32
    linalg.yield %s : f32
  } -> tensor<?x2xf32>
  return %r : tensor<?x2xf32>
}

// Numbers that 16 values do not hold stay what they are.
// CHECK-LABEL: func.func @keeps_wide_numbers
// CHECK-NOT: kernel.packed_weights
// CHECK: return
func.func @keeps_wide_numbers(%x: tensor<?x8xf32>, %z: tensor<?x1xf32>) -> tensor<?x1xf32> {
  %w = arith.constant dense<[[-9, -7, -6, -5, -4, -3, -2, 7]]> : tensor<1x8xi8>
  %scale = arith.constant dense<[[0.5]]> : tensor<1x1xf32>
  %c8 = arith.constant 8 : index
  %e = tensor.empty() : tensor<1x8xf32>
  %d = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%w : tensor<1x8xi8>) outs(%e : tensor<1x8xf32>) {
  ^bb0(%in: i8, %out: f32):
    %n = linalg.index 0 : index
    %k = linalg.index 1 : index
    %number = arith.extsi %in : i8 to i32
    %block = arith.divsi %k, %c8 : index
    %real = arith.sitofp %number : i32 to f32
    %s = tensor.extract %scale[%n, %block] : tensor<1x1xf32>
    %y = arith.mulf %real, %s : f32
    linalg.yield %y : f32
  } -> tensor<1x8xf32>
  %r = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %d : tensor<?x8xf32>, tensor<1x8xf32>) outs(%z : tensor<?x1xf32>) {
  ^bb0(%in: f32, %weight: f32, %sum: f32):
    %m = arith.mulf %in, %weight : f32
    %s = arith.addf %sum, %m : f32
    linalg.yield %s : f32
  } -> tensor<?x1xf32>
  return %r : tensor<?x1xf32>
}

// CHECK: packed: "0x4000000010325476FFFFFFFF000000000000000098BADCFE8888888800000000{{0*}}"
// CHECK: packed_2: "0x40000000000080C00000A0C1{{.*}}"

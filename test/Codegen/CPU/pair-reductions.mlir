// RUN: onnx-aot-opt %s -cpu-pair-reductions | FileCheck %s
// RUN: onnx-aot-opt %s -cpu-pair-reductions -cpu-pack-operands=vector-bytes=16 | FileCheck %s --check-prefix=PACKED
// RUN: onnx-aot-opt %s -cpu-pair-reductions=byte-dots=true -cpu-pack-operands=vector-bytes=16 | FileCheck %s --check-prefix=BYTES

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

// CHECK-DAG: #[[ROWS:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>
// CHECK-DAG: #[[COLUMNS:.*]] = affine_map<(d0, d1, d2, d3) -> (d2, d3, d1)>
// PACKED-DAG: #[[PANEL:.*]] = affine_map<(d0, d1, d2, d3) -> (d1 floordiv 4, d2, (d1 mod 4) * 2 + d3)>

// Bytes are widened; the constant only gets another shape.
// CHECK-LABEL: func.func @splits_an_even_reduction
// CHECK: arith.extui {{.*}} : i8 to i16
// CHECK: tensor.expand_shape {{.*}} {{\[\[}}0], [1, 2]] output_shape [2, 2, 2] : tensor<2x4xi16> into tensor<2x2x2xi16>
// CHECK: arith.constant dense<{{.*}}> : tensor<2x2x3xi8>
// CHECK: linalg.generic {indexing_maps = [#[[ROWS]], #[[COLUMNS]], #{{.*}}]
// PACKED-LABEL: func.func @splits_an_even_reduction
// PACKED: arith.constant dense_resource<packed> : tensor<1x2x8xi8>
// PACKED: linalg.generic {indexing_maps = [#{{.*}}, #[[PANEL]], #{{.*}}]
func.func @splits_an_even_reduction(%a: tensor<2x4xi8>, %z: tensor<2x3xi32>) -> tensor<2x3xi32> {
  %b = arith.constant dense<[[1, 2, 3], [4, 5, 6], [7, 8, 9], [10, 11, 12]]> : tensor<4x3xi8>
  %p = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<2x4xi8>, tensor<4x3xi8>) outs(%z : tensor<2x3xi32>) {
  ^bb0(%x: i8, %y: i8, %acc: i32):
    %l = arith.extui %x : i8 to i32
    %r = arith.extsi %y : i8 to i32
    %m = arith.muli %l, %r : i32
    %s = arith.addi %acc, %m : i32
    linalg.yield %s : i32
  } -> tensor<2x3xi32>
  return %p : tensor<2x3xi32>
}

// CHECK-LABEL: func.func @keeps_an_odd_reduction
// CHECK-NOT: expand_shape
// CHECK: return
func.func @keeps_an_odd_reduction(%a: tensor<2x3xi16>, %z: tensor<2x3xi32>) -> tensor<2x3xi32> {
  %b = arith.constant dense<[[1, 2, 3], [4, 5, 6], [7, 8, 9]]> : tensor<3x3xi8>
  %p = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<2x3xi16>, tensor<3x3xi8>) outs(%z : tensor<2x3xi32>) {
  ^bb0(%x: i16, %y: i8, %acc: i32):
    %l = arith.extsi %x : i16 to i32
    %r = arith.extsi %y : i8 to i32
    %m = arith.muli %l, %r : i32
    %s = arith.addi %acc, %m : i32
    linalg.yield %s : i32
  } -> tensor<2x3xi32>
  return %p : tensor<2x3xi32>
}

// With products of bytes the rows stay what they were before their zero point was
// subtracted, and the columns' sums times that are added behind: -3 times 16 and 20.
// CHECK-LABEL: func.func @multiplies_bytes
// CHECK: tensor.expand_shape {{.*}} : tensor<2x4xi16> into tensor<2x2x2xi16>
// BYTES-LABEL: func.func @multiplies_bytes
// BYTES-SAME: (%[[A:.*]]: tensor<2x4xi8>
// BYTES-NOT: arith.extui {{.*}} : i8 to i16
// BYTES: tensor.expand_shape %[[A]] {{.*}} : tensor<2x4xi8> into tensor<2x1x4xi8>
// BYTES: arith.constant dense_resource<packed{{.*}}> : tensor<1x1x16xi8>
// BYTES: %[[P:.*]] = linalg.generic
// BYTES: arith.extui {{.*}} : i8 to i32
// BYTES: arith.extsi {{.*}} : i8 to i32
// BYTES: %[[SUMS:.*]] = arith.constant dense<[-48, -60]> : tensor<2xi32>
// BYTES: linalg.generic {{.*}} ins(%[[P]], %[[SUMS]] : tensor<2x2xi32>, tensor<2xi32>)
func.func @multiplies_bytes(%a: tensor<2x4xi8>, %z: tensor<2x2xi32>) -> tensor<2x2xi32> {
  %b = arith.constant dense<[[1, 2], [3, 4], [5, 6], [7, 8]]> : tensor<4x2xi8>
  %c3 = arith.constant 3 : i16
  %e = tensor.empty() : tensor<2x4xi16>
  %w = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<2x4xi8>) outs(%e : tensor<2x4xi16>) {
  ^bb0(%x: i8, %o: i16):
    %l = arith.extui %x : i8 to i16
    %s = arith.subi %l, %c3 : i16
    linalg.yield %s : i16
  } -> tensor<2x4xi16>
  %p = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%w, %b : tensor<2x4xi16>, tensor<4x2xi8>) outs(%z : tensor<2x2xi32>) {
  ^bb0(%x: i16, %y: i8, %acc: i32):
    %l = arith.extsi %x : i16 to i32
    %r = arith.extsi %y : i8 to i32
    %m = arith.muli %l, %r : i32
    %s = arith.addi %acc, %m : i32
    linalg.yield %s : i32
  } -> tensor<2x2xi32>
  return %p : tensor<2x2xi32>
}

// A zero point that only the run knows is multiplied by the columns' sums there.
// BYTES-LABEL: func.func @multiplies_bytes_less_a_point
// BYTES-SAME: (%[[A:.*]]: tensor<2x4xi8>, %[[POINT:.*]]: tensor<i8>
// BYTES: %[[P:.*]] = linalg.generic
// BYTES: %[[SUMS:.*]] = arith.constant dense<[-16, -20]> : tensor<2xi32>
// BYTES: linalg.generic {{.*}} ins(%[[P]], %[[SUMS]], %[[POINT]] : tensor<2x2xi32>, tensor<2xi32>, tensor<i8>)
// BYTES: arith.extui {{.*}} : i8 to i32
// BYTES: arith.muli
// BYTES: arith.addi
func.func @multiplies_bytes_less_a_point(%a: tensor<2x4xi8>, %point: tensor<i8>, %z: tensor<2x2xi32>) -> tensor<2x2xi32> {
  %b = arith.constant dense<[[1, 2], [3, 4], [5, 6], [7, 8]]> : tensor<4x2xi8>
  %e = tensor.empty() : tensor<2x4xi16>
  %w = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> ()>, affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]}
      ins(%a, %point : tensor<2x4xi8>, tensor<i8>) outs(%e : tensor<2x4xi16>) {
  ^bb0(%x: i8, %q: i8, %o: i16):
    %l = arith.extui %x : i8 to i16
    %r = arith.extui %q : i8 to i16
    %s = arith.subi %l, %r : i16
    linalg.yield %s : i16
  } -> tensor<2x4xi16>
  %p = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%w, %b : tensor<2x4xi16>, tensor<4x2xi8>) outs(%z : tensor<2x2xi32>) {
  ^bb0(%x: i16, %y: i8, %acc: i32):
    %l = arith.extsi %x : i16 to i32
    %r = arith.extsi %y : i8 to i32
    %m = arith.muli %l, %r : i32
    %s = arith.addi %acc, %m : i32
    linalg.yield %s : i32
  } -> tensor<2x2xi32>
  return %p : tensor<2x2xi32>
}

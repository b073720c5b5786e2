// RUN: onnx-aot-opt %s -onnx-canonicalize -split-input-file | FileCheck %s

// CHECK-LABEL: func.func @cancels_transposes
// CHECK-SAME: (%[[X:.*]]: tensor<2x3x4xf32>)
// CHECK-NEXT: %[[T:.*]] = onnx.Transpose %[[X]] {perm = array<i64: 1, 2, 0>}
// CHECK-NEXT: return %[[X]], %[[T]]
func.func @cancels_transposes(%x: tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>, tensor<3x4x2xf32>) {
  %0 = onnx.Transpose %x {perm = array<i64: 2, 0, 1>} : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
  %1 = onnx.Transpose %0 {perm = array<i64: 1, 2, 0>} : (tensor<4x2x3xf32>) -> tensor<2x3x4xf32>
  %2 = onnx.Transpose %0 {perm = array<i64: 2, 0, 1>} : (tensor<4x2x3xf32>) -> tensor<3x4x2xf32>
  return %1, %2 : tensor<2x3x4xf32>, tensor<3x4x2xf32>
}

// -----

// CHECK-LABEL: func.func @cancels_reshapes_of_symbolic_sizes
// CHECK-SAME: (%[[X:.*]]: tensor<?x?x4xf32
// CHECK-NEXT: return %[[X]]
func.func @cancels_reshapes_of_symbolic_sizes(%x: tensor<?x?x4xf32, affine_map<()[s0, s1] -> (s0, s1, 4)>>) -> tensor<?x?x4xf32, affine_map<()[s0, s1] -> (s0, s1, 4)>> {
  %axis = onnx.Constant dense<1> : tensor<1xi64>
  %0 = onnx.Unsqueeze %x, %axis : (tensor<?x?x4xf32, affine_map<()[s0, s1] -> (s0, s1, 4)>>, tensor<1xi64>) -> tensor<?x1x?x4xf32, affine_map<()[s0, s1] -> (s0, 1, s1, 4)>>
  %1 = onnx.Squeeze %0, %axis : (tensor<?x1x?x4xf32, affine_map<()[s0, s1] -> (s0, 1, s1, 4)>>, tensor<1xi64>) -> tensor<?x?x4xf32, affine_map<()[s0, s1] -> (s0, s1, 4)>>
  return %1 : tensor<?x?x4xf32, affine_map<()[s0, s1] -> (s0, s1, 4)>>
}

// -----

// CHECK-LABEL: func.func @merges_reshapes
// CHECK: %[[SIZES:.*]] = onnx.Constant dense<[-1, 3, 8]>
// CHECK: onnx.Reshape %{{.*}}, %[[SIZES]]
// CHECK-NOT: onnx.Flatten
func.func @merges_reshapes(%x: tensor<?x4x6xf32, affine_map<()[s0] -> (s0, 4, 6)>>) -> tensor<?x3x8xf32, affine_map<()[s0] -> (s0, 3, 8)>> {
  %shape = onnx.Constant dense<[0, 3, 8]> : tensor<3xi64>
  %0 = onnx.Flatten %x : (tensor<?x4x6xf32, affine_map<()[s0] -> (s0, 4, 6)>>) -> tensor<?x24xf32, affine_map<()[s0] -> (s0, 24)>>
  %1 = onnx.Reshape %0, %shape : (tensor<?x24xf32, affine_map<()[s0] -> (s0, 24)>>, tensor<3xi64>) -> tensor<?x3x8xf32, affine_map<()[s0] -> (s0, 3, 8)>>
  return %1 : tensor<?x3x8xf32, affine_map<()[s0] -> (s0, 3, 8)>>
}

// -----

// The whole backwards is not the whole.
// CHECK-LABEL: func.func @drops_whole_slices
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>)
// CHECK: %[[BACK:.*]] = onnx.Slice
// CHECK: return %[[X]], %[[BACK]]
func.func @drops_whole_slices(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %zero = onnx.Constant dense<0> : tensor<1xi64>
  %large = onnx.Constant dense<1000> : tensor<1xi64>
  %small = onnx.Constant dense<-1000> : tensor<1xi64>
  %minus = onnx.Constant dense<-1> : tensor<1xi64>
  %0 = onnx.Slice %x, %zero, %large {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>} : (tensor<4xf32>, tensor<1xi64>, tensor<1xi64>) -> tensor<4xf32>
  %1 = onnx.Slice %x, %minus, %small, %zero, %minus {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>} : (tensor<4xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @drops_empty_parts
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>
// CHECK-NEXT: return %[[X]], %[[X]], %[[X]]
func.func @drops_empty_parts(%x: tensor<4xf32>, %e: tensor<0xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %pads = onnx.Constant dense<0> : tensor<2xi64>
  %shape = onnx.Constant dense<1> : tensor<1xi64>
  %0 = onnx.Concat %e, %x, %e {axis = 0 : i64} : (tensor<0xf32>, tensor<4xf32>, tensor<0xf32>) -> tensor<4xf32>
  %1 = onnx.Pad %x, %pads {operandSegmentSizes = array<i32: 1, 1, 0, 0>} : (tensor<4xf32>, tensor<2xi64>) -> tensor<4xf32>
  %2 = onnx.Expand %x, %shape : (tensor<4xf32>, tensor<1xi64>) -> tensor<4xf32>
  return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @joins_what_was_split
// CHECK-SAME: (%[[X:.*]]: tensor<4x6xf32>)
// CHECK: %[[CROSS:.*]] = onnx.Concat
// CHECK: return %[[X]], %[[CROSS]]
func.func @joins_what_was_split(%x: tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<8x3xf32>) {
  %0:2 = onnx.Split %x {axis = 1 : i64, num_outputs = 2 : i64} : (tensor<4x6xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>)
  %1 = onnx.Concat %0#0, %0#1 {axis = -1 : i64} : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x6xf32>
  %2 = onnx.Concat %0#0, %0#1 {axis = 0 : i64} : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<8x3xf32>
  return %1, %2 : tensor<4x6xf32>, tensor<8x3xf32>
}

// -----

// CHECK-LABEL: func.func @broadcasts_without_expand
// CHECK-SAME: (%[[X:.*]]: tensor<1x3xf32>, %[[Y:.*]]: tensor<2x3xf32>)
// CHECK: %[[LARGE:.*]] = onnx.Expand
// CHECK: onnx.Mul %[[X]], %[[Y]]
// CHECK: onnx.Mul %[[LARGE]], %[[X]]
func.func @broadcasts_without_expand(%x: tensor<1x3xf32>, %y: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  %shape = onnx.Constant dense<[2, 3]> : tensor<2xi64>
  %0 = onnx.Expand %x, %shape : (tensor<1x3xf32>, tensor<2xi64>) -> tensor<2x3xf32>
  %1 = onnx.Mul %0, %y : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = onnx.Mul %0, %x : (tensor<2x3xf32>, tensor<1x3xf32>) -> tensor<2x3xf32>
  return %1, %2 : tensor<2x3xf32>, tensor<2x3xf32>
}

// -----

// CHECK-LABEL: func.func @spells_copied_sizes_as_zeros
// CHECK: %[[SIZES:.*]] = onnx.Constant dense<[0, 0, 2, 3]>
// CHECK-NOT: onnx.Shape
// CHECK: onnx.Reshape %{{.*}}, %[[SIZES]]
func.func @spells_copied_sizes_as_zeros(%x: tensor<?x?x6xf32, affine_map<()[s0, s1] -> (s0, s1, 6)>>) -> tensor<?x?x2x3xf32, affine_map<()[s0, s1] -> (s0, s1, 2, 3)>> {
  %zero = onnx.Constant dense<0> : tensor<1xi64>
  %two = onnx.Constant dense<2> : tensor<1xi64>
  %tail = onnx.Constant dense<[2, 3]> : tensor<2xi64>
  %0 = onnx.Shape %x : (tensor<?x?x6xf32, affine_map<()[s0, s1] -> (s0, s1, 6)>>) -> tensor<3xi64>
  %1 = onnx.Slice %0, %zero, %two {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>} : (tensor<3xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
  %2 = onnx.Concat %1, %tail {axis = 0 : i64} : (tensor<2xi64>, tensor<2xi64>) -> tensor<4xi64>
  %3 = onnx.Reshape %x, %2 : (tensor<?x?x6xf32, affine_map<()[s0, s1] -> (s0, s1, 6)>>, tensor<4xi64>) -> tensor<?x?x2x3xf32, affine_map<()[s0, s1] -> (s0, s1, 2, 3)>>
  return %3 : tensor<?x?x2x3xf32, affine_map<()[s0, s1] -> (s0, s1, 2, 3)>>
}

// -----

// Sizes in another order are no copies.
// CHECK-LABEL: func.func @keeps_swapped_sizes
// CHECK: onnx.Gather
// CHECK: onnx.Reshape
func.func @keeps_swapped_sizes(%x: tensor<?x?xf32, affine_map<()[s0, s1] -> (s0, s1)>>) -> tensor<?x?xf32, affine_map<()[s0, s1] -> (s1, s0)>> {
  %swap = onnx.Constant dense<[1, 0]> : tensor<2xi64>
  %0 = onnx.Shape %x : (tensor<?x?xf32, affine_map<()[s0, s1] -> (s0, s1)>>) -> tensor<2xi64>
  %1 = onnx.Gather %0, %swap : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %2 = onnx.Reshape %x, %1 : (tensor<?x?xf32, affine_map<()[s0, s1] -> (s0, s1)>>, tensor<2xi64>) -> tensor<?x?xf32, affine_map<()[s0, s1] -> (s1, s0)>>
  return %2 : tensor<?x?xf32, affine_map<()[s0, s1] -> (s1, s0)>>
}

// RUN: onnx-aot-opt %s -onnx-fold-constants -split-input-file | FileCheck %s

// CHECK-LABEL: func.func @adds_broadcast_floats
// CHECK: onnx.Constant dense<{{\[}}[1.500000e+00, 2.500000e+00], [2.500000e+00, 3.500000e+00]]>
// CHECK-NOT: onnx.Add
func.func @adds_broadcast_floats() -> tensor<2x2xf32> {
  %a = onnx.Constant dense<[1.0, 2.0]> : tensor<2xf32>
  %b = onnx.Constant dense<[[0.5], [1.5]]> : tensor<2x1xf32>
  %0 = onnx.Add %a, %b : (tensor<2xf32>, tensor<2x1xf32>) -> tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}

// -----

// CHECK-LABEL: func.func @divides_integers_as_the_dialect_does
// CHECK: onnx.Constant dense<[-2, 0, -128]> : tensor<3xi8>
func.func @divides_integers_as_the_dialect_does() -> tensor<3xi8> {
  %a = onnx.Constant dense<[-5, 7, -128]> : tensor<3xi8>
  %b = onnx.Constant dense<[2, 0, -1]> : tensor<3xi8>
  %0 = onnx.Div %a, %b : (tensor<3xi8>, tensor<3xi8>) -> tensor<3xi8>
  return %0 : tensor<3xi8>
}

// -----

// Unsigned: 200 > 100, and 100 - 200 wraps.
// CHECK-LABEL: func.func @compares_unsigned
// CHECK-DAG: onnx.Constant dense<[true, false]> : tensor<2xi1>
// CHECK-DAG: onnx.Constant dense<[100, 156]> : tensor<2xui8>
func.func @compares_unsigned() -> (tensor<2xi1>, tensor<2xui8>) {
  %a = onnx.Constant dense<[200, 100]> : tensor<2xui8>
  %b = onnx.Constant dense<[100, 200]> : tensor<2xui8>
  %0 = onnx.Greater %a, %b : (tensor<2xui8>, tensor<2xui8>) -> tensor<2xi1>
  %1 = onnx.Sub %a, %b : (tensor<2xui8>, tensor<2xui8>) -> tensor<2xui8>
  return %0, %1 : tensor<2xi1>, tensor<2xui8>
}

// -----

// NaN is 0, what is out of range saturates.
// CHECK-LABEL: func.func @casts_floats_to_integers
// CHECK: onnx.Constant dense<[0, 127, -128, -2]> : tensor<4xi8>
func.func @casts_floats_to_integers() -> tensor<4xi8> {
  %a = onnx.Constant dense<[0x7FC00000, 1.0e9, -1.0e9, -2.9]> : tensor<4xf32>
  %0 = onnx.Cast %a {to = 3 : i64} : (tensor<4xf32>) -> tensor<4xi8>
  return %0 : tensor<4xi8>
}

// -----

// 2^60 + 1 + 2^36 lies above the middle of two f32; rounding to f64 first would
// put it on the middle, and then down to 1.1529215E+18.
// CHECK-LABEL: func.func @casts_integers_with_one_rounding
// CHECK: onnx.Constant dense<1.15292164E+18> : tensor<1xf32>
func.func @casts_integers_with_one_rounding() -> tensor<1xf32> {
  %a = onnx.Constant dense<1152921573326323713> : tensor<1xi64>
  %0 = onnx.Cast %a {to = 1 : i64} : (tensor<1xi64>) -> tensor<1xf32>
  return %0 : tensor<1xf32>
}

// -----

// CHECK-LABEL: func.func @propagates_nan_through_max
// CHECK: onnx.Constant dense<[0x7FC00000, 0x7FC00000, 0.000000e+00]> : tensor<3xf32>
func.func @propagates_nan_through_max() -> tensor<3xf32> {
  %a = onnx.Constant dense<[0x7FC00000, 1.0, -0.0]> : tensor<3xf32>
  %b = onnx.Constant dense<[1.0, 0x7FC00000, 0.0]> : tensor<3xf32>
  %0 = onnx.Max %a, %b : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// -----

// CHECK-LABEL: func.func @transposes
// CHECK: onnx.Constant dense<{{\[}}[1, 4], [2, 5], [3, 6]]> : tensor<3x2xi64>
func.func @transposes() -> tensor<3x2xi64> {
  %a = onnx.Constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi64>
  %0 = onnx.Transpose %a {perm = array<i64: 1, 0>} : (tensor<2x3xi64>) -> tensor<3x2xi64>
  return %0 : tensor<3x2xi64>
}

// -----

// An empty constant has no first element.
// CHECK-LABEL: func.func @transposes_nothing
// CHECK: onnx.Constant dense<> : tensor<3x0xf32>
func.func @transposes_nothing() -> tensor<3x0xf32> {
  %a = onnx.Constant dense<> : tensor<0x3xf32>
  %0 = onnx.Transpose %a {perm = array<i64: 1, 0>} : (tensor<0x3xf32>) -> tensor<3x0xf32>
  return %0 : tensor<3x0xf32>
}

// -----

// CHECK-LABEL: func.func @slices_backwards
// CHECK-DAG: onnx.Constant dense<[9.000000e+00, 6.000000e+00, 3.000000e+00]>
func.func @slices_backwards() -> tensor<3xf32> {
  %a = onnx.Constant dense<[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]> : tensor<10xf32>
  %start = onnx.Constant dense<9> : tensor<1xi64>
  %end = onnx.Constant dense<0> : tensor<1xi64>
  %axis = onnx.Constant dense<0> : tensor<1xi64>
  %step = onnx.Constant dense<-3> : tensor<1xi64>
  %0 = onnx.Slice %a, %start, %end, %axis, %step {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>} : (tensor<10xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// -----

// CHECK-LABEL: func.func @joins_and_gathers
// CHECK-DAG: onnx.Constant dense<{{\[}}[1, 2, 5], [3, 4, 6]]> : tensor<2x3xi8>
// CHECK-DAG: onnx.Constant dense<{{\[}}[2], [4]]> : tensor<2x1xi8>
func.func @joins_and_gathers() -> (tensor<2x3xi8>, tensor<2x1xi8>) {
  %a = onnx.Constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi8>
  %b = onnx.Constant dense<[[5], [6]]> : tensor<2x1xi8>
  %i = onnx.Constant dense<-1> : tensor<1xi64>
  %0 = onnx.Concat %a, %b {axis = 1 : i64} : (tensor<2x2xi8>, tensor<2x1xi8>) -> tensor<2x3xi8>
  %1 = onnx.Gather %a, %i {axis = 1 : i64} : (tensor<2x2xi8>, tensor<1xi64>) -> tensor<2x1xi8>
  return %0, %1 : tensor<2x3xi8>, tensor<2x1xi8>
}

// -----

// CHECK-LABEL: func.func @evaluates_known_sizes_of_symbolic_shapes
// CHECK: onnx.Constant dense<12> : tensor<1xi64>
// CHECK-NOT: onnx.Gather
func.func @evaluates_known_sizes_of_symbolic_shapes(%x: tensor<?x12xf32, affine_map<()[s0] -> (s0, 12)>>) -> tensor<1xi64> {
  %i = onnx.Constant dense<1> : tensor<1xi64>
  %0 = onnx.Shape %x : (tensor<?x12xf32, affine_map<()[s0] -> (s0, 12)>>) -> tensor<2xi64>
  %1 = onnx.Gather %0, %i {axis = 0 : i64} : (tensor<2xi64>, tensor<1xi64>) -> tensor<1xi64>
  return %1 : tensor<1xi64>
}

// -----

// Whether the branch is taken follows from the rank; what comes after it, from the
// branch. The other branch could not even be typed.
// CHECK-LABEL: func.func @decides_branches_in_order
// CHECK-SAME: (%[[X:.*]]: tensor<?x3xf32
// CHECK: %[[R:.*]] = onnx.Relu %[[X]]
// CHECK: %[[S:.*]] = onnx.Constant dense<3> : tensor<1xi64>
// CHECK: return %[[R]], %[[S]]
func.func @decides_branches_in_order(%x: tensor<?x3xf32, affine_map<()[s0] -> (s0, 3)>>) -> (tensor<*xf32>, tensor<*xi64>) {
  %two = onnx.Constant dense<2> : tensor<i64>
  %one = onnx.Constant dense<1> : tensor<1xi64>
  %0 = onnx.Shape %x : (tensor<?x3xf32, affine_map<()[s0] -> (s0, 3)>>) -> tensor<*xi64>
  %1 = onnx.Size %0 : (tensor<*xi64>) -> tensor<*xi64>
  %2 = onnx.Equal %1, %two : (tensor<*xi64>, tensor<i64>) -> tensor<*xi1>
  %3 = onnx.If %2 then {
    %4 = onnx.Relu %x : (tensor<?x3xf32, affine_map<()[s0] -> (s0, 3)>>) -> tensor<*xf32>
    onnx.Yield %4 : tensor<*xf32>
  } else {
    %4 = onnx.Unsqueeze %x, %one : (tensor<?x3xf32, affine_map<()[s0] -> (s0, 3)>>, tensor<1xi64>) -> tensor<*xf32>
    onnx.Yield %4 : tensor<*xf32>
  } : (tensor<*xi1>) -> tensor<*xf32>
  %5 = onnx.Shape %3 {start = 1 : i64} : (tensor<*xf32>) -> tensor<*xi64>
  return %3, %5 : tensor<*xf32>, tensor<*xi64>
}

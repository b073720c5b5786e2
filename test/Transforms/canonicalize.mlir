// RUN: onnx-aot-opt %s -onnx-canonicalize -split-input-file | FileCheck %s

// CHECK-LABEL: func.func @drops_neutral_elements
// CHECK-SAME: (%[[X:.*]]: tensor<2x3xf32>)
// CHECK-NEXT: return %[[X]], %[[X]], %[[X]], %[[X]]
func.func @drops_neutral_elements(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
  %one = onnx.Constant dense<1.0> : tensor<3xf32>
  %zero = onnx.Constant dense<0.0> : tensor<f32>
  %minus = onnx.Constant dense<-0.0> : tensor<f32>
  %0 = onnx.Mul %one, %x : (tensor<3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = onnx.Div %x, %one : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %2 = onnx.Sub %x, %zero : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %3 = onnx.Add %x, %minus : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  return %0, %1, %2, %3 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
}

// -----

// -0.0 + 0.0 is 0.0, and 1 / x is not x.
// CHECK-LABEL: func.func @keeps_what_is_not_neutral
// CHECK: onnx.Add
// CHECK: onnx.Sub
// CHECK: onnx.Div
func.func @keeps_what_is_not_neutral(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
  %one = onnx.Constant dense<1.0> : tensor<f32>
  %zero = onnx.Constant dense<0.0> : tensor<f32>
  %minus = onnx.Constant dense<-0.0> : tensor<f32>
  %0 = onnx.Add %x, %zero : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  %1 = onnx.Sub %x, %minus : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  %2 = onnx.Div %one, %x : (tensor<f32>, tensor<3xf32>) -> tensor<3xf32>
  return %0, %1, %2 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}

// -----

// CHECK-LABEL: func.func @keeps_a_neutral_element_that_broadcasts
// CHECK: onnx.Mul
func.func @keeps_a_neutral_element_that_broadcasts(%x: tensor<3xf32>) -> tensor<2x3xf32> {
  %one = onnx.Constant dense<1.0> : tensor<2x1xf32>
  %0 = onnx.Mul %x, %one : (tensor<3xf32>, tensor<2x1xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----

// CHECK-LABEL: func.func @expands_small_powers
// CHECK-SAME: (%[[X:.*]]: tensor<3xf32>)
// CHECK: %[[SQUARE:.*]] = onnx.Mul %[[X]], %[[X]]
// CHECK: %[[ROOT:.*]] = onnx.Pow
// CHECK: return %[[SQUARE]], %[[ROOT]]
func.func @expands_small_powers(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %two = onnx.Constant dense<2> : tensor<i64>
  // pow(-inf, 0.5) is inf where sqrt is NaN.
  %half = onnx.Constant dense<0.5> : tensor<f32>
  %0 = onnx.Pow %x, %two : (tensor<3xf32>, tensor<i64>) -> tensor<3xf32>
  %1 = onnx.Pow %x, %half : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  return %0, %1 : tensor<3xf32>, tensor<3xf32>
}

// -----

// CHECK-LABEL: func.func @divides_by_powers_of_two_only
// CHECK: %[[EIGHTH:.*]] = onnx.Constant dense<1.250000e-01>
// CHECK: onnx.Mul %{{.*}}, %[[EIGHTH]]
// CHECK: onnx.Div
func.func @divides_by_powers_of_two_only(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %eight = onnx.Constant dense<8.0> : tensor<f32>
  %six = onnx.Constant dense<6.0> : tensor<f32>
  %0 = onnx.Div %x, %eight : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  %1 = onnx.Div %x, %six : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  return %0, %1 : tensor<3xf32>, tensor<3xf32>
}

// -----

// CHECK-LABEL: func.func @drops_repetitions
// CHECK-SAME: (%[[X:.*]]: tensor<3xf32>)
// CHECK-NEXT: %[[RELU:.*]] = onnx.Relu %[[X]]
// CHECK-NEXT: return %[[X]], %[[RELU]]
func.func @drops_repetitions(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %0 = onnx.Neg %x : (tensor<3xf32>) -> tensor<3xf32>
  %1 = onnx.Neg %0 : (tensor<3xf32>) -> tensor<3xf32>
  %2 = onnx.Relu %x : (tensor<3xf32>) -> tensor<3xf32>
  %3 = onnx.Relu %2 : (tensor<3xf32>) -> tensor<3xf32>
  return %1, %3 : tensor<3xf32>, tensor<3xf32>
}

// -----

// CHECK-LABEL: func.func @merges_widening_casts
// CHECK: onnx.Cast %{{.*}} : (tensor<3xi8>) -> tensor<3xf32>
// CHECK-NOT: onnx.Cast
func.func @merges_widening_casts(%x: tensor<3xi8>) -> tensor<3xf32> {
  %0 = onnx.Cast %x {to = 7 : i64} : (tensor<3xi8>) -> tensor<3xi64>
  %1 = onnx.Cast %0 {to = 1 : i64} : (tensor<3xi64>) -> tensor<3xf32>
  return %1 : tensor<3xf32>
}

// -----

// 0.5 -> 0 -> false, but 0.5 -> true; 300 -> 300.0 -> 127, but 300 -> 44.
// CHECK-LABEL: func.func @keeps_narrowing_casts
// CHECK-COUNT-4: onnx.Cast
func.func @keeps_narrowing_casts(%x: tensor<3xf32>, %y: tensor<3xi16>) -> (tensor<3xi1>, tensor<3xi8>) {
  %0 = onnx.Cast %x {to = 6 : i64} : (tensor<3xf32>) -> tensor<3xi32>
  %1 = onnx.Cast %0 {to = 9 : i64} : (tensor<3xi32>) -> tensor<3xi1>
  %2 = onnx.Cast %y {to = 1 : i64} : (tensor<3xi16>) -> tensor<3xf32>
  %3 = onnx.Cast %2 {to = 3 : i64} : (tensor<3xf32>) -> tensor<3xi8>
  return %1, %3 : tensor<3xi1>, tensor<3xi8>
}

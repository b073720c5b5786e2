// RUN: onnx-aot-opt %s -split-input-file -onnx-infer-shapes -convert-onnx-to-linalg | FileCheck %s

// CHECK-LABEL: func.func @adds_with_a_symbolic_batch
// CHECK-SAME: (%[[A:.*]]: tensor<?x4xf32>, %[[B:.*]]: tensor<4xf32>) -> tensor<?x4xf32>
// CHECK: %[[N:.*]] = tensor.dim %[[A]]
// CHECK: %[[E:.*]] = tensor.empty(%[[N]])
// CHECK: linalg.generic
// CHECK-SAME: ins(%[[A]], %[[B]] : tensor<?x4xf32>, tensor<4xf32>) outs(%[[E]] : tensor<?x4xf32>)
// CHECK: arith.addf
// CHECK: arith.maximumf
func.func @adds_with_a_symbolic_batch(
    %a: tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>>, %b: tensor<4xf32>)
    -> tensor<*xf32> {
  %0 = onnx.Add %a, %b : (tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>>, tensor<4xf32>) -> tensor<*xf32>
  %1 = onnx.Relu %0 : (tensor<*xf32>) -> tensor<*xf32>
  return %1 : tensor<*xf32>
}
// -----
// CHECK-LABEL: func.func @narrow_floats_are_computed_in_f32
// CHECK: arith.extf %{{.*}} : f16 to f32
// CHECK-NEXT: math.tanh %{{.*}} : f32
// CHECK-NEXT: arith.truncf %{{.*}} : f32 to f16
func.func @narrow_floats_are_computed_in_f32(%x: tensor<4xf16>) -> tensor<4xf16> {
  %0 = onnx.Tanh %x : (tensor<4xf16>) -> tensor<4xf16>
  return %0 : tensor<4xf16>
}
// -----
// CHECK-LABEL: func.func @signed_division_cannot_trap
// CHECK: linalg.generic
// CHECK-DAG: %[[ZERO:.*]] = arith.cmpi eq, %[[B:.*]], %c0
// CHECK-DAG: %[[MINUS:.*]] = arith.cmpi eq, %[[B]], %c-1
// CHECK: %[[SPECIAL:.*]] = arith.ori %[[ZERO]], %[[MINUS]]
// CHECK: %[[SAFE:.*]] = arith.select %[[SPECIAL]], %c1{{.*}}, %[[B]]
// CHECK: arith.divsi %{{.*}}, %[[SAFE]]
func.func @signed_division_cannot_trap(%a: tensor<32xi32>, %b: tensor<32xi32>) -> tensor<32xi32> {
  %0 = onnx.Div %a, %b : (tensor<32xi32>, tensor<32xi32>) -> tensor<32xi32>
  return %0 : tensor<32xi32>
}
// -----
// CHECK-LABEL: func.func @signedness_comes_from_the_onnx_type
// CHECK: arith.maxui
// CHECK: arith.uitofp %{{.*}} : i8 to f32
func.func @signedness_comes_from_the_onnx_type(%x: tensor<4xui8>) -> tensor<4xf32> {
  %0 = onnx.Max %x, %x : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xui8>
  %1 = onnx.Cast %0 {to = 1 : i64} : (tensor<4xui8>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
// -----
// CHECK-LABEL: func.func @float_to_integer_saturates
// CHECK: %[[FITS:.*]] = arith.andi
// CHECK: %[[SAFE:.*]] = arith.select %[[FITS]]
// CHECK: arith.fptosi %[[SAFE]] : f32 to i8
func.func @float_to_integer_saturates(%x: tensor<4xf32>) -> tensor<4xi8> {
  %0 = onnx.Cast %x {to = 3 : i64} : (tensor<4xf32>) -> tensor<4xi8>
  return %0 : tensor<4xi8>
}
// -----
// CHECK-LABEL: func.func @float_to_bool_keeps_nan_true
// CHECK: arith.cmpf une, %{{.*}}, %cst
// CHECK: arith.extui %{{.*}} : i1 to i8
func.func @float_to_bool_keeps_nan_true(%x: tensor<4xf32>) -> tensor<4xi1> {
  %0 = onnx.Cast %x {to = 9 : i64} : (tensor<4xf32>) -> tensor<4xi1>
  return %0 : tensor<4xi1>
}
// -----
// CHECK-LABEL: func.func @squares_without_pow
// CHECK: arith.mulf %[[X:.*]], %[[X]]
// CHECK-NOT: math.powf
func.func @squares_without_pow(%x: tensor<4xf32>) -> tensor<4xf32> {
  %two = onnx.Constant dense<2.0> : tensor<f32>
  %0 = onnx.Pow %x, %two : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
// -----
// CHECK-LABEL: func.func @clip_reads_its_bounds_once
// CHECK-SAME: %{{.*}}: tensor<4xf32>, %[[MAX:.*]]: tensor<f32>
// CHECK: %[[BOUND:.*]] = tensor.extract %[[MAX]][]
// CHECK: linalg.generic
// CHECK: arith.minimumf %{{.*}}, %[[BOUND]]
func.func @clip_reads_its_bounds_once(%x: tensor<4xf32>, %max: tensor<f32>) -> tensor<4xf32> {
  %0 = onnx.Clip %x, %max {operandSegmentSizes = array<i32: 1, 0, 1>} : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

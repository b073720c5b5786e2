// RUN: onnx-aot-opt %s -onnx-infer-shapes -convert-onnx-to-linalg | FileCheck %s

// CHECK-LABEL: func.func @bools_are_bytes_outside_and_bits_inside
// CHECK-SAME: tensor<4xf32>, %{{.*}}: tensor<4xi8>) -> tensor<4xi8>
// CHECK: arith.cmpf olt
// CHECK-NEXT: arith.extui %{{.*}} : i1 to i8
// CHECK: arith.cmpi ne
// CHECK: arith.andi %{{.*}} : i1
func.func @bools_are_bytes_outside_and_bits_inside(%x: tensor<4xf32>, %c: tensor<4xi1>) -> tensor<4xi1> {
  %0 = onnx.Less %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %1 = onnx.And %0, %c : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  return %1 : tensor<4xi1>
}

// CHECK-LABEL: func.func @unsigned_comparison
// CHECK: arith.cmpi ugt
func.func @unsigned_comparison(%x: tensor<4xui64>) -> tensor<4xi1> {
  %0 = onnx.Greater %x, %x : (tensor<4xui64>, tensor<4xui64>) -> tensor<4xi1>
  return %0 : tensor<4xi1>
}

// CHECK-LABEL: func.func @only_negative_infinity
// CHECK: arith.constant 0xFF800000
// CHECK-NOT: 0x7F800000
// CHECK: arith.cmpf oeq
func.func @only_negative_infinity(%x: tensor<4xf32>) -> tensor<4xi1> {
  %0 = onnx.IsInf %x {detect_positive = 0 : i64} : (tensor<4xf32>) -> tensor<4xi1>
  return %0 : tensor<4xi1>
}

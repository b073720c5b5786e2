// RUN: onnx-aot-opt %s --convert-onnx-to-linalg --canonicalize | FileCheck %s

// The quotient by a constant scale takes no division.
// CHECK-LABEL: func.func @constant_scale
// CHECK: linalg.generic
// CHECK-NOT: arith.divf
// CHECK-COUNT-3: math.fma
// CHECK: arith.bitcast
// CHECK: arith.trunci
// CHECK-NOT: arith.divf
func.func @constant_scale(%x: tensor<8x4xf32>) -> tensor<8x4xui8> {
  %scale = onnx.Constant dense<0.1> : tensor<f32>
  %point = onnx.Constant dense<3> : tensor<ui8>
  %y = onnx.QuantizeLinear %x, %scale, %point : (tensor<8x4xf32>, tensor<f32>, tensor<ui8>) -> tensor<8x4xui8>
  return %y : tensor<8x4xui8>
}

// It may be negative, or leave no reciprocal.
// CHECK-LABEL: func.func @run_time_scale
// CHECK: linalg.generic
// CHECK: arith.divf
// CHECK: math.roundeven
func.func @run_time_scale(%x: tensor<8x4xf32>, %scale: tensor<f32>, %point: tensor<ui8>) -> tensor<8x4xui8> {
  %y = onnx.QuantizeLinear %x, %scale, %point : (tensor<8x4xf32>, tensor<f32>, tensor<ui8>) -> tensor<8x4xui8>
  return %y : tensor<8x4xui8>
}

// CHECK-LABEL: func.func @tiny_scale
// CHECK: linalg.generic
// CHECK: arith.divf
func.func @tiny_scale(%x: tensor<8x4xf32>) -> tensor<8x4xui8> {
  %scale = onnx.Constant dense<1.0e-38> : tensor<f32>
  %point = onnx.Constant dense<3> : tensor<ui8>
  %y = onnx.QuantizeLinear %x, %scale, %point : (tensor<8x4xf32>, tensor<f32>, tensor<ui8>) -> tensor<8x4xui8>
  return %y : tensor<8x4xui8>
}

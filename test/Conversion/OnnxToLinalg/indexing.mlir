// RUN: onnx-aot-opt %s -onnx-infer-shapes -convert-onnx-to-linalg -canonicalize | FileCheck %s

// Run-time indices are checked, and no read can leave the tensor.
// CHECK-LABEL: func.func @gathers_rows
// CHECK: cf.assert %{{.*}}, "onnx.Gather: an index is out of range"
// CHECK: linalg.generic
// CHECK: arith.minsi
// CHECK: arith.maxsi
// CHECK: tensor.extract
func.func @gathers_rows(%x: tensor<30x8xf32>, %i: tensor<2x3xi64>) -> tensor<*xf32> {
  %y = onnx.Gather %x, %i : (tensor<30x8xf32>, tensor<2x3xi64>) -> tensor<*xf32>
  return %y : tensor<*xf32>
}

// CHECK-LABEL: func.func @gathers_constant_rows
// CHECK-NOT: cf.assert
func.func @gathers_constant_rows(%x: tensor<30x8xf32>) -> tensor<*xf32> {
  %i = onnx.Constant dense<[-1, 3]> : tensor<2xi64>
  %y = onnx.Gather %x, %i : (tensor<30x8xf32>, tensor<2xi64>) -> tensor<*xf32>
  return %y : tensor<*xf32>
}

// Updates to one place are combined in order.
// CHECK-LABEL: func.func @scatters_in_order
// CHECK: scf.for
// CHECK: arith.addf
// CHECK: tensor.insert
func.func @scatters_in_order(%x: tensor<3xf32>, %i: tensor<2xi64>, %u: tensor<2xf32>) -> tensor<*xf32> {
  %y = onnx.ScatterElements %x, %i, %u {reduction = "add"} : (tensor<3xf32>, tensor<2xi64>, tensor<2xf32>) -> tensor<*xf32>
  return %y : tensor<*xf32>
}

// RUN: onnx-aot-opt %s --onnx-widen-floats --onnx-infer-shapes | FileCheck %s

// CHECK-LABEL: func.func @widens_types_and_constants
// CHECK-SAME: (%[[X:.*]]: tensor<2xf64>, %{{.*}}: tensor<2xi64>) -> tensor<2xf64>
func.func @widens_types_and_constants(%x: tensor<2xf32>, %i: tensor<2xi64>) -> tensor<2xf32> {
  // CHECK: onnx.Constant dense<[1.000000e+00, 2.500000e+00]> : tensor<2xf64>
  %0 = onnx.Constant dense<[1.0, 2.5]> : tensor<2xf32>
  %1 = onnx.Add %x, %0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  // CHECK: onnx.Cast {{.*}}to = 11{{.*}} -> tensor<2xf64>
  %2 = onnx.Cast %i {to = 1 : i64} : (tensor<2xi64>) -> tensor<2xf32>
  %3 = onnx.Mul %1, %2 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %3 : tensor<2xf32>
}

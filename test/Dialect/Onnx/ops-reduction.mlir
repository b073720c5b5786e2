// RUN: onnx-aot-opt %s --verify-roundtrip | FileCheck %s

// CHECK-LABEL: func.func @axes_are_an_optional_operand
func.func @axes_are_an_optional_operand(%x: tensor<2x3xf32>, %axes: tensor<1xi64>, %axis: tensor<i32>) {
  // CHECK: onnx.ReduceSum %{{.*}} : (tensor<2x3xf32>) -> tensor<1x1xf32>
  %0 = onnx.ReduceSum %x : (tensor<2x3xf32>) -> tensor<1x1xf32>
  // CHECK: onnx.ReduceMax %{{.*}}, %{{.*}} {keepdims = 0 : i64}
  %1 = onnx.ReduceMax %x, %axes {keepdims = 0 : i64} : (tensor<2x3xf32>, tensor<1xi64>) -> tensor<?xf32>
  // CHECK: onnx.ArgMax %{{.*}} {axis = 1 : i64, select_last_index = 1 : i64}
  %2 = onnx.ArgMax %x {axis = 1 : i64, select_last_index = 1 : i64} : (tensor<2x3xf32>) -> tensor<2x1xi64>
  // CHECK: onnx.CumSum %{{.*}}, %{{.*}} {exclusive = 1 : i64}
  %3 = onnx.CumSum %x, %axis {exclusive = 1 : i64} : (tensor<2x3xf32>, tensor<i32>) -> tensor<2x3xf32>
  return
}

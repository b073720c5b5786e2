// RUN: onnx-aot-opt %s -onnx-infer-shapes | FileCheck %s

#n34 = affine_map<()[s0] -> (s0, 3, 4)>

module attributes {onnx.symbols = ["n"]} {
// CHECK-LABEL: func.func @constant_axes
func.func @constant_axes(%x: tensor<?x3x4xf32, #n34>) {
  %axes = onnx.Constant dense<[-1, 1]> : tensor<2xi64>
  // CHECK: onnx.ReduceSum {{.*}} -> tensor<?x1x1xf32, #{{.*}}>
  %0 = onnx.ReduceSum %x, %axes : (tensor<?x3x4xf32, #n34>, tensor<2xi64>) -> tensor<*xf32>
  // CHECK: onnx.ReduceSum {{.*}} -> tensor<?xf32, #{{.*}}>
  %1 = onnx.ReduceSum %x, %axes {keepdims = 0 : i64} : (tensor<?x3x4xf32, #n34>, tensor<2xi64>) -> tensor<*xf32>
  // CHECK: onnx.ArgMax {{.*}} -> tensor<?x4xi64, #{{.*}}>
  %2 = onnx.ArgMax %x {axis = 1 : i64, keepdims = 0 : i64} : (tensor<?x3x4xf32, #n34>) -> tensor<*xi64>
  return
}
// CHECK-LABEL: func.func @no_axes
func.func @no_axes(%x: tensor<?x3x4xf32, #n34>, %none: tensor<0xi64>) {
  // CHECK: onnx.ReduceMax {{.*}} -> tensor<f32>
  %0 = onnx.ReduceMax %x {keepdims = 0 : i64} : (tensor<?x3x4xf32, #n34>) -> tensor<*xf32>
  // CHECK: onnx.ReduceMax {{.*}} -> tensor<1x1x1xf32>
  %1 = onnx.ReduceMax %x, %none : (tensor<?x3x4xf32, #n34>, tensor<0xi64>) -> tensor<*xf32>
  // CHECK: onnx.ReduceMax {{.*}} -> tensor<?x3x4xf32, #{{.*}}>
  %2 = onnx.ReduceMax %x, %none {noop_with_empty_axes = 1 : i64} : (tensor<?x3x4xf32, #n34>, tensor<0xi64>) -> tensor<*xf32>
  return
}
// CHECK-LABEL: func.func @run_time_axes
func.func @run_time_axes(%x: tensor<1x3x4xf32>, %axes: tensor<1xi64>) {
  // CHECK: onnx.ReduceMax {{.*}} -> tensor<1x?x?xf32, #{{.*}}>
  %0 = onnx.ReduceMax %x, %axes : (tensor<1x3x4xf32>, tensor<1xi64>) -> tensor<*xf32>
  // CHECK: onnx.ReduceMax {{.*}} -> tensor<?x?xf32, #{{.*}}>
  %1 = onnx.ReduceMax %x, %axes {keepdims = 0 : i64} : (tensor<1x3x4xf32>, tensor<1xi64>) -> tensor<*xf32>
  return
}
}

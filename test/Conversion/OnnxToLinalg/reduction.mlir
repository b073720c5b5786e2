// RUN: onnx-aot-opt %s -split-input-file -onnx-infer-shapes -convert-onnx-to-linalg | FileCheck %s

#n34 = affine_map<()[s0] -> (s0, 3, 4)>
module attributes {onnx.symbols = ["n"]} {
// CHECK-LABEL: func.func @mean_over_the_middle
// CHECK: %[[INIT:.*]] = linalg.fill {{.*}} -> tensor<?x4xf32>
// CHECK: linalg.generic
// CHECK-SAME: iterator_types = ["parallel", "reduction", "parallel"]
// CHECK-SAME: outs(%[[INIT]]
// CHECK: arith.addf
// CHECK: arith.divf %{{.*}}, %cst
// CHECK: tensor.expand_shape %{{.*}} {{\[}}[0, 1], [2]] {{.*}} : tensor<?x4xf32> into tensor<?x1x4xf32>
func.func @mean_over_the_middle(%x: tensor<?x3x4xf32, #n34>) -> tensor<*xf32> {
  %axes = onnx.Constant dense<1> : tensor<1xi64>
  %0 = onnx.ReduceMean %x, %axes : (tensor<?x3x4xf32, #n34>, tensor<1xi64>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}
}
// -----
// CHECK-LABEL: func.func @axes_at_run_time
// CHECK: %[[MARKS:.*]]:3 = scf.for
// CHECK: cf.assert %[[MARKS]]#2, "{{.*}}onnx.ReduceSum: an axis is out of range"
// CHECK: scf.for
// CHECK: scf.for
// CHECK: %[[AT:.*]] = arith.select %[[MARKS]]#0
// CHECK: tensor.insert
// CHECK: tensor.reshape
func.func @axes_at_run_time(%x: tensor<3x4xf32>, %axes: tensor<1xi64>) -> tensor<*xf32> {
  %0 = onnx.ReduceSum %x, %axes {keepdims = 0 : i64} : (tensor<3x4xf32>, tensor<1xi64>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}
// -----
// The square is left where no axis is.
// CHECK-LABEL: func.func @no_axes_and_noop
// CHECK: iterator_types = ["parallel", "parallel"]
// CHECK: arith.mulf
func.func @no_axes_and_noop(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %0 = onnx.ReduceSumSquare %x {noop_with_empty_axes = 1 : i64} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}
// -----
// CHECK-LABEL: func.func @neutral_elements
// CHECK: linalg.fill ins(%c0_i8 : i8)
// CHECK: arith.maxui
// CHECK: arith.constant 0x7F800000 : f32
// CHECK: arith.minimumf
func.func @neutral_elements(%x: tensor<0xui8>, %y: tensor<0xf32>) -> (tensor<ui8>, tensor<f32>) {
  %0 = onnx.ReduceMax %x {keepdims = 0 : i64} : (tensor<0xui8>) -> tensor<ui8>
  %1 = onnx.ReduceMin %y {keepdims = 0 : i64} : (tensor<0xf32>) -> tensor<f32>
  return %0, %1 : tensor<ui8>, tensor<f32>
}
// -----
// CHECK-LABEL: func.func @position_of_the_maximum
// CHECK-DAG: linalg.fill ins(%c9223372036854775807_i64
// CHECK-DAG: linalg.fill ins(%cst
// CHECK: linalg.index 0
// CHECK: arith.cmpf ogt
// CHECK: arith.cmpi slt
// CHECK: tensor.expand_shape
func.func @position_of_the_maximum(%x: tensor<3x4xf32>) -> tensor<1x4xi64> {
  %0 = onnx.ArgMax %x : (tensor<3x4xf32>) -> tensor<1x4xi64>
  return %0 : tensor<1x4xi64>
}
// -----
// CHECK-LABEL: func.func @running_sum_along_an_axis_known_at_run_time
// CHECK: cf.assert %{{.*}}, "{{.*}}onnx.CumSum: the axis is out of range"
// CHECK: scf.for {{.*}} iter_args
// CHECK: scf.for {{.*}} iter_args
// CHECK: tensor.insert
func.func @running_sum_along_an_axis_known_at_run_time(%x: tensor<3x4xf32>, %axis: tensor<i64>) -> tensor<3x4xf32> {
  %0 = onnx.CumSum %x, %axis : (tensor<3x4xf32>, tensor<i64>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

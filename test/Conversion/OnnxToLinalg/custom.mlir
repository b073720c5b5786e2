// RUN: onnx-aot-opt %s -split-input-file -onnx-infer-shapes -convert-onnx-to-linalg | FileCheck %s

// CHECK-LABEL: func.func @sizes_that_the_model_declares
// CHECK: %[[EMPTY:.*]] = tensor.empty() : tensor<4xf32>
// CHECK: kernel.call "f"(%arg0) into(%[[EMPTY]])
// CHECK-SAME: input_types = array<i32: 7, 0>
// CHECK-SAME: output_types = array<i32: 1>
func.func @sizes_that_the_model_declares(%x: tensor<2xi64>) -> tensor<4xf32> {
  %0 = onnx.custom.Call %x {op = "my::Op", callee = "f", shape_callee = "", present = array<i1: true, false>,
    output_types = [tensor<4xf32>], node_attributes = {}} : (tensor<2xi64>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
// -----
// The function is asked for sizes first; what it tells is checked.
// CHECK-LABEL: func.func @sizes_that_a_function_tells
// CHECK: %[[TOLD:.*]] = kernel.call "g"
// CHECK-SAME: output_ranks = array<i32: 2>
// CHECK: tensor.extract %[[TOLD]]
// CHECK: cf.assert %{{.*}}, "{{.*}}has not told a size of an output"
// CHECK: cf.assert %{{.*}}, "{{.*}}another size than the model declares"
// CHECK: %[[EMPTY:.*]] = tensor.empty(%{{.*}}) : tensor<?x3xf32>
// CHECK: kernel.call "f"(%arg0) into(%[[EMPTY]])
func.func @sizes_that_a_function_tells(%x: tensor<2xi64>) -> tensor<*xf32> {
  %0 = onnx.custom.Call %x {op = "my::Op", callee = "f", shape_callee = "g", present = array<i1: true>,
    output_types = [tensor<?x3xf32>], node_attributes = {}} : (tensor<2xi64>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}

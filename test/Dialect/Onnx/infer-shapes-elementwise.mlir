// RUN: onnx-aot-opt %s -onnx-infer-shapes | FileCheck %s

#n4 = affine_map<()[s0] -> (s0, 4)>
// CHECK-DAG: #[[N4:.*]] = affine_map<()[s0] -> (s0, 4)>

// CHECK-LABEL: func.func @keeps_symbols_across_element_types
func.func @keeps_symbols_across_element_types(%x: tensor<?x4xf32, #n4>, %b: tensor<4xf32>) -> tensor<*xf32> {
  // CHECK: onnx.Cast {{.*}} -> tensor<?x4xf16, #[[N4]]>
  %0 = onnx.Cast %x {to = 10 : i64} : (tensor<?x4xf32, #n4>) -> tensor<*xf32>
  // CHECK: onnx.Less {{.*}} -> tensor<?x4xi1, #[[N4]]>
  %1 = onnx.Less %x, %b : (tensor<?x4xf32, #n4>, tensor<4xf32>) -> tensor<*xi1>
  // CHECK: onnx.IsNaN {{.*}} -> tensor<?x4xi1, #[[N4]]>
  %2 = onnx.IsNaN %x : (tensor<?x4xf32, #n4>) -> tensor<*xi1>
  // CHECK: onnx.Where {{.*}} -> tensor<?x4xf32, #[[N4]]>
  %3 = onnx.Where %1, %b, %x : (tensor<*xi1>, tensor<4xf32>, tensor<?x4xf32, #n4>) -> tensor<*xf32>
  // CHECK: onnx.PRelu {{.*}} -> tensor<?x4xf32, #[[N4]]>
  %4 = onnx.PRelu %3, %b : (tensor<*xf32>, tensor<4xf32>) -> tensor<*xf32>
  return %4 : tensor<*xf32>
}

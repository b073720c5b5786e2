// RUN: onnx-aot-opt %s -onnx-infer-shapes -convert-onnx-to-linalg -canonicalize | FileCheck %s

// CHECK-LABEL: func.func @branches
// CHECK: scf.if %{{.*}} -> (tensor<4xf32>)
func.func @branches(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<*xf32> {
  %y = onnx.If %c then {
    %0 = onnx.Relu %x : (tensor<4xf32>) -> tensor<*xf32>
    onnx.Yield %0 : tensor<*xf32>
  } else {
    onnx.Yield %x : tensor<4xf32>
  } : (tensor<i1>) -> tensor<*xf32>
  return %y : tensor<*xf32>
}

// CHECK-LABEL: func.func @scans
// CHECK: scf.for %{{.*}} iter_args
// CHECK: tensor.extract_slice %{{.*}} [1, 4] [1, 1] : tensor<3x4xf32> to tensor<4xf32>
// CHECK: tensor.insert_slice %{{.*}} [1, 4] [1, 1] : tensor<4xf32> into tensor<3x4xf32>
func.func @scans(%s: tensor<4xf32>, %x: tensor<3x4xf32>) -> (tensor<*xf32>, tensor<*xf32>) {
  %y:2 = onnx.Scan %s, %x do {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    %0 = onnx.Add %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<*xf32>
    onnx.Yield %0, %0 : tensor<*xf32>, tensor<*xf32>
  } {num_scan_inputs = 1} : (tensor<4xf32>, tensor<3x4xf32>) -> (tensor<*xf32>, tensor<*xf32>)
  return %y#0, %y#1 : tensor<*xf32>, tensor<*xf32>
}

// RUN: onnx-aot-opt %s --onnx-optimize=level=0 | FileCheck %s --check-prefixes=ALL,O0
// RUN: onnx-aot-opt %s --onnx-optimize=level=1 | FileCheck %s --check-prefixes=ALL,O1
// RUN: onnx-aot-opt %s --onnx-optimize | FileCheck %s --check-prefixes=ALL,O1
// RUN: onnx-aot-opt %s --onnx-optimize=level=3 | FileCheck %s --check-prefixes=ALL,O1

// ALL-LABEL: func.func @infers_and_merges
// ALL-SAME: -> tensor<4xf32>
// ALL: onnx.Relu
// O0: onnx.Relu
// O1-NOT: onnx.Relu
// ALL: onnx.Add
func.func @infers_and_merges(%x: tensor<4xf32>) -> tensor<*xf32> {
  %0 = onnx.Relu %x : (tensor<4xf32>) -> tensor<*xf32>
  %1 = onnx.Relu %x : (tensor<4xf32>) -> tensor<*xf32>
  %2 = onnx.Add %0, %1 : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  return %2 : tensor<*xf32>
}

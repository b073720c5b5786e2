// RUN: onnx-aot-opt %s -onnx-verify-lowerable | FileCheck %s

// CHECK-LABEL: func.func @accepts_ranked_tensors
func.func @accepts_ranked_tensors(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %0 = onnx.Relu %x : (tensor<?x4xf32>) -> tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}

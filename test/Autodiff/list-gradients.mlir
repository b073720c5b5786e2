// RUN: onnx-aot-opt %s --onnx-list-gradients | FileCheck %s

// CHECK: onnx.Add
// CHECK-NOT: onnx.ArgMax
// CHECK: onnx.MatMul
// CHECK: train.StopGradient
module {}

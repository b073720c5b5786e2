// RUN: onnx-aot-opt %s --onnx-split-composites | FileCheck %s
// RUN: onnx-aot-opt %s --onnx-split-composites --onnx-verify-lowerable -o %t

module attributes {onnx.symbols = ["n"]} {

// A sequence of known length and positions is its entries.
// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[A:[a-z0-9]+]]: tensor<4xf32> {onnx.name = "a"}, %[[DATA:[a-z0-9]+]]: tensor<?xf32, {{.*}}> {onnx.name = "s", onnx.part = 2 : i64},
// CHECK-SAME: %[[TABLE:[a-z0-9]+]]: tensor<?x9xi64, {{.*}}> {onnx.name = "s.shapes", onnx.part = 4 : i64})
// CHECK-NOT: onnx.Sequence
// CHECK: onnx.Relu %[[A]]
func.func @main(%a: tensor<4xf32> {onnx.name = "a"}, %s: !onnx.seq<tensor<*xf32>> {onnx.name = "s"})
    -> (tensor<4xf32> {onnx.name = "y"}, !onnx.seq<tensor<*xf32>> {onnx.name = "t"}) {
  %b = onnx.Neg %a : (tensor<4xf32>) -> tensor<4xf32>
  %list = onnx.SequenceConstruct %b, %a : (tensor<4xf32>, tensor<4xf32>) -> !onnx.seq<tensor<4xf32>>
  %one = onnx.Constant dense<1> : tensor<i64>
  %entry = onnx.SequenceAt %list, %one : (!onnx.seq<tensor<4xf32>>, tensor<i64>) -> tensor<4xf32>
  %y = onnx.Relu %entry : (tensor<4xf32>) -> tensor<4xf32>
  %t = onnx.SequenceInsert %s, %a : (!onnx.seq<tensor<*xf32>>, tensor<4xf32>) -> !onnx.seq<tensor<*xf32>>
  return %y, %t : tensor<4xf32>, !onnx.seq<tensor<*xf32>>
}
}

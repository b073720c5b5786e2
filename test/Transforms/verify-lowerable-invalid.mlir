// RUN: onnx-aot-opt %s -onnx-verify-lowerable -split-input-file -verify-diagnostics -allow-unregistered-dialect

// expected-error @below {{input 'image' of type 'tensor<*xf32>' has no known rank}}
func.func @refuses_an_unranked_input(%x: tensor<*xf32> {onnx.name = "image"}) -> tensor<*xf32> {
  %0 = onnx.Relu %x : (tensor<*xf32>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}

// -----

func.func @refuses_an_unranked_result(%x: tensor<4xf32>) -> tensor<*xf32> {
  // expected-error @below {{has an output of unknown rank ('tensor<*xf32>')}}
  %0 = onnx.Relu %x : (tensor<4xf32>) -> tensor<*xf32>
  // Said once: the rest follows from it.
  %1 = onnx.Relu %0 : (tensor<*xf32>) -> tensor<*xf32>
  return %1 : tensor<*xf32>
}

// -----

func.func @refuses_an_unregistered_op(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{is not an operator that can be compiled}}
  %0 = "other.NoSuchOp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// RUN: onnx-aot-opt %s -split-input-file -verify-diagnostics

func.func @inputs(%x: tensor<2xf32>) {
  // expected-error @+1 {{has 1 inputs that `present` does not list}}
  %0 = onnx.custom.Call %x {op = "my::Op", callee = "f", shape_callee = "", present = array<i1: false>,
    output_types = [tensor<4xf32>], node_attributes = {}} : (tensor<2xf32>) -> tensor<4xf32>
  return
}

// -----
func.func @sizes(%x: tensor<2xf32>) {
  // expected-error @+1 {{has an output of unknown size and no function that tells it}}
  %0 = onnx.custom.Call %x {op = "my::Op", callee = "f", shape_callee = "", present = array<i1: true>,
    output_types = [tensor<?xf32>], node_attributes = {}} : (tensor<2xf32>) -> tensor<?xf32>
  return
}

// -----
func.func @rank(%x: tensor<2xf32>) {
  // expected-error @+1 {{has an output without a declared rank}}
  %0 = onnx.custom.Call %x {op = "my::Op", callee = "f", shape_callee = "g", present = array<i1: true>,
    output_types = [tensor<*xf32>], node_attributes = {}} : (tensor<2xf32>) -> tensor<*xf32>
  return
}

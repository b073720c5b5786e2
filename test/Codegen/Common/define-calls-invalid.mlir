// RUN: onnx-aot-opt %s -split-input-file -verify-diagnostics -codegen-define-calls

llvm.func @main() {
  llvm.return
}
// expected-error @+1 {{cannot be named 'main': the module uses that name itself}}
llvm.func @onnx_aot.call.0(!llvm.ptr) -> i32 attributes {codegen.call = {callee = "main", inputs = array<i32>,
    outputs = array<i32>, ranks = array<i32>, attributes = {}}}

// -----
// expected-error @+1 {{attribute 't' of a custom operator is of a kind that cannot be passed}}
llvm.func @onnx_aot.call.0(!llvm.ptr) -> i32 attributes {codegen.call = {callee = "f", inputs = array<i32>,
    outputs = array<i32>, ranks = array<i32>, attributes = {t = dense<1.0> : tensor<2xf32>}}}

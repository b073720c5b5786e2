// A compilation stops at, prints, and resumes from any phase.
// RUN: rm -rf %t && mkdir %t
// RUN: onnx-aot-compile %s --emit=onnx | FileCheck %s --check-prefix=ONNX
// RUN: onnx-aot-compile %s --emit=linalg -o %t/linalg.mlir
// RUN: FileCheck %s --check-prefix=LINALG < %t/linalg.mlir
// RUN: onnx-aot-compile %t/linalg.mlir --emit=llvm-dialect -o %t/llvm.mlir
// RUN: FileCheck %s --check-prefix=DIALECT < %t/llvm.mlir
// RUN: onnx-aot-compile %t/llvm.mlir --emit=llvm | FileCheck %s --check-prefix=LLVM
// RUN: onnx-aot-compile %t/llvm.mlir --emit=obj -o %t/resumed.o --prefix=p
// RUN: onnx-aot-compile %s -o %t/direct.o --prefix=p --dump-phases=%t/dump --report=%t/report.json
// RUN: cmp %t/resumed.o %t/direct.o
// RUN: ls %t/dump | FileCheck %s --check-prefix=DUMP
// RUN: FileCheck %s --check-prefix=REPORT < %t/report.json

// ONNX: onnx.Relu
// LINALG: linalg.generic
// DIALECT: llvm.func @run(
// LLVM: @{{.*}}_module = constant
// DUMP: 0-import.mlir
// DUMP-NEXT: 1-optimize.mlir
// DUMP-NEXT: 2-linalg.mlir
// DUMP-NEXT: 3-codegen.mlir
// DUMP-NEXT: 4-llvm.ll
// REPORT: "arena_bytes": null
// REPORT: "name": "x"
// REPORT: "phases":
// REPORT: "seconds":
// REPORT: "symbols": [
// REPORT-NEXT: "batch"
module attributes {onnx.symbols = ["batch"]} {
func.func @main(%x: tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>> {onnx.name = "x"})
    -> (tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>> {onnx.name = "y"}) {
  %y = onnx.Relu %x : (tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>>) -> tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>>
  return %y : tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>>
}
}

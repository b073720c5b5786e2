// A file of numbers for the cost model decides on the code, and on nothing else:
// the same file gives the same bytes, and what is not in it is the default.
// RUN: echo '{"panel_vectors": 1, "max_rows": 4}' > %t.json
// RUN: echo '{}' > %t.none.json
// RUN: onnx-aot-compile %s -o %t.a.o --prefix=m --tune=%t.json
// RUN: onnx-aot-compile %s -o %t.b.o --prefix=m --tune=%t.json
// RUN: onnx-aot-compile %s -o %t.c.o --prefix=m --tune=%t.none.json
// RUN: onnx-aot-compile %s -o %t.d.o --prefix=m
// RUN: cmp %t.a.o %t.b.o
// RUN: cmp %t.c.o %t.d.o
// RUN: not cmp -s %t.a.o %t.c.o

// RUN: not onnx-aot-compile %s -o %t.e.o --tune=%t.missing.json 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: echo '{"panels": 1}' > %t.name.json
// RUN: not onnx-aot-compile %s -o %t.e.o --tune=%t.name.json 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: echo '{"max_rows": 0}' > %t.range.json
// RUN: not onnx-aot-compile %s -o %t.e.o --tune=%t.range.json 2>&1 | FileCheck %s --check-prefix=RANGE
// RUN: echo '{"winograd": 1}' > %t.bool.json
// RUN: not onnx-aot-compile %s -o %t.e.o --tune=%t.bool.json 2>&1 | FileCheck %s --check-prefix=BOOL
// RUN: echo '[1' > %t.text.json
// RUN: not onnx-aot-compile %s -o %t.e.o --tune=%t.text.json 2>&1 | FileCheck %s --check-prefix=TEXT
// RUN: not ls %t.e.o
// MISSING: error: cannot read '{{.*}}.missing.json'
// NAME: error: {{.*}}there is nothing to tune by the name 'panels'
// RANGE: error: {{.*}}'max_rows' is no integer between 1 and 30
// BOOL: error: {{.*}}'winograd' is neither true nor false
// TEXT: error: '{{.*}}.text.json' is no JSON
module attributes {onnx.symbols = []} {
func.func @main(%x: tensor<16x32xf32> {onnx.name = "x"}, %w: tensor<32x64xf32> {onnx.name = "w"}) -> (tensor<16x64xf32> {onnx.name = "y"}) {
  %y = onnx.MatMul %x, %w : (tensor<16x32xf32>, tensor<32x64xf32>) -> tensor<16x64xf32>
  return %y : tensor<16x64xf32>
}
}

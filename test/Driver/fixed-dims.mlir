// --dim makes a symbolic dimension static; the arena is then exact.
// RUN: onnx-aot-compile %s --dim=batch=3 --emit=onnx | FileCheck %s
// RUN: onnx-aot-compile %s --dim=batch=3 -o %t.o --report=- | FileCheck %s --check-prefix=REPORT
// RUN: not onnx-aot-compile %s --dim=frob=3 -o %t.none.o 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not ls %t.none.o

// CHECK: onnx.Relu {{.*}} : (tensor<3x4xf32>) -> tensor<3x4xf32>
// REPORT: "arena_bytes": {{[0-9]+}}
// NAME: error: {{.*}}frob
module attributes {onnx.symbols = ["batch"]} {
func.func @main(%x: tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>> {onnx.name = "x"})
    -> (tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>> {onnx.name = "y"}) {
  %y = onnx.Relu %x : (tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>>) -> tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>>
  return %y : tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>>
}
}

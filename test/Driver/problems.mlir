// Every reason is given at once, with the node's name; nothing is written.
// RUN: rm -rf %t && mkdir %t
// RUN: not onnx-aot-compile %s -o %t/x.so 2>&1 | FileCheck %s
// RUN: not onnx-aot-compile %s --check 2>&1 | FileCheck %s
// RUN: not onnx-aot-compile %s --check --json | FileCheck %s --check-prefix=JSON
// RUN: not onnx-aot-compile %s --check --json | %python -c "import json, sys; print(len(json.load(sys.stdin)['problems']))" | FileCheck %s --check-prefix=COUNT
// RUN: ls -A %t | count 0

// CHECK: problems.mlir:{{.*}}: error: node 'first "one"': 'onnx.Add' op
// CHECK: problems.mlir:{{.*}}: error: node 'second': 'onnx.Add' op
// CHECK: 2 errors

// JSON: "model": "{{.*}}problems.mlir"
// JSON: "ok": false
// JSON: "message": "'onnx.Add' op
// JSON: "node": "first \"one\""
// JSON: "severity": "error"
// COUNT: 2
func.func @main(%x: tensor<2x3xf32>, %y: tensor<4x5xf32>) -> (tensor<?x?xf32>, tensor<?x?xf32>) {
  %0 = onnx.Add %x, %y : (tensor<2x3xf32>, tensor<4x5xf32>) -> tensor<?x?xf32> loc("first \22one\22"("problems.mlir":1:1))
  %1 = onnx.Add %y, %x : (tensor<4x5xf32>, tensor<2x3xf32>) -> tensor<?x?xf32> loc("second"("problems.mlir":2:1))
  return %0, %1 : tensor<?x?xf32>, tensor<?x?xf32>
}

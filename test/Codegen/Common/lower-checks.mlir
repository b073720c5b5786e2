// RUN: onnx-aot-opt %s -codegen-lower-checks | FileCheck %s

// CHECK: llvm.mlir.global internal constant @onnx_aot.check_0("an index is out of range\00")
// CHECK-LABEL: llvm.func @main
// CHECK-SAME: %[[CONTEXT:.*]]: !llvm.ptr, %[[OK:.*]]: i1
// CHECK: cf.cond_br %[[OK]], ^[[REST:.*]], ^[[LEAVE:.*]]
// CHECK: ^[[REST]]:
// CHECK: llvm.return
// CHECK: ^[[LEAVE]]:
// CHECK: %[[TEXT:.*]] = llvm.mlir.addressof @onnx_aot.check_0
// CHECK: llvm.call @onnx_aot.fail(%[[CONTEXT]], %[[TEXT]])
// CHECK: llvm.return
// CHECK: llvm.func internal @onnx_aot.fail
llvm.func @main(%context: !llvm.ptr, %ok: i1) {
  cf.assert %ok, "an index is out of range"
  llvm.return
}

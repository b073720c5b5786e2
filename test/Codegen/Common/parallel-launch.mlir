// RUN: onnx-aot-opt %s -codegen-parallel-launch | FileCheck %s

// The task unpacks what the launcher packed.
// CHECK-LABEL: llvm.func internal @k.task
// CHECK-SAME: %[[PACK:.*]]: !llvm.ptr, %[[BEGIN:.*]]: i64, %[[END:.*]]: i64
// CHECK: %[[A:.*]] = llvm.load
// CHECK: %[[N:.*]] = llvm.load
// CHECK: llvm.call @k(%[[A]], %[[N]], %[[BEGIN]], %[[END]])
// CHECK-LABEL: llvm.func internal @k(
llvm.func @k(%a: !llvm.ptr, %n: i64, %begin: i64, %end: i64) {
  llvm.return
}
// One task, no runtime or no such service: a plain call of all tasks.
// CHECK-LABEL: llvm.func internal @k.launch
// CHECK-SAME: %[[CONTEXT:.*]]: !llvm.ptr, %[[A:.*]]: !llvm.ptr, %[[N:.*]]: i64, %[[COUNT:.*]]: i64
// CHECK: %[[FEW:.*]] = llvm.icmp "sle" %[[COUNT]]
// CHECK: llvm.cond_br %[[FEW]], ^[[DIRECT:.*]], ^
// CHECK: ^[[DIRECT]]:
// CHECK: llvm.call @k(%[[A]], %[[N]], %{{.*}}, %[[COUNT]])
// CHECK: llvm.mlir.addressof @k.task
// CHECK: llvm.call %{{.*}}(%{{.*}}, %{{.*}}, %{{.*}}, %[[COUNT]])
llvm.func @k.launch(!llvm.ptr, !llvm.ptr, i64, i64)

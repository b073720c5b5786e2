// RUN: onnx-aot-opt %s -codegen-define-calls | FileCheck %s

// The stack holds the tensors, the attributes and the call; the function is
// external, and a place in a loop gives its stack back.
// CHECK-DAG: llvm.func @my_op(!llvm.ptr) -> i32
// CHECK-DAG: llvm.mlir.global internal constant @[[NAME:.*]]("beta\00")
// CHECK-LABEL: llvm.func internal @onnx_aot.call.0
// CHECK-SAME: %[[CONTEXT:.*]]: !llvm.ptr, %[[X:.*]]: i64, %[[Y:.*]]: i64, %[[N:.*]]: i64
// CHECK: llvm.alloca
// CHECK: llvm.inttoptr %[[X]]
// CHECK: llvm.inttoptr %[[Y]]
// CHECK: llvm.mlir.addressof @[[NAME]]
// CHECK: %[[STATUS:.*]] = llvm.call @my_op(%{{.*}}) : (!llvm.ptr) -> i32
// CHECK: llvm.return %[[STATUS]]
llvm.func @onnx_aot.call.0(!llvm.ptr, i64, i64, i64) -> i32 attributes {codegen.call = {callee = "my_op",
    inputs = array<i32: 1>, outputs = array<i32: 1>, ranks = array<i32: 1, 0>, attributes = {beta = 1.5 : f32}}}

// RUN: onnx-aot-opt %s -codegen-abi-wrappers | FileCheck %s

// The functions of the descriptor: `plan` writes what it is asked for, `run`
// refuses symbols that the plan has a reason against before it calls the entry.
// CHECK-DAG: llvm.mlir.global internal constant @onnx_aot.plan_checks("no\00too large\00")
// CHECK-LABEL: llvm.func @plan(
// CHECK-SAME: %[[SYMBOLS:.*]]: !llvm.ptr, %[[DIMS:.*]]: !llvm.ptr, %[[BYTES:.*]]: !llvm.ptr) -> i32
// CHECK: %[[N:.*]] = llvm.load
// CHECK: llvm.call @main.plan(%[[N]])
// CHECK: %[[GOOD:.*]] = llvm.icmp "eq"
// CHECK: llvm.cond_br %[[GOOD]], ^[[REST:.*]], ^[[REFUSE:.*]]
// CHECK-LABEL: llvm.func @run(
// CHECK: llvm.call @main.plan
// CHECK: llvm.cond_br
// CHECK: llvm.call @onnx_aot.fail
// CHECK: %[[BAD:.*]] = llvm.mlir.constant(3 : i32)
// CHECK: llvm.return %[[BAD]]
// CHECK: llvm.call @main(
module attributes {abi.symbols = ["n"], codegen.plan_checks = ["no", "too large"], abi.value_shaped_outputs = array<i64>,
    abi.inputs = [], abi.outputs = [{dims = array<i64: -1>, name = "y", type = 1 : i32}]} {
llvm.func @main(%rt: !llvm.ptr,
    %w0: !llvm.ptr, %w1: !llvm.ptr, %w2: i64, %w3: i64, %w4: i64, %a0: !llvm.ptr, %a1: !llvm.ptr, %a2: i64, %a3: i64,
    %a4: i64, %n: i64, %y0: !llvm.ptr, %y1: !llvm.ptr, %y2: i64, %y3: i64, %y4: i64) {
  llvm.return
}
llvm.func @main.plan(%n: i64) -> !llvm.struct<(i64, i64, i64)> {
  %s = llvm.mlir.poison : !llvm.struct<(i64, i64, i64)>
  llvm.return %s : !llvm.struct<(i64, i64, i64)>
}
}

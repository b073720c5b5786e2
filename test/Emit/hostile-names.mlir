// Names from a model cannot break out of strings, comments or identifiers.
// RUN: rm -rf %t && mkdir %t
// RUN: onnx-aot-compile %s -o %t/m.o
// RUN: FileCheck %s < %t/m.h
// RUN: printf '#include "m.h"\nint main(void) { return m_module.inputs[0].name[0] != 42; }\n' > %t/main.c
// RUN: clang-22 -std=c99 -trigraphs -pedantic-errors -Wall -Werror -I%t %t/main.c %t/m.o -o %t/main
// RUN: %t/main

// CHECK: #define M_INPUT_0_NAME "\052/\042\012#error \077\077/\134\303\251"
// CHECK: #define M_INPUT_1_NAME "0 NAME"
// CHECK: #define M_INPUT_INDEX_m_____error_______ 0
// CHECK: #define M_INPUT_INDEX_m0_NAME 1
// CHECK-NOT: INPUT_INDEX
// CHECK: #define M_OUTPUT_INDEX_m 0
module @"evil\22name" attributes {
  abi.inputs = [{dims = array<i64>, name = "*/\22\0A#error ??/\\\C3\A9", type = 7 : i32},
                {dims = array<i64>, name = "0 NAME", type = 7 : i32},
                {dims = array<i64>, name = "0.NAME", type = 7 : i32}],
  abi.outputs = [{dims = array<i64>, name = "", type = 7 : i32}],
  codegen.weights = []
} {
  llvm.func @plan(!llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32 {
  ^bb0(%0: !llvm.ptr, %1: !llvm.ptr, %2: !llvm.ptr):
    %ok = llvm.mlir.constant(0 : i32) : i32
    llvm.return %ok : i32
  }
  llvm.func @run(!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32 {
  ^bb0(%0: !llvm.ptr, %1: !llvm.ptr, %2: !llvm.ptr, %3: !llvm.ptr, %4: !llvm.ptr, %5: !llvm.ptr):
    %ok = llvm.mlir.constant(0 : i32) : i32
    llvm.return %ok : i32
  }
}

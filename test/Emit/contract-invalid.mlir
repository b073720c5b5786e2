// What Emit refuses in the module that Codegen hands to it.
// RUN: split-file %s %t
// RUN: not onnx-aot-compile %t/undefined.mlir -o %t/x.so 2>&1 | FileCheck %s --check-prefix=UNDEFINED
// RUN: not onnx-aot-compile %t/signature.mlir -o %t/x.so 2>&1 | FileCheck %s --check-prefix=SIGNATURE
// RUN: not onnx-aot-compile %t/state.mlir -o %t/x.so 2>&1 | FileCheck %s --check-prefix=STATE
// RUN: not onnx-aot-compile %t/values.mlir -o %t/x.so 2>&1 | FileCheck %s --check-prefix=VALUES
// RUN: not onnx-aot-compile %t/symbols.mlir -o %t/x.so 2>&1 | FileCheck %s --check-prefix=SYMBOLS
// RUN: not onnx-aot-compile %t/weights.mlir -o %t/x.so 2>&1 | FileCheck %s --check-prefix=WEIGHTS
// RUN: not onnx-aot-compile %t/type.mlir -o %t/x.so 2>&1 | FileCheck %s --check-prefix=TYPE
// RUN: not ls %t/x.so
// RUN: not onnx-aot-compile %t/undefined.mlir -o %t/x.so --target=sparc-linux 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: not onnx-aot-compile %t/undefined.mlir -o %t/x.so --cpu=i386 2>&1 | FileCheck %s --check-prefix=CPU
// RUN: not onnx-aot-compile %t/undefined.mlir -o %t/x.so --cpu=frob 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not onnx-aot-compile %t/undefined.mlir -o %t/x.so --features=+frob 2>&1 | FileCheck %s --check-prefix=FEATURE

// UNDEFINED: error: the compiled code calls functions that it must not depend on: memrefCopy{{$}}
// SIGNATURE: error: 'plan' does not take 3 pointers and return i32
// STATE: error: global 'counter' is not constant: a compiled module has no state
// VALUES: error: 'abi.inputs' holds 7 : i64 (expected {name, type, dims}
// SYMBOLS: error: 'abi.symbols' is not a list of names
// WEIGHTS: error: 'codegen.weights' is not a list of [offset, tensor]
// TYPE: error: 'abi.outputs' holds {{.*}}type = 99
// TARGET: error: target 'sparc-unknown-linux' is not supported (supported: x86_64, aarch64 and riscv64 on Linux)
// CPU: error: processor 'i386' lacks '64bit'
// NAME: error: unknown processor 'frob' for x86_64{{.*}} (supported: {{.*}}znver3
// FEATURE: error: unknown feature '+frob'

//--- undefined.mlir
module attributes {abi.inputs = [], abi.outputs = [], codegen.weights = []} {
  llvm.func @memrefCopy(!llvm.ptr)
  llvm.func @expf(f32) -> f32
  llvm.func @plan(%0: !llvm.ptr, %1: !llvm.ptr, %2: !llvm.ptr) -> i32 {
    %ok = llvm.mlir.constant(0 : i32) : i32
    llvm.return %ok : i32
  }
  llvm.func @run(%0: !llvm.ptr, %1: !llvm.ptr, %2: !llvm.ptr, %3: !llvm.ptr, %4: !llvm.ptr, %5: !llvm.ptr) -> i32 {
    %ok = llvm.mlir.constant(0 : i32) : i32
    llvm.call @memrefCopy(%0) : (!llvm.ptr) -> ()
    %x = llvm.load %1 : !llvm.ptr -> f32
    %y = llvm.call @expf(%x) : (f32) -> f32
    llvm.store %y, %5 : f32, !llvm.ptr
    llvm.return %ok : i32
  }
}

//--- signature.mlir
module attributes {abi.inputs = [], abi.outputs = [], codegen.weights = []} {
  llvm.func @plan(%0: !llvm.ptr) -> i32 {
    %ok = llvm.mlir.constant(0 : i32) : i32
    llvm.return %ok : i32
  }
  llvm.func @run(%0: !llvm.ptr, %1: !llvm.ptr, %2: !llvm.ptr, %3: !llvm.ptr, %4: !llvm.ptr, %5: !llvm.ptr) -> i32 {
    %ok = llvm.mlir.constant(0 : i32) : i32
    llvm.return %ok : i32
  }
}

//--- state.mlir
module attributes {abi.inputs = [], abi.outputs = [], codegen.weights = []} {
  llvm.mlir.global internal @counter(0 : i64) : i64
  llvm.func @plan(%0: !llvm.ptr, %1: !llvm.ptr, %2: !llvm.ptr) -> i32 {
    %ok = llvm.mlir.constant(0 : i32) : i32
    llvm.return %ok : i32
  }
  llvm.func @run(%0: !llvm.ptr, %1: !llvm.ptr, %2: !llvm.ptr, %3: !llvm.ptr, %4: !llvm.ptr, %5: !llvm.ptr) -> i32 {
    %ok = llvm.mlir.constant(0 : i32) : i32
    %p = llvm.mlir.addressof @counter : !llvm.ptr
    %v = llvm.load %p : !llvm.ptr -> i64
    llvm.store %v, %5 : i64, !llvm.ptr
    llvm.return %ok : i32
  }
}

//--- values.mlir
module attributes {abi.inputs = [7], abi.outputs = [], codegen.weights = []} {
  llvm.func @run() {
    llvm.return
  }
}

//--- symbols.mlir
module attributes {abi.symbols = [3], abi.inputs = [], abi.outputs = [], codegen.weights = []} {
  llvm.func @run() {
    llvm.return
  }
}

//--- weights.mlir
module attributes {abi.inputs = [], abi.outputs = [], codegen.weights = [[0, "text"]]} {
  llvm.func @run() {
    llvm.return
  }
}

//--- type.mlir
module attributes {abi.inputs = [], abi.outputs = [{dims = array<i64: 4>, name = "y", type = 99 : i32}], codegen.weights = []} {
  llvm.func @run() {
    llvm.return
  }
}

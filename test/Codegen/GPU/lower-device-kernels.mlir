// RUN: onnx-aot-opt %s --pass-pipeline='builtin.module(gpu.module(gpu-lower-device-kernels))' | FileCheck %s

// Elementary functions need no library, loops are branches.
// CHECK-LABEL: llvm.func @k
// CHECK-NOT: math.
// CHECK: llvm.cond_br
// CHECK: llvm.intr.fma
// CHECK-NOT: scf.for
// Half precision is computed in single.
// CHECK: llvm.fpext %{{.*}} : f16 to f32
// CHECK: llvm.intr.sqrt(%{{.*}}) : (f32) -> f32
gpu.module @kernels {
  llvm.func @k(%p: !llvm.ptr<1>, %n: i32, %h: f16, %q: !llvm.ptr<1>) attributes {nvvm.kernel} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    scf.for %i = %c0 to %n step %c1 : i32 {
      %a = llvm.getelementptr %p[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
      %x = llvm.load %a : !llvm.ptr<1> -> f32
      %y = math.tanh %x : f32
      llvm.store %y, %a : f32, !llvm.ptr<1>
    }
    %r = math.sqrt %h : f16
    llvm.store %r, %q : f16, !llvm.ptr<1>
    llvm.return
  }
}

// RUN: onnx-aot-opt %s --pass-pipeline='builtin.module(gpu.module(gpu-emulate-device))' --split-input-file --verify-diagnostics | FileCheck %s

// CHECK-LABEL: gpu.module @kernels
// CHECK-NOT: ptr<
// CHECK: llvm.func internal @k(%[[P:.*]]: !llvm.ptr)
// CHECK: call @onnx_aot_emu_register
// CHECK: call @onnx_aot_emu_shared
// CHECK: call @onnx_aot_emu_load
// CHECK-NEXT: llvm.load
// CHECK: call @onnx_aot_emu_shared_store
// CHECK-NEXT: llvm.store
// CHECK: call @onnx_aot_emu_copy(%{{.*}}, %[[P]], %{{.*}}, %{{.*}})
// CHECK: call @onnx_aot_emu_commit_copies()
// CHECK: call @onnx_aot_emu_wait_for_copies(%{{.*}})
// CHECK: call @onnx_aot_emu_barrier
// CHECK: call @onnx_aot_emu_shuffle
// CHECK: llvm.func @k__thunk(%{{.*}}: !llvm.ptr)
// CHECK: llvm.mlir.global external constant @k__shared(128 : i64)
gpu.module @kernels attributes {device.kernels = [{name = "k", shared_bytes = 128 : i64, threads = 32 : i64}]} {
  llvm.mlir.global internal @k.tile() {addr_space = 3 : i32} : !llvm.array<32 x f32>
  llvm.func @k(%p: !llvm.ptr<1>) attributes {nvvm.kernel} {
    %t = nvvm.read.ptx.sreg.tid.x : i32
    %s = llvm.mlir.addressof @k.tile : !llvm.ptr<3>
    %v = llvm.load %p : !llvm.ptr<1> -> f32
    llvm.store %v, %s : f32, !llvm.ptr<3>
    %n = llvm.mlir.constant(4 : i32) : i32
    nvvm.cp.async.shared.global %s, %p, 4, cache = ca, %n : !llvm.ptr<3>, !llvm.ptr<1>, i32
    nvvm.cp.async.commit.group
    nvvm.cp.async.wait.group 0
    nvvm.barrier0
    %m = llvm.mlir.constant(-1 : i32) : i32
    %c = llvm.mlir.constant(31 : i32) : i32
    %x = nvvm.shfl.sync bfly %m, %t, %c, %c : i32 -> i32
    llvm.return
  }
}

// -----

gpu.module @kernels attributes {device.kernels = [{name = "k", shared_bytes = 0 : i64, threads = 32 : i64}]} {
  llvm.func @k() attributes {nvvm.kernel} {
    // expected-error @below {{the emulator lacks this operation}}
    %t = nvvm.read.ptx.sreg.clock : i32
    llvm.return
  }
}

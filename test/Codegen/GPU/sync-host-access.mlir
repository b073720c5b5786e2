// RUN: onnx-aot-opt %s --gpu-sync-host-access | FileCheck %s

func.func private @onnx_aot.device_launch(!llvm.ptr, i32, i64, !llvm.ptr, i32) -> i32

// Before what the host reads, and before what it writes, the device is told.
// CHECK-LABEL: func.func @main
// CHECK: %[[READ:.*]] = arith.constant 1 : i64
// CHECK: call @onnx_aot.device_access(%{{.*}}, %{{.*}}, %{{.*}}, %[[READ]])
// CHECK: cf.assert
// CHECK: memref.load
// CHECK: %[[BOTH:.*]] = arith.constant 3 : i64
// CHECK: call @onnx_aot.device_access(%{{.*}}, %{{.*}}, %{{.*}}, %[[BOTH]])
// CHECK: memref.store
// A dense copy is made where the bytes are.
// CHECK: call @onnx_aot.device_copy
// CHECK-NOT: memref.copy
// A loop of the host is announced as a whole, one with a launch part by part.
// CHECK: call @onnx_aot.device_access
// CHECK: scf.for
// CHECK-NOT: call
// CHECK: memref.load
// CHECK: scf.for
// CHECK: call @onnx_aot.device_launch
// CHECK: call @onnx_aot.device_access
// CHECK: memref.load
func.func @main(%rt: !llvm.ptr, %w: memref<?xi8>, %arena: memref<?xi8>,
                %x: memref<4xf32>, %y: memref<4xf32>, %z: memref<f32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %n = arith.constant 0 : i32
  %blocks = arith.constant 7 : i64
  %a = memref.load %x[%c0] : memref<4xf32>
  memref.store %a, %y[%c1] : memref<4xf32>
  memref.copy %x, %y : memref<4xf32> to memref<4xf32>
  scf.for %i = %c0 to %c4 step %c1 {
    %b = memref.load %x[%i] : memref<4xf32>
    memref.store %b, %z[] : memref<f32>
  }
  scf.for %i = %c0 to %c4 step %c1 {
    %s = func.call @onnx_aot.device_launch(%rt, %n, %blocks, %rt, %n)
        : (!llvm.ptr, i32, i64, !llvm.ptr, i32) -> i32
    %b = memref.load %x[%i] : memref<4xf32>
    memref.store %b, %z[] : memref<f32>
  }
  return
}

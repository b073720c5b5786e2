// RUN: onnx-aot-opt %s --gpu-emit-device-kernels | FileCheck %s

// Loops that update computed places become a kernel, whose target is read and
// written (3).
// CHECK-LABEL: func.func @main
// CHECK-NOT: memref.store
// CHECK: %[[MODE:.*]] = arith.constant 3 : i64
// CHECK: llvm.store %[[MODE]]
// CHECK: call @onnx_aot.device_launch
// What reads the places of other points keeps its order, on the host.
// CHECK: scf.for
// CHECK: memref.store
// CHECK: llvm.func @scatter_0
// The first update of a place is looked for, and makes them all.
// CHECK: %[[FIRST:.*]] = scf.while
// CHECK: %[[OWNS:.*]] = arith.cmpi eq, %[[FIRST]]
// CHECK: scf.if %[[OWNS]]
// CHECK: scf.for
// CHECK: arith.addf
// CHECK: llvm.store
module attributes {abi.inputs = [], abi.outputs = [], abi.symbols = []} {
func.func @main(%rt: !llvm.ptr, %w: memref<?xi8>, %arena: memref<?xi8>,
                %i: memref<?xi32>, %u: memref<?x8xf32>, %y: memref<5x8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %n = memref.dim %i, %c0 : memref<?xi32>
  scf.for %a = %c0 to %n step %c1 {
    scf.for %b = %c0 to %c8 step %c1 {
      %k = memref.load %i[%a] : memref<?xi32>
      %place = arith.index_cast %k : i32 to index
      %old = memref.load %y[%place, %b] : memref<5x8xf32>
      %add = memref.load %u[%a, %b] : memref<?x8xf32>
      %new = arith.addf %old, %add : f32
      memref.store %new, %y[%place, %b] : memref<5x8xf32>
    }
  }
  scf.for %b = %c1 to %c8 step %c1 {
    %before = arith.subi %b, %c1 : index
    %old = memref.load %y[%c0, %before] : memref<5x8xf32>
    memref.store %old, %y[%c0, %b] : memref<5x8xf32>
  }
  return
}
}

// RUN: onnx-aot-opt %s --gpu-outline-buffer-ops | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK: kernel.launch @fill.0(%{{.*}}) into(%{{.*}}) : (f32) into(memref<4x8xf32>)
// CHECK: kernel.launch @copy.1(%{{.*}}) into(%{{.*}}) : (memref<4x4xf32, strided<[8, 1]>>) into(memref<4x4xf32>)
// Dense memory is copied without a kernel.
// CHECK: memref.copy
// A loop of the host stays one.
// CHECK: scf.for
// CHECK-NEXT: linalg.fill
// CHECK: func.func private @copy.1(%{{.*}}: tensor<4x4xf32>, %{{.*}}: tensor<4x4xf32>) -> tensor<4x4xf32>
func.func @main(%rt: !llvm.ptr, %w: memref<?xi8>, %arena: memref<?xi8>,
                %x: memref<4x8xf32>, %y: memref<4x4xf32>, %z: memref<4x4xf32>) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  linalg.fill ins(%zero : f32) outs(%x : memref<4x8xf32>)
  %part = memref.subview %x[0, 0] [4, 4] [1, 1]
      : memref<4x8xf32> to memref<4x4xf32, strided<[8, 1]>>
  memref.copy %part, %y : memref<4x4xf32, strided<[8, 1]>> to memref<4x4xf32>
  memref.copy %y, %z : memref<4x4xf32> to memref<4x4xf32>
  scf.for %i = %c0 to %c4 step %c1 {
    linalg.fill ins(%zero : f32) outs(%z : memref<4x4xf32>)
  }
  return
}

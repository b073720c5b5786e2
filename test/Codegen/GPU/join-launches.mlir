// RUN: onnx-aot-opt %s --gpu-join-launches | FileCheck %s
// RUN: onnx-aot-opt %s --gpu-join-launches --gpu-emit-device-kernels | FileCheck %s --check-prefix=KERNEL

#id = affine_map<(d0) -> (d0)>
#all = affine_map<(d0, d1) -> (d0, d1)>
#none = affine_map<(d0, d1) -> ()>
#nowhere = affine_map<(d0) -> ()>

// The same of buffers of two shapes is one launch, which passes what both read once;
// the second of a chain is not part of it, nor what writes memory that another one reads.
// CHECK-LABEL: func.func @main
// CHECK: kernel.launch @rows.0(%{{.*}}, %arg5) into(%{{.*}}) {device.joint = 0 : i64} : (memref<?xf32>, memref<f32>) into(memref<?xf32>)
// CHECK: kernel.launch @rows.0(%{{.*}}, %arg5) into(%{{.*}}) {device.joint = 0 : i64} : (memref<?xf32>, memref<f32>) into(memref<?xf32>)
// CHECK: kernel.launch @rows.0(%{{.*}}, %arg5) into(%{{.*}}) {device.joint = 1 : i64} : (memref<?xf32>, memref<f32>) into(memref<?xf32>)
// CHECK: kernel.launch @rows.0(%{{.*}}, %arg5) into(%{{.*}}) {device.joint = 1 : i64} : (memref<?xf32>, memref<f32>) into(memref<?xf32>)
// CHECK: kernel.launch @scale_row(%{{.*}}, %arg5) into(%{{.*}}) : (memref<12xf32>, memref<f32>)
// CHECK-NOT: func.func private @scale_square
// CHECK: func.func private @rows.0(%{{.*}}: tensor<?xf32>, %{{.*}}: tensor<f32>, %{{.*}}: tensor<?xf32>)

// KERNEL-LABEL: func.func @main
// KERNEL-COUNT-3: call @onnx_aot.device_launch
// KERNEL-NOT: call @onnx_aot.device_launch
// KERNEL: llvm.func @joint_point_0(%[[SCALE:arg[0-9]+]]: !llvm.ptr<1>,
// KERNEL-SAME: %[[A:arg[0-9]+]]: !llvm.ptr<1>, %{{[a-z0-9]+}}: i32, %{{[a-z0-9]+}}: !llvm.ptr<1>, %{{[a-z0-9]+}}: i32, %[[END:arg[0-9]+]]: i32
// KERNEL-SAME: %[[B:arg[0-9]+]]: !llvm.ptr<1>, %{{[a-z0-9]+}}: i32, %{{[a-z0-9]+}}: !llvm.ptr<1>, %{{[a-z0-9]+}}: i32, %[[LAST:arg[0-9]+]]: i32)
// KERNEL: scf.for %[[BLOCK:.*]] = %{{.*}} to %[[LAST]] step
// KERNEL: %[[FIRST:.*]] = arith.cmpi slt, %[[BLOCK]], %[[END]]
// KERNEL: scf.if %[[FIRST]]
// KERNEL-NEXT: scf.yield %[[A]]
// KERNEL-NEXT: else
// KERNEL-NEXT: scf.yield %[[B]]
module attributes {abi.inputs = [], abi.outputs = [], abi.symbols = []} {
func.func @main(%rt: !llvm.ptr, %w: memref<?xi8>, %arena: memref<?xi8>,
                %x: memref<12xf32>, %y: memref<4x5xf32>, %s: memref<f32>) {
  kernel.launch @scale_row(%x, %s) into(%x) : (memref<12xf32>, memref<f32>) into(memref<12xf32>)
  kernel.launch @scale_square(%y, %s) into(%y) : (memref<4x5xf32>, memref<f32>) into(memref<4x5xf32>)
  kernel.launch @scale_row(%x, %s) into(%x) : (memref<12xf32>, memref<f32>) into(memref<12xf32>)
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %a = memref.view %arena[%c0][] : memref<?xi8> to memref<12xf32>
  %b = memref.view %arena[%c32][] : memref<?xi8> to memref<12xf32>
  %c = memref.view %arena[%c64][] : memref<?xi8> to memref<12xf32>
  kernel.launch @scale_row(%c, %s) into(%a) : (memref<12xf32>, memref<f32>) into(memref<12xf32>)
  kernel.launch @scale_row(%c, %s) into(%b) : (memref<12xf32>, memref<f32>) into(memref<12xf32>)
  return
}
func.func private @scale_row(%x: tensor<12xf32>, %s: tensor<f32>, %y: tensor<12xf32>) -> tensor<12xf32> {
  %r = linalg.generic {indexing_maps = [#id, #nowhere, #id], iterator_types = ["parallel"]}
      ins(%x, %s : tensor<12xf32>, tensor<f32>) outs(%y : tensor<12xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %n = arith.mulf %a, %b : f32
    linalg.yield %n : f32
  } -> tensor<12xf32>
  return %r : tensor<12xf32>
}
func.func private @scale_square(%x: tensor<4x5xf32>, %s: tensor<f32>, %y: tensor<4x5xf32>) -> tensor<4x5xf32> {
  %r = linalg.generic {indexing_maps = [#all, #none, #all], iterator_types = ["parallel", "parallel"]}
      ins(%x, %s : tensor<4x5xf32>, tensor<f32>) outs(%y : tensor<4x5xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %n = arith.mulf %a, %b : f32
    linalg.yield %n : f32
  } -> tensor<4x5xf32>
  return %r : tensor<4x5xf32>
}
}

// RUN: onnx-aot-opt %s --gpu-emit-device-kernels | FileCheck %s
// RUN: onnx-aot-opt %s --gpu-emit-device-kernels=report 2>&1 | FileCheck %s --check-prefix=REPORT

#id = affine_map<(d0) -> (d0)>

// The launch passes addresses, bytes and the run-time size; equal kernels are one.
// CHECK-LABEL: func.func @main
// CHECK: cf.assert %{{.*}}, "a tensor has too many elements for the device"
// CHECK: call @onnx_aot.device_launch(%{{.*}}, %[[NUMBER:.*]], %{{.*}}, %{{.*}}, %{{.*}})
// CHECK: call @onnx_aot.device_launch(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}})
// CHECK: kernel.launch @host
// CHECK-NOT: func.func private @negate
// CHECK: gpu.module @kernels attributes {device.kernels = [{name = "point_0", shared_bytes = 0 : i64, threads = 256 : i64}]}
// CHECK: llvm.func @point_0(%[[X:.*]]: !llvm.ptr<1>, %[[N:.*]]: i32, %[[Y:.*]]: !llvm.ptr<1>, %{{.*}}: i32)
// CHECK-SAME: nvvm.kernel, nvvm.minctasm = 2 : i32, nvvm.reqntid = array<i32: 256, 1, 1>
// CHECK: scf.for %[[I:.*]] = %{{.*}} to %[[N]] step
// CHECK: %[[FROM:.*]] = llvm.getelementptr %[[X]][%[[I]]]
// CHECK: %[[VALUE:.*]] = llvm.load %[[FROM]]
// CHECK: arith.negf %[[VALUE]]
// CHECK: llvm.store

// REPORT: runs on the host: the device has no code for 'math.erf' on float64
module attributes {abi.inputs = [], abi.outputs = [], abi.symbols = []} {
func.func @main(%rt: !llvm.ptr, %w: memref<?xi8>, %arena: memref<?xi8>,
                %x: memref<?xf32>, %y: memref<?xf32>, %d: memref<?xf64>) {
  kernel.launch @negate(%x) into(%y) : (memref<?xf32>) into(memref<?xf32>)
  kernel.launch @negate(%y) into(%x) : (memref<?xf32>) into(memref<?xf32>)
  kernel.launch @host(%d) into(%d) : (memref<?xf64>) into(memref<?xf64>)
  return
}
func.func private @negate(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<?xf32>) outs(%y : tensor<?xf32>) {
  ^bb0(%a: f32, %b: f32):
    %n = arith.negf %a : f32
    linalg.yield %n : f32
  } -> tensor<?xf32>
  return %r : tensor<?xf32>
}
func.func private @host(%x: tensor<?xf64>, %y: tensor<?xf64>) -> tensor<?xf64> {
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<?xf64>) outs(%y : tensor<?xf64>) {
  ^bb0(%a: f64, %b: f64):
    %n = math.erf %a : f64
    linalg.yield %n : f64
  } -> tensor<?xf64>
  return %r : tensor<?xf64>
}
}

// RUN: onnx-aot-opt %s --gpu-emit-device-kernels | FileCheck %s

// Few results of long reductions: parts by several blocks, in scratch memory, which
// a second kernel combines before it does the ops behind. A row has up to 256 parts,
// 32 columns up to 512.
// CHECK-LABEL: func.func @main
// CHECK: %[[ROW:.*]] = arith.minui %{{.*}}, %c256
// CHECK: call @onnx_aot.device_launch
// CHECK: call @onnx_aot.device_launch
// CHECK: %[[COLUMN:.*]] = arith.minui %{{.*}}, %c512
// CHECK: call @onnx_aot.device_launch
// CHECK: call @onnx_aot.device_launch
// CHECK: llvm.func @split_row_0(%{{.*}}, %[[SCRATCH:.*]]: !llvm.ptr<1>, %{{.*}}: i32)
// CHECK: nvvm.shfl.sync
// CHECK: nvvm.barrier0
// CHECK: llvm.getelementptr %[[SCRATCH]]
// CHECK: llvm.func @summation_1(
// CHECK-SAME: array<i32: 128, 1, 1>
// CHECK: nvvm.shfl.sync
// CHECK: math.sqrt
// CHECK: llvm.func @split_column_2(%{{.*}}, %[[SCRATCH:.*]]: !llvm.ptr<1>, %{{.*}}: i32)
// CHECK: nvvm.barrier0
// CHECK: llvm.getelementptr %[[SCRATCH]]
// CHECK: llvm.func @summation_3(
// CHECK-SAME: array<i32: 256, 1, 1>
#id = affine_map<(d0, d1) -> (d0, d1)>
#none = affine_map<(d0, d1) -> ()>
#scalar = affine_map<() -> ()>
#column = affine_map<(d0, d1) -> (d1)>
module attributes {abi.inputs = [], abi.outputs = [], abi.symbols = []} {
  func.func @main(%runtime: !llvm.ptr, %weights: memref<?xi8>, %arena: memref<?xi8>,
                  %x: memref<?x8xf32>, %y: memref<f32>, %z: memref<8xf32>) {
    kernel.launch @norm(%x) into(%y) : (memref<?x8xf32>) into(memref<f32>)
    kernel.launch @columns(%x) into(%z) : (memref<?x8xf32>) into(memref<8xf32>)
    return
  }
  func.func private @norm(%x: tensor<?x8xf32>, %y: tensor<f32>) -> tensor<f32> {
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<f32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
    %0 = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction", "reduction"]}
        ins(%x : tensor<?x8xf32>) outs(%f : tensor<f32>) {
    ^bb0(%a: f32, %o: f32):
      %s = arith.mulf %a, %a : f32
      %t = arith.addf %o, %s : f32
      linalg.yield %t : f32
    } -> tensor<f32>
    %1 = linalg.generic {indexing_maps = [#scalar, #scalar], iterator_types = []}
        ins(%0 : tensor<f32>) outs(%y : tensor<f32>) {
    ^bb0(%a: f32, %o: f32):
      %t = math.sqrt %a : f32
      linalg.yield %t : f32
    } -> tensor<f32>
    return %1 : tensor<f32>
  }
  func.func private @columns(%x: tensor<?x8xf32>, %z: tensor<8xf32>) -> tensor<8xf32> {
    %zero = arith.constant 0.0 : f32
    %f = linalg.fill ins(%zero : f32) outs(%z : tensor<8xf32>) -> tensor<8xf32>
    %0 = linalg.generic {indexing_maps = [#id, #column], iterator_types = ["reduction", "parallel"]}
        ins(%x : tensor<?x8xf32>) outs(%f : tensor<8xf32>) {
    ^bb0(%a: f32, %o: f32):
      %t = arith.addf %o, %a : f32
      linalg.yield %t : f32
    } -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}

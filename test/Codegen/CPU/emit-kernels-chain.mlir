// RUN: onnx-aot-opt %s -cpu-emit-kernels=vector-bytes=16 | FileCheck %s

// Blocks of 16 rows: products into the task's slot of the scratch memory, their softmax
// in place, with each exponential computed once, and the products over its rows.
// CHECK-LABEL: func.func @main
// CHECK: call @k0.launch({{.*}}, %c4{{[_0-9]*}})
// CHECK: func.func private @k0({{.*}}, %[[Y:[a-z0-9]+]]: memref<64x8xf32>, %[[SCRATCH:[a-z0-9]+]]: memref<32x16x128xf32>, %[[BEGIN:[a-z0-9]+]]: index, %[[END:[a-z0-9]+]]: index)
// CHECK: scf.for %[[TASK:.*]] = %[[BEGIN]] to %[[END]]
// CHECK: scf.for %[[BLOCK:.*]] = %{{.*}} to
// CHECK: vector.fma
// CHECK: vector.store %{{.*}}, %[[SCRATCH]][%[[TASK]],
// CHECK: arith.maximumf
// CHECK: math.exp
// CHECK: vector.store %{{.*}}, %[[SCRATCH]][%[[TASK]],
// CHECK: arith.divf
// CHECK: vector.store %{{.*}}, %[[SCRATCH]][%[[TASK]],
// CHECK-NOT: math.exp
// CHECK: memref.load %[[SCRATCH]][%[[TASK]],
// CHECK: vector.fma
// CHECK: vector.store %{{.*}}, %[[Y]]
// CHECK-NOT: @k1
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#qd = affine_map<(d0, d1, d2) -> (d0, d2)>
#kd = affine_map<(d0, d1, d2) -> (d1, d2)>
#qk = affine_map<(d0, d1, d2) -> (d0, d1)>
#wk = affine_map<(d0, d1, d2) -> (d0, d2)>
#vk = affine_map<(d0, d1, d2) -> (d2, d1)>
module attributes {abi.inputs = [], abi.outputs = []} {
func.func @main(%rt: !llvm.ptr, %weights: memref<?xi8>, %arena: memref<?xi8>, %q: memref<64x8xf32>, %k: memref<128x8xf32>, %v: memref<128x8xf32>, %y: memref<64x8xf32>, %scratch: memref<32x16x128xf32>) {
  kernel.launch @kernel.0(%q, %k, %v) into(%y, %scratch) : (memref<64x8xf32>, memref<128x8xf32>, memref<128x8xf32>) into(memref<64x8xf32>, memref<32x16x128xf32>)
  return
}
func.func private @kernel.0(%q: tensor<64x8xf32>, %k: tensor<128x8xf32>, %v: tensor<128x8xf32>, %out: tensor<64x8xf32>, %scratch: tensor<32x16x128xf32>) -> (tensor<64x8xf32>, tensor<32x16x128xf32>) {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %es = tensor.empty() : tensor<64x128xf32>
  %er = tensor.empty() : tensor<64xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<64x128xf32>) -> tensor<64x128xf32>
  %s = linalg.generic {indexing_maps = [#qd, #kd, #qk], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%q, %k : tensor<64x8xf32>, tensor<128x8xf32>) outs(%fs : tensor<64x128xf32>) attrs = {kernel.stage = 0 : i64} {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %t = arith.addf %o, %m : f32
    linalg.yield %t : f32
  } -> tensor<64x128xf32>
  %fm = linalg.fill ins(%low : f32) outs(%er : tensor<64xf32>) -> tensor<64xf32>
  %max = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%s : tensor<64x128xf32>) outs(%fm : tensor<64xf32>) attrs = {kernel.stage = 1 : i64} {
  ^bb0(%a: f32, %o: f32):
    %t = arith.maximumf %o, %a : f32
    linalg.yield %t : f32
  } -> tensor<64xf32>
  %p = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%s, %max : tensor<64x128xf32>, tensor<64xf32>) outs(%es : tensor<64x128xf32>) attrs = {kernel.stage = 1 : i64} {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %d = arith.subf %a, %b : f32
    %t = math.exp %d : f32
    linalg.yield %t : f32
  } -> tensor<64x128xf32>
  %fz = linalg.fill ins(%zero : f32) outs(%er : tensor<64xf32>) -> tensor<64xf32>
  %sum = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%p : tensor<64x128xf32>) outs(%fz : tensor<64xf32>) attrs = {kernel.stage = 1 : i64} {
  ^bb0(%a: f32, %o: f32):
    %t = arith.addf %o, %a : f32
    linalg.yield %t : f32
  } -> tensor<64xf32>
  %w = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%p, %sum : tensor<64x128xf32>, tensor<64xf32>) outs(%es : tensor<64x128xf32>) attrs = {kernel.stage = 1 : i64} {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %t = arith.divf %a, %b : f32
    linalg.yield %t : f32
  } -> tensor<64x128xf32>
  %fy = linalg.fill ins(%zero : f32) outs(%out : tensor<64x8xf32>) -> tensor<64x8xf32>
  %y = linalg.generic {indexing_maps = [#wk, #vk, #qk], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%w, %v : tensor<64x128xf32>, tensor<128x8xf32>) outs(%fy : tensor<64x8xf32>) attrs = {kernel.stage = 2 : i64} {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %t = arith.addf %o, %m : f32
    linalg.yield %t : f32
  } -> tensor<64x8xf32>

  return %y, %scratch : tensor<64x8xf32>, tensor<32x16x128xf32>
}
}

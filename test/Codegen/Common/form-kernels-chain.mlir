// RUN: onnx-aot-opt %s -split-input-file -codegen-form-kernels=chain-bytes=8192 | FileCheck %s

// Attention is one kernel of three stages. Its second output holds blocks of 16 rows,
// what fits 8192 bytes, for each of 32 tasks.
// CHECK: func.func @main
// CHECK: %[[SCRATCH:.*]] = tensor.empty() : tensor<32x16x128xf32>
// CHECK: kernel.launch @kernel.0({{.*}}) into(%{{.*}}, %[[SCRATCH]])
// CHECK-NOT: kernel.launch
// CHECK: func.func private @kernel.0
// CHECK: kernel.stage = 0
// CHECK-COUNT-4: kernel.stage = 1
// CHECK: kernel.stage = 2
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#qd = affine_map<(d0, d1, d2) -> (d0, d2)>
#kd = affine_map<(d0, d1, d2) -> (d1, d2)>
#qk = affine_map<(d0, d1, d2) -> (d0, d1)>
#wk = affine_map<(d0, d1, d2) -> (d0, d2)>
#vk = affine_map<(d0, d1, d2) -> (d2, d1)>
func.func @main(%q: tensor<64x8xf32>, %k: tensor<128x8xf32>, %v: tensor<128x8xf32>) -> tensor<64x8xf32> {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %es = tensor.empty() : tensor<64x128xf32>
  %er = tensor.empty() : tensor<64xf32>
  %ey = tensor.empty() : tensor<64x8xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<64x128xf32>) -> tensor<64x128xf32>
  %s = linalg.generic {indexing_maps = [#qd, #kd, #qk], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%q, %k : tensor<64x8xf32>, tensor<128x8xf32>) outs(%fs : tensor<64x128xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %t = arith.addf %o, %m : f32
    linalg.yield %t : f32
  } -> tensor<64x128xf32>
  %fm = linalg.fill ins(%low : f32) outs(%er : tensor<64xf32>) -> tensor<64xf32>
  %max = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%s : tensor<64x128xf32>) outs(%fm : tensor<64xf32>) {
  ^bb0(%a: f32, %o: f32):
    %t = arith.maximumf %o, %a : f32
    linalg.yield %t : f32
  } -> tensor<64xf32>
  %p = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%s, %max : tensor<64x128xf32>, tensor<64xf32>) outs(%es : tensor<64x128xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %d = arith.subf %a, %b : f32
    %t = math.exp %d : f32
    linalg.yield %t : f32
  } -> tensor<64x128xf32>
  %fz = linalg.fill ins(%zero : f32) outs(%er : tensor<64xf32>) -> tensor<64xf32>
  %sum = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%p : tensor<64x128xf32>) outs(%fz : tensor<64xf32>) {
  ^bb0(%a: f32, %o: f32):
    %t = arith.addf %o, %a : f32
    linalg.yield %t : f32
  } -> tensor<64xf32>
  %w = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%p, %sum : tensor<64x128xf32>, tensor<64xf32>) outs(%es : tensor<64x128xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %t = arith.divf %a, %b : f32
    linalg.yield %t : f32
  } -> tensor<64x128xf32>
  %fy = linalg.fill ins(%zero : f32) outs(%ey : tensor<64x8xf32>) -> tensor<64x8xf32>
  %y = linalg.generic {indexing_maps = [#wk, #vk, #qk], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%w, %v : tensor<64x128xf32>, tensor<128x8xf32>) outs(%fy : tensor<64x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %t = arith.addf %o, %m : f32
    linalg.yield %t : f32
  } -> tensor<64x8xf32>
  return %y : tensor<64x8xf32>
}

// -----

// The weights are a result as well: they have to be there as a whole.
// CHECK: func.func @main
// CHECK-COUNT-3: kernel.launch
// CHECK-NOT: kernel.stage
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#qd = affine_map<(d0, d1, d2) -> (d0, d2)>
#kd = affine_map<(d0, d1, d2) -> (d1, d2)>
#qk = affine_map<(d0, d1, d2) -> (d0, d1)>
#wk = affine_map<(d0, d1, d2) -> (d0, d2)>
#vk = affine_map<(d0, d1, d2) -> (d2, d1)>
func.func @main(%q: tensor<64x8xf32>, %k: tensor<128x8xf32>, %v: tensor<128x8xf32>) -> (tensor<64x8xf32>, tensor<64x128xf32>) {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %es = tensor.empty() : tensor<64x128xf32>
  %er = tensor.empty() : tensor<64xf32>
  %ey = tensor.empty() : tensor<64x8xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<64x128xf32>) -> tensor<64x128xf32>
  %s = linalg.generic {indexing_maps = [#qd, #kd, #qk], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%q, %k : tensor<64x8xf32>, tensor<128x8xf32>) outs(%fs : tensor<64x128xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %t = arith.addf %o, %m : f32
    linalg.yield %t : f32
  } -> tensor<64x128xf32>
  %fm = linalg.fill ins(%low : f32) outs(%er : tensor<64xf32>) -> tensor<64xf32>
  %max = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%s : tensor<64x128xf32>) outs(%fm : tensor<64xf32>) {
  ^bb0(%a: f32, %o: f32):
    %t = arith.maximumf %o, %a : f32
    linalg.yield %t : f32
  } -> tensor<64xf32>
  %p = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%s, %max : tensor<64x128xf32>, tensor<64xf32>) outs(%es : tensor<64x128xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %d = arith.subf %a, %b : f32
    %t = math.exp %d : f32
    linalg.yield %t : f32
  } -> tensor<64x128xf32>
  %fz = linalg.fill ins(%zero : f32) outs(%er : tensor<64xf32>) -> tensor<64xf32>
  %sum = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%p : tensor<64x128xf32>) outs(%fz : tensor<64xf32>) {
  ^bb0(%a: f32, %o: f32):
    %t = arith.addf %o, %a : f32
    linalg.yield %t : f32
  } -> tensor<64xf32>
  %w = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%p, %sum : tensor<64x128xf32>, tensor<64xf32>) outs(%es : tensor<64x128xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %t = arith.divf %a, %b : f32
    linalg.yield %t : f32
  } -> tensor<64x128xf32>
  %fy = linalg.fill ins(%zero : f32) outs(%ey : tensor<64x8xf32>) -> tensor<64x8xf32>
  %y = linalg.generic {indexing_maps = [#wk, #vk, #qk], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%w, %v : tensor<64x128xf32>, tensor<128x8xf32>) outs(%fy : tensor<64x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %t = arith.addf %o, %m : f32
    linalg.yield %t : f32
  } -> tensor<64x8xf32>
  return %y, %w : tensor<64x8xf32>, tensor<64x128xf32>
}

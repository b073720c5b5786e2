// RUN: onnx-aot-compile %s --device=cuda --gpu-arch=sm_80 --emit=ptx | FileCheck %s
// RUN: onnx-aot-compile %s --device=cuda --gpu-arch=sm_75 --emit=ptx | FileCheck %s --check-prefix=OLD

// Softmax between two products is one kernel, with both products on tensor cores
// where all devices have them. Half of a warp, or four of its lanes, share a row.
// CHECK: .visible .entry attention_0(
// CHECK: .reqntid 128
// CHECK: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
// CHECK: shfl.sync.bfly.b32 %r{{[0-9]+}}, %r{{[0-9]+}}, 1,
// CHECK: ldmatrix.sync.aligned.m8n8.x4.shared.b16
// CHECK: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
// CHECK-NOT: .entry
// OLD: .visible .entry attention_0(
// OLD: .reqntid 256
// OLD-NOT: mma.sync
// OLD: shfl.sync.bfly.b32 %r{{[0-9]+}}, %r{{[0-9]+}}, 8,
// OLD-NOT: .entry
#q = affine_map<(r, c, d) -> (r, d)>
#k = affine_map<(r, c, d) -> (c, d)>
#s = affine_map<(r, c, d) -> (r, c)>
#w = affine_map<(r, d, c) -> (r, c)>
#v = affine_map<(r, d, c) -> (c, d)>
#y = affine_map<(r, d, c) -> (r, d)>
#all = affine_map<(r, c) -> (r, c)>
#row = affine_map<(r, c) -> (r)>
module attributes {abi.symbols = ["r", "c"]} {
func.func @main(%q: tensor<?x64xf16> {abi.value = {dims = array<i64: -1, 64>, name = "q", type = 10 : i32}},
                %k: tensor<?x64xf16> {abi.value = {dims = array<i64: -2, 64>, name = "k", type = 10 : i32}},
                %v: tensor<?x64xf16> {abi.value = {dims = array<i64: -2, 64>, name = "v", type = 10 : i32}})
    -> (tensor<?x64xf32> {abi.value = {dims = array<i64: -1, 64>, name = "y", type = 1 : i32}}) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xFF800000 : f32
  %r = tensor.dim %q, %c0 : tensor<?x64xf16>
  %c = tensor.dim %k, %c0 : tensor<?x64xf16>
  %es = tensor.empty(%r, %c) : tensor<?x?xf32>
  %er = tensor.empty(%r) : tensor<?xf32>
  %ew = tensor.empty(%r, %c) : tensor<?x?xf16>
  %ey = tensor.empty(%r) : tensor<?x64xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<?x?xf32>) -> tensor<?x?xf32>
  %s = linalg.generic {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%q, %k : tensor<?x64xf16>, tensor<?x64xf16>) outs(%fs : tensor<?x?xf32>) {
  ^bb0(%a: f16, %b: f16, %o: f32):
    %wa = arith.extf %a : f16 to f32
    %wb = arith.extf %b : f16 to f32
    %m = arith.mulf %wa, %wb : f32
    %t = arith.addf %o, %m : f32
    linalg.yield %t : f32
  } -> tensor<?x?xf32>
  %h = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%s : tensor<?x?xf32>) outs(%ew : tensor<?x?xf16>) {
  ^bb0(%a: f32, %o: f16):
    %t = arith.truncf %a : f32 to f16
    linalg.yield %t : f16
  } -> tensor<?x?xf16>
  %fm = linalg.fill ins(%lowest : f32) outs(%er : tensor<?xf32>) -> tensor<?xf32>
  %max = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]}
      ins(%h : tensor<?x?xf16>) outs(%fm : tensor<?xf32>) {
  ^bb0(%a: f16, %o: f32):
    %wa = arith.extf %a : f16 to f32
    %t = arith.maximumf %o, %wa : f32
    linalg.yield %t : f32
  } -> tensor<?xf32>
  %e = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]}
      ins(%h, %max : tensor<?x?xf16>, tensor<?xf32>) outs(%es : tensor<?x?xf32>) {
  ^bb0(%a: f16, %b: f32, %o: f32):
    %wa = arith.extf %a : f16 to f32
    %d = arith.subf %wa, %b : f32
    %t = math.exp %d : f32
    linalg.yield %t : f32
  } -> tensor<?x?xf32>
  %fr = linalg.fill ins(%zero : f32) outs(%er : tensor<?xf32>) -> tensor<?xf32>
  %sum = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]}
      ins(%e : tensor<?x?xf32>) outs(%fr : tensor<?xf32>) {
  ^bb0(%a: f32, %o: f32):
    %t = arith.addf %o, %a : f32
    linalg.yield %t : f32
  } -> tensor<?xf32>
  %w = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]}
      ins(%e, %sum : tensor<?x?xf32>, tensor<?xf32>) outs(%ew : tensor<?x?xf16>) {
  ^bb0(%a: f32, %b: f32, %o: f16):
    %d = arith.divf %a, %b : f32
    %t = arith.truncf %d : f32 to f16
    linalg.yield %t : f16
  } -> tensor<?x?xf16>
  %fy = linalg.fill ins(%zero : f32) outs(%ey : tensor<?x64xf32>) -> tensor<?x64xf32>
  %y = linalg.generic {indexing_maps = [#w, #v, #y], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%w, %v : tensor<?x?xf16>, tensor<?x64xf16>) outs(%fy : tensor<?x64xf32>) {
  ^bb0(%a: f16, %b: f16, %o: f32):
    %wa = arith.extf %a : f16 to f32
    %wb = arith.extf %b : f16 to f32
    %m = arith.mulf %wa, %wb : f32
    %t = arith.addf %o, %m : f32
    linalg.yield %t : f32
  } -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}
}

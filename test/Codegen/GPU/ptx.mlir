// RUN: onnx-aot-compile %s --device=cuda --gpu-arch=sm_80 --emit=ptx | FileCheck %s
// RUN: onnx-aot-compile %s --device=cuda --emit=ptx | FileCheck %s --check-prefix=DEFAULT
// RUN: not onnx-aot-compile %s --device=cuda --gpu-arch=sm_60 --emit=ptx 2>&1 | FileCheck %s --check-prefix=OLD
// RUN: not onnx-aot-compile %s --gpu-arch=sm_80 -o %t.so 2>&1 | FileCheck %s --check-prefix=CPU

// Products go through shared memory: where the device copies by itself, the next
// slice is under way while one is multiplied, else there is a barrier before and
// after each. Rows are reduced by shuffles; no function is left to a library.
// CHECK: .version 7.0
// CHECK: .target sm_80
// CHECK-NOT: .extern
// CHECK: .visible .entry contraction_0(
// CHECK: .reqntid 256
// CHECK-NEXT: .minnctapersm 2
// CHECK: cp.async.ca.shared.global [{{.*}}], [{{.*}}], 4, %r{{[0-9]+}};
// CHECK: cp.async.commit_group;
// CHECK: cp.async.wait_group 0;
// CHECK-NEXT: bar.sync 0
// CHECK: ld.shared
// CHECK: fma.rn.f32
// CHECK: .visible .entry row_1(
// CHECK: shfl.sync.bfly.b32
// CHECK-NOT: .extern
// DEFAULT: .version 6.3
// DEFAULT: .target sm_75
// DEFAULT-NOT: cp.async
// DEFAULT: bar.sync 0
// DEFAULT: st.shared
// DEFAULT: bar.sync 0
// DEFAULT: ld.shared
// DEFAULT: .visible .entry row_1(
// OLD: error: unknown architecture 'sm_60' (supported: sm_75 and later, emu)
// CPU: error: --gpu-arch wants --device=cuda
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
#row = affine_map<(m, n) -> (m)>
#all = affine_map<(m, n) -> (m, n)>
module attributes {abi.symbols = ["m"]} {
func.func @main(%x: tensor<?x64xf32> {abi.value = {dims = array<i64: -1, 64>, name = "x", type = 1 : i32}},
                %w: tensor<64x96xf32> {abi.value = {dims = array<i64: 64, 96>, name = "w", type = 1 : i32}})
    -> (tensor<?xf32> {abi.value = {dims = array<i64: -1>, name = "y", type = 1 : i32}}) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %m = tensor.dim %x, %c0 : tensor<?x64xf32>
  %e = tensor.empty(%m) : tensor<?x96xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<?x96xf32>) -> tensor<?x96xf32>
  %p = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<?x64xf32>, tensor<64x96xf32>) outs(%z : tensor<?x96xf32>) {
  ^bb0(%u: f32, %v: f32, %acc: f32):
    %t = arith.mulf %u, %v : f32
    %s = arith.addf %acc, %t : f32
    linalg.yield %s : f32
  } -> tensor<?x96xf32>
  %er = tensor.empty(%m) : tensor<?xf32>
  %zr = linalg.fill ins(%zero : f32) outs(%er : tensor<?xf32>) -> tensor<?xf32>
  %r = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]}
      ins(%p : tensor<?x96xf32>) outs(%zr : tensor<?xf32>) {
  ^bb0(%u: f32, %acc: f32):
    %t = math.exp %u : f32
    %s = arith.addf %acc, %t : f32
    linalg.yield %s : f32
  } -> tensor<?xf32>
  return %r : tensor<?xf32>
}
}

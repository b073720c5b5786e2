// RUN: onnx-aot-compile %s --device=cuda --gpu-arch=sm_80 --emit=ptx | FileCheck %s
// RUN: onnx-aot-compile %s --device=cuda --gpu-arch=sm_75 --emit=ptx | FileCheck %s --check-prefix=OLD

// Products of 16-bit floats with sums in f32 go to tensor cores where all devices
// that must run the kernel have them.
// CHECK: .visible .entry tensor_0(
// CHECK: ldmatrix.sync.aligned.m8n8.x4.shared.b16
// CHECK: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
// CHECK-NOT: fma.rn.f32
// OLD: .visible .entry contraction_0(
// OLD-NOT: mma.sync
// OLD: fma.rn.f32
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
module attributes {abi.symbols = ["m"]} {
func.func @main(%x: tensor<?x64xbf16> {abi.value = {dims = array<i64: -1, 64>, name = "x", type = 16 : i32}},
                %w: tensor<64x96xbf16> {abi.value = {dims = array<i64: 64, 96>, name = "w", type = 16 : i32}})
    -> (tensor<?x96xf32> {abi.value = {dims = array<i64: -1, 96>, name = "y", type = 1 : i32}}) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %m = tensor.dim %x, %c0 : tensor<?x64xbf16>
  %e = tensor.empty(%m) : tensor<?x96xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<?x96xf32>) -> tensor<?x96xf32>
  %p = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<?x64xbf16>, tensor<64x96xbf16>) outs(%z : tensor<?x96xf32>) {
  ^bb0(%u: bf16, %v: bf16, %acc: f32):
    %wu = arith.extf %u : bf16 to f32
    %wv = arith.extf %v : bf16 to f32
    %t = arith.mulf %wu, %wv : f32
    %s = arith.addf %acc, %t : f32
    linalg.yield %s : f32
  } -> tensor<?x96xf32>
  return %p : tensor<?x96xf32>
}
}

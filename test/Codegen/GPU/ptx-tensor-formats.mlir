// RUN: onnx-aot-compile %s --device=cuda --gpu-arch=sm_80 --allow-tf32 --emit=ptx | FileCheck %s
// RUN: onnx-aot-compile %s --device=cuda --gpu-arch=sm_80 --emit=ptx | FileCheck %s --check-prefix=EXACT
// RUN: onnx-aot-compile %s --device=cuda --gpu-arch=sm_75 --allow-tf32 --emit=ptx | FileCheck %s --check-prefix=OLD
// RUN: not onnx-aot-compile %s --allow-tf32 --emit=llvm 2>&1 | FileCheck %s --check-prefix=HOST

// Products of f32 use tensor cores where rounding to TF32 is allowed, those of
// 8-bit integers always; older devices have neither.
// CHECK-DAG: cvt.rna.tf32.f32
// CHECK-DAG: mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32
// CHECK-DAG: mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32
// EXACT-NOT: tf32
// EXACT: mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32
// EXACT-NOT: tf32
// OLD-NOT: mma.sync
// HOST: --allow-tf32 wants --device=cuda
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
module attributes {abi.symbols = []} {
func.func @main(%x: tensor<32x64xf32> {abi.value = {dims = array<i64: 32, 64>, name = "x", type = 1 : i32}},
                %w: tensor<64x96xf32> {abi.value = {dims = array<i64: 64, 96>, name = "w", type = 1 : i32}},
                %i: tensor<32x64xi8> {abi.value = {dims = array<i64: 32, 64>, name = "i", type = 3 : i32}},
                %j: tensor<64x96xi8> {abi.value = {dims = array<i64: 64, 96>, name = "j", type = 3 : i32}})
    -> (tensor<32x96xf32> {abi.value = {dims = array<i64: 32, 96>, name = "y", type = 1 : i32}},
        tensor<32x96xi32> {abi.value = {dims = array<i64: 32, 96>, name = "z", type = 6 : i32}}) {
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0 : i32
  %e = tensor.empty() : tensor<32x96xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<32x96xf32>) -> tensor<32x96xf32>
  %p = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<32x64xf32>, tensor<64x96xf32>) outs(%f : tensor<32x96xf32>) {
  ^bb0(%u: f32, %v: f32, %acc: f32):
    %t = arith.mulf %u, %v : f32
    %s = arith.addf %acc, %t : f32
    linalg.yield %s : f32
  } -> tensor<32x96xf32>
  %g = tensor.empty() : tensor<32x96xi32>
  %h = linalg.fill ins(%none : i32) outs(%g : tensor<32x96xi32>) -> tensor<32x96xi32>
  %q = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%i, %j : tensor<32x64xi8>, tensor<64x96xi8>) outs(%h : tensor<32x96xi32>) {
  ^bb0(%u: i8, %v: i8, %acc: i32):
    %wu = arith.extsi %u : i8 to i32
    %wv = arith.extsi %v : i8 to i32
    %t = arith.muli %wu, %wv : i32
    %s = arith.addi %acc, %t : i32
    linalg.yield %s : i32
  } -> tensor<32x96xi32>
  return %p, %q : tensor<32x96xf32>, tensor<32x96xi32>
}
}

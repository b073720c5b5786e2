// RUN: onnx-aot-opt %s -codegen-fuse-elementwise | FileCheck %s

// A map of too many tensors is cut into ops that read fewer; what may be fused
// again is, up to the limit.
// CHECK: func.func @sum
// CHECK: %[[HEAD:.*]] = linalg.generic
// CHECK-COUNT-31: arith.addf
// CHECK-NEXT: linalg.yield
// CHECK: linalg.generic
// CHECK-SAME: ins({{.*}}, %[[HEAD]] :
// CHECK-COUNT-38: arith.addf
// CHECK-NEXT: linalg.yield
// CHECK-NOT: linalg.generic
func.func @sum(%x0: tensor<4xf32>, %x1: tensor<4xf32>, %x2: tensor<4xf32>, %x3: tensor<4xf32>, %x4: tensor<4xf32>, %x5: tensor<4xf32>, %x6: tensor<4xf32>, %x7: tensor<4xf32>, %x8: tensor<4xf32>, %x9: tensor<4xf32>, %x10: tensor<4xf32>, %x11: tensor<4xf32>, %x12: tensor<4xf32>, %x13: tensor<4xf32>, %x14: tensor<4xf32>, %x15: tensor<4xf32>, %x16: tensor<4xf32>, %x17: tensor<4xf32>, %x18: tensor<4xf32>, %x19: tensor<4xf32>, %x20: tensor<4xf32>, %x21: tensor<4xf32>, %x22: tensor<4xf32>, %x23: tensor<4xf32>, %x24: tensor<4xf32>, %x25: tensor<4xf32>, %x26: tensor<4xf32>, %x27: tensor<4xf32>, %x28: tensor<4xf32>, %x29: tensor<4xf32>, %x30: tensor<4xf32>, %x31: tensor<4xf32>, %x32: tensor<4xf32>, %x33: tensor<4xf32>, %x34: tensor<4xf32>, %x35: tensor<4xf32>, %x36: tensor<4xf32>, %x37: tensor<4xf32>, %x38: tensor<4xf32>, %x39: tensor<4xf32>, %x40: tensor<4xf32>, %x41: tensor<4xf32>, %x42: tensor<4xf32>, %x43: tensor<4xf32>, %x44: tensor<4xf32>, %x45: tensor<4xf32>, %x46: tensor<4xf32>, %x47: tensor<4xf32>, %x48: tensor<4xf32>, %x49: tensor<4xf32>, %x50: tensor<4xf32>, %x51: tensor<4xf32>, %x52: tensor<4xf32>, %x53: tensor<4xf32>, %x54: tensor<4xf32>, %x55: tensor<4xf32>, %x56: tensor<4xf32>, %x57: tensor<4xf32>, %x58: tensor<4xf32>, %x59: tensor<4xf32>, %x60: tensor<4xf32>, %x61: tensor<4xf32>, %x62: tensor<4xf32>, %x63: tensor<4xf32>, %x64: tensor<4xf32>, %x65: tensor<4xf32>, %x66: tensor<4xf32>, %x67: tensor<4xf32>, %x68: tensor<4xf32>, %x69: tensor<4xf32>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%x0, %x1, %x2, %x3, %x4, %x5, %x6, %x7, %x8, %x9, %x10, %x11, %x12, %x13, %x14, %x15, %x16, %x17, %x18, %x19, %x20, %x21, %x22, %x23, %x24, %x25, %x26, %x27, %x28, %x29, %x30, %x31, %x32, %x33, %x34, %x35, %x36, %x37, %x38, %x39, %x40, %x41, %x42, %x43, %x44, %x45, %x46, %x47, %x48, %x49, %x50, %x51, %x52, %x53, %x54, %x55, %x56, %x57, %x58, %x59, %x60, %x61, %x62, %x63, %x64, %x65, %x66, %x67, %x68, %x69 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%a0: f32, %a1: f32, %a2: f32, %a3: f32, %a4: f32, %a5: f32, %a6: f32, %a7: f32, %a8: f32, %a9: f32, %a10: f32, %a11: f32, %a12: f32, %a13: f32, %a14: f32, %a15: f32, %a16: f32, %a17: f32, %a18: f32, %a19: f32, %a20: f32, %a21: f32, %a22: f32, %a23: f32, %a24: f32, %a25: f32, %a26: f32, %a27: f32, %a28: f32, %a29: f32, %a30: f32, %a31: f32, %a32: f32, %a33: f32, %a34: f32, %a35: f32, %a36: f32, %a37: f32, %a38: f32, %a39: f32, %a40: f32, %a41: f32, %a42: f32, %a43: f32, %a44: f32, %a45: f32, %a46: f32, %a47: f32, %a48: f32, %a49: f32, %a50: f32, %a51: f32, %a52: f32, %a53: f32, %a54: f32, %a55: f32, %a56: f32, %a57: f32, %a58: f32, %a59: f32, %a60: f32, %a61: f32, %a62: f32, %a63: f32, %a64: f32, %a65: f32, %a66: f32, %a67: f32, %a68: f32, %a69: f32, %o: f32):
    %s1 = arith.addf %a0, %a1 : f32
    %s2 = arith.addf %s1, %a2 : f32
    %s3 = arith.addf %s2, %a3 : f32
    %s4 = arith.addf %s3, %a4 : f32
    %s5 = arith.addf %s4, %a5 : f32
    %s6 = arith.addf %s5, %a6 : f32
    %s7 = arith.addf %s6, %a7 : f32
    %s8 = arith.addf %s7, %a8 : f32
    %s9 = arith.addf %s8, %a9 : f32
    %s10 = arith.addf %s9, %a10 : f32
    %s11 = arith.addf %s10, %a11 : f32
    %s12 = arith.addf %s11, %a12 : f32
    %s13 = arith.addf %s12, %a13 : f32
    %s14 = arith.addf %s13, %a14 : f32
    %s15 = arith.addf %s14, %a15 : f32
    %s16 = arith.addf %s15, %a16 : f32
    %s17 = arith.addf %s16, %a17 : f32
    %s18 = arith.addf %s17, %a18 : f32
    %s19 = arith.addf %s18, %a19 : f32
    %s20 = arith.addf %s19, %a20 : f32
    %s21 = arith.addf %s20, %a21 : f32
    %s22 = arith.addf %s21, %a22 : f32
    %s23 = arith.addf %s22, %a23 : f32
    %s24 = arith.addf %s23, %a24 : f32
    %s25 = arith.addf %s24, %a25 : f32
    %s26 = arith.addf %s25, %a26 : f32
    %s27 = arith.addf %s26, %a27 : f32
    %s28 = arith.addf %s27, %a28 : f32
    %s29 = arith.addf %s28, %a29 : f32
    %s30 = arith.addf %s29, %a30 : f32
    %s31 = arith.addf %s30, %a31 : f32
    %s32 = arith.addf %s31, %a32 : f32
    %s33 = arith.addf %s32, %a33 : f32
    %s34 = arith.addf %s33, %a34 : f32
    %s35 = arith.addf %s34, %a35 : f32
    %s36 = arith.addf %s35, %a36 : f32
    %s37 = arith.addf %s36, %a37 : f32
    %s38 = arith.addf %s37, %a38 : f32
    %s39 = arith.addf %s38, %a39 : f32
    %s40 = arith.addf %s39, %a40 : f32
    %s41 = arith.addf %s40, %a41 : f32
    %s42 = arith.addf %s41, %a42 : f32
    %s43 = arith.addf %s42, %a43 : f32
    %s44 = arith.addf %s43, %a44 : f32
    %s45 = arith.addf %s44, %a45 : f32
    %s46 = arith.addf %s45, %a46 : f32
    %s47 = arith.addf %s46, %a47 : f32
    %s48 = arith.addf %s47, %a48 : f32
    %s49 = arith.addf %s48, %a49 : f32
    %s50 = arith.addf %s49, %a50 : f32
    %s51 = arith.addf %s50, %a51 : f32
    %s52 = arith.addf %s51, %a52 : f32
    %s53 = arith.addf %s52, %a53 : f32
    %s54 = arith.addf %s53, %a54 : f32
    %s55 = arith.addf %s54, %a55 : f32
    %s56 = arith.addf %s55, %a56 : f32
    %s57 = arith.addf %s56, %a57 : f32
    %s58 = arith.addf %s57, %a58 : f32
    %s59 = arith.addf %s58, %a59 : f32
    %s60 = arith.addf %s59, %a60 : f32
    %s61 = arith.addf %s60, %a61 : f32
    %s62 = arith.addf %s61, %a62 : f32
    %s63 = arith.addf %s62, %a63 : f32
    %s64 = arith.addf %s63, %a64 : f32
    %s65 = arith.addf %s64, %a65 : f32
    %s66 = arith.addf %s65, %a66 : f32
    %s67 = arith.addf %s66, %a67 : f32
    %s68 = arith.addf %s67, %a68 : f32
    %s69 = arith.addf %s68, %a69 : f32
    linalg.yield %s69 : f32
  } -> tensor<4xf32>
  return %r : tensor<4xf32>
}

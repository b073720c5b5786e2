// RUN: onnx-aot-opt %s -cpu-use-winograd=vector-bytes=4 | FileCheck %s

#x = affine_map<(n, h, w, o, r, s, c) -> (n, h + r, w + s, c)>
#x2 = affine_map<(n, h, w, o, r, s, c) -> (n, h * 2 + r, w * 2 + s, c)>
#f = affine_map<(n, h, w, o, r, s, c) -> (o, c, r, s)>
#y = affine_map<(n, h, w, o, r, s, c) -> (n, h, w, o)>
#id = affine_map<(n, h, w, o) -> (n, h, w, o)>
#bias = affine_map<(n, h, w, o) -> (o)>

// CHECK-DAG: #[[TILE:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d2, d3 * 2 + 3, d4 * 2 + 1, d5)>

// The epilogue's operands are split into tiles with it.
// CHECK-LABEL: func.func @even
// CHECK: linalg.generic {{.*}}#[[TILE]],{{.*}} outs(%{{.*}} : tensor<4x4x1x4x6x2xf32>)
// CHECK: %[[U:.*]] = arith.constant dense_resource<winograd{{.*}}> : tensor<16x2x2xf32>
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %[[U]] : tensor<16x24x2xf32>, tensor<16x2x2xf32>)
// CHECK: %[[R:.*]] = tensor.expand_shape %{{.*}} into tensor<1x4x2x6x2x2xf32>
// CHECK: %[[T:.*]] = linalg.generic {{.*}}%[[R]]{{.*}}
// CHECK: arith.addf
// CHECK: arith.maximumf
// CHECK: %[[Y:.*]] = tensor.collapse_shape {{.*}} into tensor<1x8x12x2xf32>
// CHECK: return %[[Y]]
func.func @even(%x: tensor<1x10x14x2xf32>, %b: tensor<2xf32>, %res: tensor<1x8x12x2xf32>) -> tensor<1x8x12x2xf32> {
  %w = arith.constant dense<[[[[-3.0,-2.0,-1.0],[0.0,1.0,2.0],[3.0,-3.0,-2.0]],[[-1.0,0.0,1.0],[2.0,3.0,-3.0],[-2.0,-1.0,0.0]]],[[[1.0,2.0,3.0],[-3.0,-2.0,-1.0],[0.0,1.0,2.0]],[[3.0,-3.0,-2.0],[-1.0,0.0,1.0],[2.0,3.0,-3.0]]]]> : tensor<2x2x3x3xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x8x12x2xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<1x8x12x2xf32>) -> tensor<1x8x12x2xf32>
  %c = linalg.generic {indexing_maps = [#x, #f, #y], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : tensor<1x10x14x2xf32>, tensor<2x2x3x3xf32>) outs(%i : tensor<1x8x12x2xf32>) {
  ^bb0(%p: f32, %q: f32, %acc: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  } -> tensor<1x8x12x2xf32>
  %d = linalg.generic {indexing_maps = [#id, #bias, #id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%c, %b, %res : tensor<1x8x12x2xf32>, tensor<2xf32>, tensor<1x8x12x2xf32>) outs(%e : tensor<1x8x12x2xf32>) {
  ^bb0(%p: f32, %q: f32, %r: f32, %out: f32):
    %s = arith.addf %p, %q : f32
    %t = arith.addf %s, %r : f32
    %u = arith.maximumf %t, %zero : f32
    linalg.yield %u : f32
  } -> tensor<1x8x12x2xf32>
  return %d : tensor<1x8x12x2xf32>
}

// The last tile reads a row more than there is; its second row of results goes.
// CHECK-LABEL: func.func @odd
// CHECK: tensor.pad %{{.*}} low[0, 0, 0, 0] high[0, 1, 0, 0]
// CHECK: %[[Y:.*]] = tensor.collapse_shape {{.*}} into tensor<1x8x12x2xf32>
// CHECK: tensor.extract_slice %[[Y]][0, 0, 0, 0] [1, 7, 12, 2] [1, 1, 1, 1]
func.func @odd(%x: tensor<1x9x14x2xf32>) -> tensor<1x7x12x2xf32> {
  %w = arith.constant dense<[[[[-3.0,-2.0,-1.0],[0.0,1.0,2.0],[3.0,-3.0,-2.0]],[[-1.0,0.0,1.0],[2.0,3.0,-3.0],[-2.0,-1.0,0.0]]],[[[1.0,2.0,3.0],[-3.0,-2.0,-1.0],[0.0,1.0,2.0]],[[3.0,-3.0,-2.0],[-1.0,0.0,1.0],[2.0,3.0,-3.0]]]]> : tensor<2x2x3x3xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x7x12x2xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<1x7x12x2xf32>) -> tensor<1x7x12x2xf32>
  %c = linalg.generic {indexing_maps = [#x, #f, #y], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : tensor<1x9x14x2xf32>, tensor<2x2x3x3xf32>) outs(%i : tensor<1x7x12x2xf32>) {
  ^bb0(%p: f32, %q: f32, %acc: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  } -> tensor<1x7x12x2xf32>
  return %c : tensor<1x7x12x2xf32>
}

// CHECK-LABEL: func.func @keeps_stride_two
// CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<1x17x25x2xf32>, tensor<2x2x3x3xf32>)
// CHECK-NOT: dense_resource<winograd
func.func @keeps_stride_two(%x: tensor<1x17x25x2xf32>) -> tensor<1x8x12x2xf32> {
  %w = arith.constant dense<[[[[-3.0,-2.0,-1.0],[0.0,1.0,2.0],[3.0,-3.0,-2.0]],[[-1.0,0.0,1.0],[2.0,3.0,-3.0],[-2.0,-1.0,0.0]]],[[[1.0,2.0,3.0],[-3.0,-2.0,-1.0],[0.0,1.0,2.0]],[[3.0,-3.0,-2.0],[-1.0,0.0,1.0],[2.0,3.0,-3.0]]]]> : tensor<2x2x3x3xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x8x12x2xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<1x8x12x2xf32>) -> tensor<1x8x12x2xf32>
  %c = linalg.generic {indexing_maps = [#x2, #f, #y], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : tensor<1x17x25x2xf32>, tensor<2x2x3x3xf32>) outs(%i : tensor<1x8x12x2xf32>) {
  ^bb0(%p: f32, %q: f32, %acc: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  } -> tensor<1x8x12x2xf32>
  return %c : tensor<1x8x12x2xf32>
}

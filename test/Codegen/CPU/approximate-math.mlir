// RUN: onnx-aot-opt %s -cpu-approximate-math | FileCheck %s

// CHECK-LABEL: func.func @f32_becomes_arithmetic
// CHECK-NOT: math.exp
// CHECK-NOT: math.tanh
// CHECK-NOT: math.erf
// CHECK-NOT: math.log
// CHECK: return
func.func @f32_becomes_arithmetic(%x: f32, %v: vector<8xf32>) -> (f32, f32, vector<8xf32>, vector<8xf32>) {
  %a = math.exp %x : f32
  %b = math.log %x : f32
  %c = math.tanh %v : vector<8xf32>
  %d = math.erf %v : vector<8xf32>
  return %a, %b, %c, %d : f32, f32, vector<8xf32>, vector<8xf32>
}

// What the polynomials are not made for is left to the library.
// CHECK-LABEL: func.func @f64_and_others_stay
// CHECK: math.exp %{{.*}} : f64
// CHECK: math.sin %{{.*}} : f32
func.func @f64_and_others_stay(%x: f64, %y: f32) -> (f64, f32) {
  %a = math.exp %x : f64
  %b = math.sin %y : f32
  return %a, %b : f64, f32
}

// Gelu is one function: 1 + erf would lose digits where it is nearly 0. The
// tail is computed in 64 bits and rounded once.
// CHECK-LABEL: func.func @gelu_is_one_function
// CHECK-NOT: math.erf
// CHECK: arith.extf %{{.*}} : vector<8xf32> to vector<8xf64>
// CHECK-COUNT-2: arith.truncf %{{.*}} : vector<8xf64> to vector<8xf32>
// CHECK-NOT: arith.truncf
// CHECK: return
func.func @gelu_is_one_function(%x: vector<8xf32>) -> vector<8xf32> {
  %half = arith.constant dense<0.5> : vector<8xf32>
  %one = arith.constant dense<1.0> : vector<8xf32>
  %root = arith.constant dense<0.707106769> : vector<8xf32>
  %a = arith.mulf %x, %half : vector<8xf32>
  %b = arith.mulf %x, %root : vector<8xf32>
  %c = math.erf %b : vector<8xf32>
  %d = arith.addf %c, %one : vector<8xf32>
  %e = arith.mulf %a, %d : vector<8xf32>
  return %e : vector<8xf32>
}

// CHECK-LABEL: func.func @other_product_is_no_gelu
// CHECK: %[[HALF:.*]] = arith.mulf %arg1, %
// CHECK: arith.mulf %[[HALF]], %
func.func @other_product_is_no_gelu(%x: vector<8xf32>, %y: vector<8xf32>) -> vector<8xf32> {
  %half = arith.constant dense<0.5> : vector<8xf32>
  %one = arith.constant dense<1.0> : vector<8xf32>
  %root = arith.constant dense<0.707106769> : vector<8xf32>
  %a = arith.mulf %y, %half : vector<8xf32>
  %b = arith.mulf %x, %root : vector<8xf32>
  %c = math.erf %b : vector<8xf32>
  %d = arith.addf %c, %one : vector<8xf32>
  %e = arith.mulf %a, %d : vector<8xf32>
  return %e : vector<8xf32>
}

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

// RUN: onnx-aot-opt %s -codegen-externalize-constants | FileCheck %s

// Equal constants share a place; places are aligned; a splat takes none; what is
// small stays in the code.
// CHECK: module attributes
// CHECK-SAME: codegen.weight_bytes = 128 : i64
// CHECK-SAME{LITERAL}: codegen.weights = [[0, dense<[1.000000e+00
// CHECK-SAME{LITERAL}: ], [64, dense<[
// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[WEIGHTS:[a-z0-9]+]]: memref<?xi8>, %{{[a-z0-9]+}}: memref<?xi8>)
// CHECK: arith.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
// CHECK: %[[C0:.*]] = arith.constant 0 : index
// CHECK: memref.view %[[WEIGHTS]][%[[C0]]][] : memref<?xi8> to memref<9xf32>
// CHECK: memref.view %[[WEIGHTS]][%{{.*}}][] : memref<?xi8> to memref<9xf32>
// CHECK: %[[C64:.*]] = arith.constant 64 : index
// CHECK: memref.view %[[WEIGHTS]][%[[C64]]][] : memref<?xi8> to memref<9xi8>
// CHECK: linalg.fill
module attributes {abi.inputs = []} {
func.func @main(%rt: !llvm.ptr, %weights: memref<?xi8>, %arena: memref<?xi8>) -> (tensor<2xf32>, tensor<9xf32>, tensor<9xf32>, tensor<9xi8>, tensor<9xf32>) {
  %small = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %a = arith.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]> : tensor<9xf32>
  %b = arith.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]> : tensor<9xf32>
  %c = arith.constant dense<[1, 2, 3, 4, 5, 6, 7, 8, 9]> : tensor<9xi8>
  %splat = arith.constant dense<3.0> : tensor<9xf32>
  return %small, %a, %b, %c, %splat : tensor<2xf32>, tensor<9xf32>, tensor<9xf32>, tensor<9xi8>, tensor<9xf32>
}
}

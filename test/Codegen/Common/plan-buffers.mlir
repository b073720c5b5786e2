// RUN: onnx-aot-opt %s -codegen-plan-buffers -canonicalize -split-input-file | FileCheck %s

// Two buffers that are alive one after the other share a place; one that is
// alive beside them does not.
// CHECK: module attributes {{.*}}codegen.arena_bytes = 512 : i64
// CHECK-LABEL: func.func @main
// CHECK-SAME: memref<?xi8>, %[[ARENA:[a-z0-9]+]]: memref<?xi8>, %{{[a-z0-9]+}}: memref<64xf32>
// CHECK-NOT: memref.alloc
// CHECK-DAG: memref.view %[[ARENA]][%c0][] : memref<?xi8> to memref<64xf32>
// CHECK-DAG: memref.view %[[ARENA]][%c256][] : memref<?xi8> to memref<64xf32>
// CHECK-DAG: memref.view %[[ARENA]][%c0][] : memref<?xi8> to memref<64xf32>
// CHECK-LABEL: func.func private @main.plan() -> (index, index)
// CHECK: return %c512, %c0
module attributes {abi.inputs = [], abi.outputs = []} {
func.func @main(%rt: !llvm.ptr, %weights: memref<?xi8>, %arena: memref<?xi8>, %y: memref<64xf32>) {
  %zero = arith.constant 0.0 : f32
  %a = memref.alloc() : memref<64xf32>
  linalg.fill ins(%zero : f32) outs(%a : memref<64xf32>)
  %b = memref.alloc() : memref<64xf32>
  memref.copy %a, %b : memref<64xf32> to memref<64xf32>
  %c = memref.alloc() : memref<64xf32>
  memref.copy %b, %c : memref<64xf32> to memref<64xf32>
  memref.copy %c, %y : memref<64xf32> to memref<64xf32>
  return
}
}

// -----

// A view that is made early is no use of its buffer: both have one place.
// CHECK: module attributes {{.*}}codegen.arena_bytes = 256 : i64
// CHECK-LABEL: func.func @main
// CHECK-COUNT-2: memref.view %{{[a-z0-9]+}}[%c0][] : memref<?xi8> to memref<64xf32>
module attributes {abi.inputs = [], abi.outputs = []} {
func.func @main(%rt: !llvm.ptr, %weights: memref<?xi8>, %arena: memref<?xi8>, %y: memref<64xf32>) {
  %zero = arith.constant 0.0 : f32
  %b = memref.alloc() : memref<64xf32>
  %early = memref.expand_shape %b [[0, 1]] output_shape [8, 8] : memref<64xf32> into memref<8x8xf32>
  %a = memref.alloc() : memref<64xf32>
  linalg.fill ins(%zero : f32) outs(%a : memref<64xf32>)
  memref.copy %a, %y : memref<64xf32> to memref<64xf32>
  linalg.fill ins(%zero : f32) outs(%early : memref<8x8xf32>)
  memref.copy %b, %y : memref<64xf32> to memref<64xf32>
  return
}
}

// -----

// A check that the symbols alone decide is the plan's: it answers with a number,
// the text of which stands at the module. So does a product that overflows.
// CHECK: module attributes {{.*}}codegen.plan_checks = ["n is too small", {{.*}}, "a size does not fit 63 bits"]
// CHECK-LABEL: func.func @main
// CHECK-NOT: cf.assert
// CHECK-LABEL: func.func private @main.plan(
// CHECK-SAME: %[[N:.*]]: index) -> (index, index, index)
// CHECK: arith.mulsi_extended
// CHECK: %[[ENOUGH:.*]] = arith.cmpi sgt, %[[N]], %c2
// CHECK: %[[REASON:.*]] = arith.select %[[ENOUGH]], {{.*}}, %c1
// CHECK: %[[ALL:.*]] = arith.select {{.*}}, %[[REASON]], %c4
// CHECK: return %{{.*}}, %{{.*}}, %[[ALL]]
module attributes {abi.symbols = ["n"], abi.inputs = [], abi.outputs = []} {
func.func @main(%rt: !llvm.ptr, %weights: memref<?xi8>, %arena: memref<?xi8>, %n: index) -> index {
  %c2 = arith.constant 2 : index
  %ok = arith.cmpi sgt, %n, %c2 : index
  cf.assert %ok, "n is too small"
  %m = arith.muli %n, %n : index
  return %m : index
}
}

// -----

// Sizes that use one another twice each are still followed once only: this
// would take 2 ^ 48 steps.
// CHECK-LABEL: func.func @main
// CHECK-NOT: memref.alloc
// CHECK: memref.view
module attributes {abi.symbols = ["n"], abi.inputs = [], abi.outputs = []} {
func.func @main(%rt: !llvm.ptr, %weights: memref<?xi8>, %arena: memref<?xi8>, %m0: index, %y: memref<?xf32>) {
  %zero = arith.constant 0.0 : f32
  %m1 = arith.maxsi %m0, %m0 : index
  %m2 = arith.maxsi %m1, %m1 : index
  %m3 = arith.maxsi %m2, %m2 : index
  %m4 = arith.maxsi %m3, %m3 : index
  %m5 = arith.maxsi %m4, %m4 : index
  %m6 = arith.maxsi %m5, %m5 : index
  %m7 = arith.maxsi %m6, %m6 : index
  %m8 = arith.maxsi %m7, %m7 : index
  %m9 = arith.maxsi %m8, %m8 : index
  %m10 = arith.maxsi %m9, %m9 : index
  %m11 = arith.maxsi %m10, %m10 : index
  %m12 = arith.maxsi %m11, %m11 : index
  %m13 = arith.maxsi %m12, %m12 : index
  %m14 = arith.maxsi %m13, %m13 : index
  %m15 = arith.maxsi %m14, %m14 : index
  %m16 = arith.maxsi %m15, %m15 : index
  %m17 = arith.maxsi %m16, %m16 : index
  %m18 = arith.maxsi %m17, %m17 : index
  %m19 = arith.maxsi %m18, %m18 : index
  %m20 = arith.maxsi %m19, %m19 : index
  %m21 = arith.maxsi %m20, %m20 : index
  %m22 = arith.maxsi %m21, %m21 : index
  %m23 = arith.maxsi %m22, %m22 : index
  %m24 = arith.maxsi %m23, %m23 : index
  %m25 = arith.maxsi %m24, %m24 : index
  %m26 = arith.maxsi %m25, %m25 : index
  %m27 = arith.maxsi %m26, %m26 : index
  %m28 = arith.maxsi %m27, %m27 : index
  %m29 = arith.maxsi %m28, %m28 : index
  %m30 = arith.maxsi %m29, %m29 : index
  %m31 = arith.maxsi %m30, %m30 : index
  %m32 = arith.maxsi %m31, %m31 : index
  %m33 = arith.maxsi %m32, %m32 : index
  %m34 = arith.maxsi %m33, %m33 : index
  %m35 = arith.maxsi %m34, %m34 : index
  %m36 = arith.maxsi %m35, %m35 : index
  %m37 = arith.maxsi %m36, %m36 : index
  %m38 = arith.maxsi %m37, %m37 : index
  %m39 = arith.maxsi %m38, %m38 : index
  %m40 = arith.maxsi %m39, %m39 : index
  %m41 = arith.maxsi %m40, %m40 : index
  %m42 = arith.maxsi %m41, %m41 : index
  %m43 = arith.maxsi %m42, %m42 : index
  %m44 = arith.maxsi %m43, %m43 : index
  %m45 = arith.maxsi %m44, %m44 : index
  %m46 = arith.maxsi %m45, %m45 : index
  %m47 = arith.maxsi %m46, %m46 : index
  %m48 = arith.maxsi %m47, %m47 : index
  %b = memref.alloc(%m48) : memref<?xf32>
  linalg.fill ins(%zero : f32) outs(%b : memref<?xf32>)
  memref.copy %b, %y : memref<?xf32> to memref<?xf32>
  return
}
}

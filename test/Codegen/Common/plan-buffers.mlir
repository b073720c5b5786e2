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

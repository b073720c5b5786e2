// RUN: onnx-aot-opt %s --gpu-define-device-services | FileCheck %s

// The fourth word of OnnxAotDevice behind the seventh of OnnxAotRuntime; without a
// device the answer is 1.
// CHECK-LABEL: llvm.func internal @onnx_aot.device_copy
// CHECK: %[[ONE:.*]] = llvm.mlir.constant(1 : i32)
// CHECK: llvm.return %[[ONE]]
// CHECK: llvm.getelementptr %{{.*}}[6]
// CHECK: llvm.cond_br
// CHECK: llvm.getelementptr %{{.*}}[3]
// CHECK: %[[STATUS:.*]] = llvm.call %{{.*}}(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}})
// CHECK: llvm.return %[[STATUS]]
llvm.func @onnx_aot.device_copy(!llvm.ptr, i64, i64, i64) -> i32

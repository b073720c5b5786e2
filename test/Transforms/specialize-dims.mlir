// RUN: onnx-aot-opt %s -onnx-specialize-dims="dims=batch=2,seq=8" -onnx-infer-shapes | FileCheck %s

module attributes {onnx.symbols = ["batch", "seq", ""]} {
  // CHECK-LABEL: func.func @replaces_symbols_in_types_and_signature
  // CHECK-SAME: (%{{.*}}: tensor<2x4xf32>, %{{.*}}: tensor<15xf32>) -> tensor<2x4xf32>
  // CHECK: onnx.Relu %{{.*}} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  func.func @replaces_symbols_in_types_and_signature(
      %x: tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>>,
      %y: tensor<?xf32, affine_map<()[s0, s1] -> (s1 * 2 - 1)>>)
      -> tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>> {
    %0 = onnx.Relu %x : (tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>>) -> tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>>
    return %0 : tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>>
  }

  // CHECK-LABEL: func.func @keeps_other_symbols
  // CHECK-SAME: tensor<?x2xf32, #{{.*}}>
  func.func @keeps_other_symbols(
      %x: tensor<?x?xf32, affine_map<()[s0, s1, s2] -> (s2, s0)>>) {
    return
  }
}

// RUN: onnx-aot-opt %s --split-input-file --verify-diagnostics --codegen-destination-style-entry

// expected-error @below {{result 0 updates argument 1 of 1}}
func.func @main(%w: tensor<4xf32>) -> (tensor<4xf32> {abi.updates = 1 : i64}) {
  return %w : tensor<4xf32>
}

// -----

// expected-error @below {{argument 0 is updated by two results}}
func.func @main(%w: tensor<4xf32>) -> (tensor<4xf32> {abi.updates = 0 : i64}, tensor<4xf32> {abi.updates = 0 : i64}) {
  return %w, %w : tensor<4xf32>, tensor<4xf32>
}

// -----

// expected-error @below {{result 0 of type 'tensor<4xf32>' cannot update argument 0 of type 'tensor<?xf32>' (supported: the same static type)}}
func.func @main(%w: tensor<?xf32>) -> (tensor<4xf32> {abi.updates = 0 : i64}) {
  %0 = tensor.cast %w : tensor<?xf32> to tensor<4xf32>
  return %0 : tensor<4xf32>
}

// RUN: onnx-aot-opt %s -onnx-infer-shapes -convert-onnx-to-linalg -canonicalize | FileCheck %s

!bsh = tensor<?x?x768xf32, affine_map<()[s0, s1] -> (s0, s1, 768)>>

// The whole chain of shape arithmetic folds into sizes; the reshape is an
// expansion of one dimension.
// CHECK-LABEL: func.func @splits_heads
// CHECK-NOT: tensor.from_elements
// CHECK: tensor.expand_shape %{{.*}} {{\[\[}}0], [1], [2, 3]]
// CHECK-NOT: tensor.collapse_shape
// CHECK: return
func.func @splits_heads(%x: !bsh) -> tensor<*xf32> {
  %zero = onnx.Constant dense<0> : tensor<i64>
  %one = onnx.Constant dense<1> : tensor<i64>
  %axes = onnx.Constant dense<0> : tensor<1xi64>
  %heads = onnx.Constant dense<[12, -1]> : tensor<2xi64>
  %shape = onnx.Shape %x : (!bsh) -> tensor<*xi64>
  %b = onnx.Gather %shape, %zero : (tensor<*xi64>, tensor<i64>) -> tensor<*xi64>
  %s = onnx.Gather %shape, %one : (tensor<*xi64>, tensor<i64>) -> tensor<*xi64>
  %b1 = onnx.Unsqueeze %b, %axes : (tensor<*xi64>, tensor<1xi64>) -> tensor<*xi64>
  %s1 = onnx.Unsqueeze %s, %axes : (tensor<*xi64>, tensor<1xi64>) -> tensor<*xi64>
  %to = onnx.Concat %b1, %s1, %heads {axis = 0} : (tensor<*xi64>, tensor<*xi64>, tensor<2xi64>) -> tensor<*xi64>
  %y = onnx.Reshape %x, %to : (!bsh, tensor<*xi64>) -> tensor<*xf32>
  return %y : tensor<*xf32>
}

// A shape that only the run knows is checked before it is used.
// CHECK-LABEL: func.func @reshapes_to_a_runtime_shape
// CHECK: cf.assert %{{.*}}, "onnx.Reshape: the shape does not have as many elements as the input"
// CHECK: linalg.generic
// CHECK: tensor.extract
func.func @reshapes_to_a_runtime_shape(%x: tensor<6xf32>, %to: tensor<2xi64>) -> tensor<*xf32> {
  %y = onnx.Reshape %x, %to : (tensor<6xf32>, tensor<2xi64>) -> tensor<*xf32>
  return %y : tensor<*xf32>
}

// CHECK-LABEL: func.func @slices_forward
// CHECK: tensor.extract_slice %{{.*}}[1] [2] [2]
func.func @slices_forward(%x: tensor<5xf32>) -> tensor<*xf32> {
  %start = onnx.Constant dense<1> : tensor<1xi64>
  %end = onnx.Constant dense<5> : tensor<1xi64>
  %axes = onnx.Constant dense<0> : tensor<1xi64>
  %step = onnx.Constant dense<2> : tensor<1xi64>
  %y = onnx.Slice %x, %start, %end, %axes, %step {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>} : (tensor<5xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<*xf32>
  return %y : tensor<*xf32>
}

// CHECK-LABEL: func.func @crops_before_it_pads
// CHECK: %[[CROPPED:.*]] = tensor.extract_slice %{{.*}}[1] [4] [1]
// CHECK: tensor.pad %[[CROPPED]] low[0] high[2]
func.func @crops_before_it_pads(%x: tensor<5xf32>) -> tensor<*xf32> {
  %pads = onnx.Constant dense<[-1, 2]> : tensor<2xi64>
  %y = onnx.Pad %x, %pads {operandSegmentSizes = array<i32: 1, 1, 0, 0>} : (tensor<5xf32>, tensor<2xi64>) -> tensor<*xf32>
  return %y : tensor<*xf32>
}

// CHECK-LABEL: func.func @concatenates
// CHECK: tensor.insert_slice %{{.*}}[0] [2] [1]
// CHECK: tensor.insert_slice %{{.*}}[2] [3] [1]
func.func @concatenates(%x: tensor<2xf32>, %y: tensor<3xf32>) -> tensor<*xf32> {
  %z = onnx.Concat %x, %y {axis = 0} : (tensor<2xf32>, tensor<3xf32>) -> tensor<*xf32>
  return %z : tensor<*xf32>
}

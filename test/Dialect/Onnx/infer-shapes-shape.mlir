// RUN: onnx-aot-opt %s -onnx-infer-shapes | FileCheck %s

!bsh = tensor<?x?x768xf32, affine_map<()[s0, s1] -> (s0, s1, 768)>>

// The chain by which exporters split heads: the batch and the length are read
// back from the shape and stay symbols.
// CHECK-LABEL: func.func @keeps_symbols_through_a_shape_chain
// CHECK: onnx.Reshape
// CHECK-SAME: -> tensor<?x?x12x64xf32, #[[MAP:.*]]>
func.func @keeps_symbols_through_a_shape_chain(%x: !bsh) -> tensor<*xf32> {
  %zero = onnx.Constant dense<0> : tensor<i64>
  %one = onnx.Constant dense<1> : tensor<i64>
  %axes = onnx.Constant dense<0> : tensor<1xi64>
  %heads = onnx.Constant dense<[12, -1]> : tensor<2xi64>
  %shape = onnx.Shape %x {} : (!bsh) -> tensor<*xi64>
  %b = onnx.Gather %shape, %zero {axis = 0} : (tensor<*xi64>, tensor<i64>) -> tensor<*xi64>
  %s = onnx.Gather %shape, %one {axis = 0} : (tensor<*xi64>, tensor<i64>) -> tensor<*xi64>
  %b1 = onnx.Unsqueeze %b, %axes : (tensor<*xi64>, tensor<1xi64>) -> tensor<*xi64>
  %s1 = onnx.Unsqueeze %s, %axes : (tensor<*xi64>, tensor<1xi64>) -> tensor<*xi64>
  %to = onnx.Concat %b1, %s1, %heads {axis = 0} : (tensor<*xi64>, tensor<*xi64>, tensor<2xi64>) -> tensor<*xi64>
  %y = onnx.Reshape %x, %to : (!bsh, tensor<*xi64>) -> tensor<*xf32>
  return %y : tensor<*xf32>
}

// CHECK-LABEL: func.func @cancels_symbols_under_minus_one
// CHECK: onnx.Reshape
// CHECK-SAME: -> tensor<?x768xf32, #[[FLAT:.*]]>
// CHECK: onnx.Reshape
// CHECK-SAME: -> tensor<?x?x768xf32
func.func @cancels_symbols_under_minus_one(%x: !bsh) -> tensor<*xf32> {
  %two = onnx.Constant dense<[-1, 768]> : tensor<2xi64>
  %flat = onnx.Reshape %x, %two : (!bsh, tensor<2xi64>) -> tensor<*xf32>
  %shape = onnx.Shape %x : (!bsh) -> tensor<*xi64>
  %y = onnx.Reshape %flat, %shape : (tensor<*xf32>, tensor<*xi64>) -> tensor<*xf32>
  return %y : tensor<*xf32>
}

// CHECK-LABEL: func.func @static_shapes
func.func @static_shapes(%x: tensor<2x3x4xf32>) {
  %sizes = onnx.Constant dense<[3, 1]> : tensor<2xi64>
  %repeats = onnx.Constant dense<[2, 1, 3]> : tensor<3xi64>
  %big = onnx.Constant dense<[5, 1, 3, 1]> : tensor<4xi64>
  %m1 = onnx.Constant dense<-1> : tensor<1xi64>
  %m2 = onnx.Constant dense<-2> : tensor<1xi64>
  %min = onnx.Constant dense<-9223372036854775808> : tensor<1xi64>
  %pads = onnx.Constant dense<[0, -1, 2, 0, 0, 1]> : tensor<6xi64>
  // CHECK: onnx.Transpose {{.*}} -> tensor<4x2x3xf32>
  %0 = onnx.Transpose %x {perm = array<i64: 2, 0, 1>} : (tensor<2x3x4xf32>) -> tensor<*xf32>
  // CHECK: onnx.Transpose {{.*}} -> tensor<4x3x2xf32>
  %1 = onnx.Transpose %x : (tensor<2x3x4xf32>) -> tensor<*xf32>
  // CHECK: onnx.Flatten {{.*}} -> tensor<6x4xf32>
  %2 = onnx.Flatten %x {axis = 2} : (tensor<2x3x4xf32>) -> tensor<*xf32>
  // CHECK: onnx.Concat {{.*}} -> tensor<2x6x4xf32>
  %3 = onnx.Concat %x, %x {axis = -2} : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<*xf32>
  // CHECK: onnx.Split {{.*}} -> (tensor<2x3x3xf32>, tensor<2x3x1xf32>)
  %4:2 = onnx.Split %x, %sizes {axis = 2} : (tensor<2x3x4xf32>, tensor<2xi64>) -> (tensor<*xf32>, tensor<*xf32>)
  // CHECK: onnx.Split {{.*}} -> (tensor<2x2x4xf32>, tensor<2x1x4xf32>)
  %5:2 = onnx.Split %x {axis = 1, num_outputs = 2} : (tensor<2x3x4xf32>) -> (tensor<*xf32>, tensor<*xf32>)
  // CHECK: onnx.Tile {{.*}} -> tensor<4x3x12xf32>
  %6 = onnx.Tile %x, %repeats : (tensor<2x3x4xf32>, tensor<3xi64>) -> tensor<*xf32>
  // CHECK: onnx.Expand {{.*}} -> tensor<5x2x3x4xf32>
  %7 = onnx.Expand %x, %big : (tensor<2x3x4xf32>, tensor<4xi64>) -> tensor<*xf32>
  // CHECK: onnx.Slice {{.*}} -> tensor<2x3x2xf32>
  %8 = onnx.Slice %x, %m1, %min, %m1, %m2 {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>} : (tensor<2x3x4xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<*xf32>
  // CHECK: onnx.Pad {{.*}} -> tensor<2x2x7xf32>
  %9 = onnx.Pad %x, %pads {operandSegmentSizes = array<i32: 1, 1, 0, 0>} : (tensor<2x3x4xf32>, tensor<6xi64>) -> tensor<*xf32>
  return
}

// RUN: onnx-aot-opt %s -onnx-fuse-conv-batch-norm -split-input-file | FileCheck %s

// factor = 2 / sqrt(3.5 + 0.5) = 1 and 4 / sqrt(3.5 + 0.5) = 2.
// CHECK-LABEL: func.func @folds_batch_norm
// CHECK-DAG: %[[W:.*]] = onnx.Constant dense<{{.*}}1.000000e+00{{.*}}2.000000e+00{{.*}}6.000000e+00{{.*}}8.000000e+00{{.*}}> : tensor<2x2x1x1xf32>
// bias 10 - 1 + 0 and (20 - 1) * 2 + 5.
// CHECK-DAG: %[[B:.*]] = onnx.Constant dense<[9.000000e+00, 4.300000e+01]>
// CHECK: onnx.Conv %{{.*}}, %[[W]], %[[B]]
// CHECK-NOT: onnx.BatchNormalization
func.func @folds_batch_norm(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %w = onnx.Constant dense<[[[[1.0]], [[2.0]]], [[[3.0]], [[4.0]]]]> : tensor<2x2x1x1xf32>
  %b = onnx.Constant dense<[10.0, 20.0]> : tensor<2xf32>
  %scale = onnx.Constant dense<[2.0, 4.0]> : tensor<2xf32>
  %shift = onnx.Constant dense<[0.0, 5.0]> : tensor<2xf32>
  %mean = onnx.Constant dense<1.0> : tensor<2xf32>
  %var = onnx.Constant dense<3.5> : tensor<2xf32>
  %0 = onnx.Conv %x, %w, %b : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
  %1:3 = onnx.BatchNormalization %0, %scale, %shift, %mean, %var {epsilon = 0.5 : f32} : (tensor<1x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<1x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>)
  return %1#0 : tensor<1x2x4x4xf32>
}

// -----

// CHECK-LABEL: func.func @folds_scales_and_shifts_without_bias
// CHECK-DAG: %[[W:.*]] = onnx.Constant dense<{{.*}}2.000000e+00{{.*}}9.000000e+00{{.*}}> : tensor<2x1x1x1xf32>
// CHECK-DAG: %[[B:.*]] = onnx.Constant dense<-5.000000e-01> : tensor<2xf32>
// CHECK: onnx.Conv %{{.*}}, %[[W]], %[[B]]
// CHECK-NOT: onnx.Mul
// CHECK-NOT: onnx.Sub
func.func @folds_scales_and_shifts_without_bias(%x: tensor<1x1x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %w = onnx.Constant dense<[[[[1.0]]], [[[3.0]]]]> : tensor<2x1x1x1xf32>
  %c = onnx.Constant dense<[[[2.0]], [[3.0]]]> : tensor<2x1x1xf32>
  %s = onnx.Constant dense<0.5> : tensor<f32>
  %0 = onnx.Conv %x, %w : (tensor<1x1x4x4xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x4x4xf32>
  %1 = onnx.Mul %c, %0 : (tensor<2x1x1xf32>, tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %2 = onnx.Sub %1, %s : (tensor<1x2x4x4xf32>, tensor<f32>) -> tensor<1x2x4x4xf32>
  return %2 : tensor<1x2x4x4xf32>
}

// -----

// CHECK-LABEL: func.func @folds_into_a_transposed_gemm
// CHECK-DAG: %[[W:.*]] = onnx.Constant dense<{{\[}}[2.000000e+00, 4.000000e+00], [9.000000e+00, 1.200000e+01]]>
// beta halves what the bias adds.
// CHECK-DAG: %[[B:.*]] = onnx.Constant dense<[2.000000e+00, 3.000000e+00]>
// CHECK: onnx.Gemm %{{.*}}, %[[W]], %[[B]] {beta = 5.000000e-01 : f32, trans_b = 1 : i64}
func.func @folds_into_a_transposed_gemm(%x: tensor<4x2xf32>) -> tensor<4x2xf32> {
  %w = onnx.Constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %b = onnx.Constant dense<1.0> : tensor<2xf32>
  %c = onnx.Constant dense<[2.0, 3.0]> : tensor<2xf32>
  %0 = onnx.Gemm %x, %w, %b {beta = 0.5 : f32, trans_b = 1 : i64} : (tensor<4x2xf32>, tensor<2x2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  %1 = onnx.Mul %0, %c : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  return %1 : tensor<4x2xf32>
}

// -----

// CHECK-LABEL: func.func @scales_a_matmul_but_makes_no_gemm_for_a_bias
// CHECK-DAG: %[[W:.*]] = onnx.Constant dense<{{\[}}[2.000000e+00, 6.000000e+00], [6.000000e+00, 1.200000e+01]]>
// CHECK: onnx.MatMul %{{.*}}, %[[W]]
// CHECK: onnx.MatMul
// CHECK: onnx.Add
func.func @scales_a_matmul_but_makes_no_gemm_for_a_bias(%x: tensor<4x2xf32>) -> tensor<4x2xf32> {
  %w = onnx.Constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %b = onnx.Constant dense<[2.0, 3.0]> : tensor<2xf32>
  %0 = onnx.MatMul %x, %w : (tensor<4x2xf32>, tensor<2x2xf32>) -> tensor<4x2xf32>
  %1 = onnx.Mul %b, %0 : (tensor<2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  %2 = onnx.MatMul %1, %w : (tensor<4x2xf32>, tensor<2x2xf32>) -> tensor<4x2xf32>
  %3 = onnx.Add %b, %2 : (tensor<2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  return %3 : tensor<4x2xf32>
}

// -----

// Two users; a constant along another dimension; the wrong way round.
// CHECK-LABEL: func.func @keeps_what_is_no_scale
// CHECK: onnx.Conv
// CHECK: onnx.Add
// CHECK: onnx.Conv
// CHECK: onnx.Mul
// CHECK: onnx.Conv
// CHECK: onnx.Div
func.func @keeps_what_is_no_scale(%x: tensor<1x1x4x2xf32>) -> (tensor<1x2x4x2xf32>, tensor<1x2x4x2xf32>, tensor<1x2x4x2xf32>, tensor<1x2x4x2xf32>) {
  %w = onnx.Constant dense<[[[[1.0]]], [[[3.0]]]]> : tensor<2x1x1x1xf32>
  %w1 = onnx.Constant dense<[[[[1.5]]], [[[3.0]]]]> : tensor<2x1x1x1xf32>
  %w2 = onnx.Constant dense<[[[[2.5]]], [[[3.0]]]]> : tensor<2x1x1x1xf32>
  %c = onnx.Constant dense<[2.0, 3.0]> : tensor<2xf32>
  %s = onnx.Constant dense<0.5> : tensor<f32>
  %0 = onnx.Conv %x, %w : (tensor<1x1x4x2xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x4x2xf32>
  %1 = onnx.Add %0, %s : (tensor<1x2x4x2xf32>, tensor<f32>) -> tensor<1x2x4x2xf32>
  %2 = onnx.Conv %x, %w1 : (tensor<1x1x4x2xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x4x2xf32>
  %3 = onnx.Mul %2, %c : (tensor<1x2x4x2xf32>, tensor<2xf32>) -> tensor<1x2x4x2xf32>
  %4 = onnx.Conv %x, %w2 : (tensor<1x1x4x2xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x4x2xf32>
  %5 = onnx.Div %s, %4 : (tensor<f32>, tensor<1x2x4x2xf32>) -> tensor<1x2x4x2xf32>
  return %0, %1, %3, %5 : tensor<1x2x4x2xf32>, tensor<1x2x4x2xf32>, tensor<1x2x4x2xf32>, tensor<1x2x4x2xf32>
}

// -----

// Two groups of one input channel and two outputs each: weight (c, j) belongs to
// output channel 2 c + j.
// CHECK-LABEL: func.func @folds_into_groups_of_a_transposed_conv
// CHECK-DAG: %[[W:.*]] = onnx.Constant dense<{{.*}}1.000000e+00{{.*}}2.000000e+00{{.*}}3.000000e+00{{.*}}4.000000e+00{{.*}}> : tensor<2x2x1x1xf32>
// CHECK: onnx.ConvTranspose %{{.*}}, %[[W]] {group = 2 : i64}
// CHECK-NOT: onnx.Mul
func.func @folds_into_groups_of_a_transposed_conv(%x: tensor<1x2x4x4xf32>) -> tensor<1x4x4x4xf32> {
  %w = onnx.Constant dense<1.0> : tensor<2x2x1x1xf32>
  %c = onnx.Constant dense<[[[1.0]], [[2.0]], [[3.0]], [[4.0]]]> : tensor<4x1x1xf32>
  %0 = onnx.ConvTranspose %x, %w {group = 2 : i64} : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x4x4x4xf32>
  %1 = onnx.Mul %0, %c : (tensor<1x4x4x4xf32>, tensor<4x1x1xf32>) -> tensor<1x4x4x4xf32>
  return %1 : tensor<1x4x4x4xf32>
}

// -----

// CHECK-LABEL: func.func @spells_out_what_has_no_weights
// CHECK-DAG: %[[F:.*]] = onnx.Constant dense<{{.*}}1.000000e+00{{.*}}2.000000e+00{{.*}}> : tensor<2x1x1xf32>
// CHECK-DAG: %[[O:.*]] = onnx.Constant dense<{{.*}}-1.000000e+00{{.*}}3.000000e+00{{.*}}> : tensor<2x1x1xf32>
// CHECK: %[[M:.*]] = onnx.Mul %{{.*}}, %[[F]]
// CHECK: onnx.Add %[[M]], %[[O]]
func.func @spells_out_what_has_no_weights(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %scale = onnx.Constant dense<[2.0, 4.0]> : tensor<2xf32>
  %shift = onnx.Constant dense<[0.0, 5.0]> : tensor<2xf32>
  %mean = onnx.Constant dense<1.0> : tensor<2xf32>
  %var = onnx.Constant dense<3.5> : tensor<2xf32>
  %1:3 = onnx.BatchNormalization %x, %scale, %shift, %mean, %var {epsilon = 0.5 : f32} : (tensor<1x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<1x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>)
  return %1#0 : tensor<1x2x4x4xf32>
}

// -----

// The formula that the gradient is made of, too, so that both share statistics.
// CHECK-LABEL: func.func @expands_training
// CHECK: %[[MEAN:.*]] = onnx.ReduceMean %[[X:.*]], %{{.*}} -> tensor<1x2x1x1xf32>
// CHECK: %[[CENTERED:.*]] = onnx.Sub %[[X]], %[[MEAN]]
// CHECK: %[[SQUARE:.*]] = onnx.Mul %[[CENTERED]], %[[CENTERED]]
// CHECK: onnx.ReduceMean %[[SQUARE]]
// CHECK: onnx.Sqrt
// CHECK: onnx.Reciprocal
// CHECK: onnx.Squeeze %[[MEAN]]
// CHECK-NOT: onnx.BatchNormalization
func.func @expands_training(%x: tensor<3x2x4x4xf32>, %p: tensor<2xf32>) -> (tensor<3x2x4x4xf32>, tensor<2xf32>) {
  %0:3 = onnx.BatchNormalization %x, %p, %p, %p, %p {training_mode = 1 : i64} : (tensor<3x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<3x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>)
  return %0#0, %0#1 : tensor<3x2x4x4xf32>, tensor<2xf32>
}

// -----

// Of sizes that may differ from the channels only the lowering's check knows; 16
// bits are too few for sums.
// CHECK-LABEL: func.func @keeps_training_of_unknown_sizes
// CHECK: onnx.BatchNormalization
// CHECK: onnx.BatchNormalization
func.func @keeps_training_of_unknown_sizes(%x: tensor<3x2x4x4xf32>, %p: tensor<?xf32>, %y: tensor<3x2x4x4xf16>, %q: tensor<2xf16>) -> (tensor<3x2x4x4xf32>, tensor<3x2x4x4xf16>) {
  %0:3 = onnx.BatchNormalization %x, %p, %p, %p, %p {training_mode = 1 : i64} : (tensor<3x2x4x4xf32>, tensor<?xf32>, tensor<?xf32>, tensor<?xf32>, tensor<?xf32>) -> (tensor<3x2x4x4xf32>, tensor<?xf32>, tensor<?xf32>)
  %1:3 = onnx.BatchNormalization %y, %q, %q, %q, %q {training_mode = 1 : i64} : (tensor<3x2x4x4xf16>, tensor<2xf16>, tensor<2xf16>, tensor<2xf16>, tensor<2xf16>) -> (tensor<3x2x4x4xf16>, tensor<2xf16>, tensor<2xf16>)
  return %0#0, %1#0 : tensor<3x2x4x4xf32>, tensor<3x2x4x4xf16>
}

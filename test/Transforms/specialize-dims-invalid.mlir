// RUN: not onnx-aot-opt %s -onnx-specialize-dims="dims=width=2" 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not onnx-aot-opt %s -onnx-specialize-dims="dims=batch=-2" 2>&1 | FileCheck %s --check-prefix=SIZE
// RUN: not onnx-aot-opt %s -onnx-specialize-dims="dims=batch" 2>&1 | FileCheck %s --check-prefix=FORM
// RUN: not onnx-aot-opt %s -onnx-specialize-dims="dims=batch=1,batch=2" 2>&1 | FileCheck %s --check-prefix=TWICE

// NAME: error: no dimension is named "width" (there are: batch, seq)
// SIZE: error: cannot read the dimension "batch=-2" (expected NAME=N with N >= 0)
// FORM: error: cannot read the dimension "batch" (expected NAME=N with N >= 0)
// TWICE: error: the dimension of "batch=2" is given two different sizes
module attributes {onnx.symbols = ["batch", "seq", ""]} {}

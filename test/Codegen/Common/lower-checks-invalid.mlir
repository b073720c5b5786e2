// RUN: onnx-aot-opt %s -codegen-lower-checks -verify-diagnostics

llvm.func @kernel(%ok: i1) {
  // expected-error @below {{a check outside of the entry function}}
  cf.assert %ok, "no"
  llvm.return
}

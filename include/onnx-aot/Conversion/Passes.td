//===- Passes.td - conversion passes ----------------------*- tablegen -*-===//

#ifndef ONNX_AOT_CONVERSION_PASSES
#define ONNX_AOT_CONVERSION_PASSES

include "mlir/Pass/PassBase.td"

def ConvertOnnxToLinalg
    : Pass<"convert-onnx-to-linalg", "::mlir::ModuleOp"> {
  let summary = "Lower onnx ops to linalg, tensor, arith, math and scf on tensors";
  let description = [{
    Requires ranked types everywhere (`onnx-infer-shapes`). Guarantees that no
    onnx op is left; an op without a lowering is an error at that op, and all of
    them are reported at once. Encodings are dropped: a symbolic size becomes a
    `tensor.dim` of the value that introduced the symbol. `ui8` becomes `i8` and
    `i1` becomes `i8` holding 0 or 1, as they lie in memory.

    ```mlir
    %0 = onnx.Relu %x : (tensor<4xf32>) -> tensor<4xf32>
    // becomes
    %0 = linalg.generic {...} ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) {...}
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect", "::mlir::scf::SCFDialect",
    "::mlir::tensor::TensorDialect", "::mlir::affine::AffineDialect",
    "::mlir::cf::ControlFlowDialect", "::onnx_aot::kernel::KernelDialect"
  ];
}

#endif // ONNX_AOT_CONVERSION_PASSES

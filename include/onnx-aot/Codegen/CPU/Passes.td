//===- Passes.td - code generation for CPUs ---------------*- tablegen -*-===//

#ifndef ONNX_AOT_CODEGEN_CPU_PASSES
#define ONNX_AOT_CODEGEN_CPU_PASSES

include "mlir/Pass/PassBase.td"

def ApproximateMath : Pass<"cpu-approximate-math"> {
  let summary = "Expand elementary functions on f32 into vectorisable arithmetic";
  let description = [{
    exp, log, tanh, erf and their like on f32 become polynomials and rational
    functions, on scalars and vectors alike. What is left goes to libm.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::vector::VectorDialect"];
}

def LowerCopies : Pass<"cpu-lower-copies"> {
  let summary = "Turn copies between strided buffers into loops";
  let description = [{
    A `memref.copy` of contiguous buffers stays: it becomes a memcpy. Any other
    would become a call of a library function that does not exist.
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect"];
}

#endif // ONNX_AOT_CODEGEN_CPU_PASSES

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

def EmitKernels : Pass<"cpu-emit-kernels", "::mlir::ModuleOp"> {
  let summary = "Write vector code for every launched kernel";
  let description = [{
    Requires a bufferised entry. Each kernel becomes a function over a range of
    tasks and each launch a call of `<kernel>.launch` with the number of tasks,
    which the ABI wrappers turn into a parallel loop. Kernels that compute the same
    on buffers of the same types are emitted once. The tensor bodies are removed.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
  let options = [
    Option<"vectorBytes", "vector-bytes", "unsigned", "32",
           "Width of a vector register in bytes">,
    Option<"vectorRegisters", "vector-registers", "unsigned", "16",
           "Number of vector registers">,
    Option<"panelVectors", "panel-vectors", "int64_t", "0",
           "Vectors of a panel; 0 for as many as suit">,
    Option<"maxRows", "max-rows", "int64_t", "14", "Rows of a tile at most">,
    Option<"cachedBytes", "cached-bytes", "int64_t", "262144",
           "Bytes of the rows that stay in cache while panels go by">,
    Option<"taskPoints", "task-points", "int64_t", "16384",
           "Points a task should have at least">
  ];
}

def PackNibbles : Pass<"cpu-pack-nibbles", "::mlir::func::FuncOp"> {
  let summary = "Keep constant weights of four bits packed in products";
  let description = [{
    A product of f32 rows with what a pointwise op makes of constants,
    `(number - point) * scale` with a scale for each block of the reduction, where
    numbers differ by 15 at most, reads words of eight numbers instead, in panels:
    its reduction becomes loops over blocks, words and numbers.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::tensor::TensorDialect"];
  let options = [
    Option<"vectorBytes", "vector-bytes", "unsigned", "32",
           "Width of a vector register in bytes">,
    Option<"vectorRegisters", "vector-registers", "unsigned", "16",
           "Number of vector registers">,
    Option<"panelVectors", "panel-vectors", "int64_t", "0",
           "Vectors of a panel; 0 for as many as suit">
  ];
}

def PackOperands : Pass<"cpu-pack-operands", "::mlir::func::FuncOp"> {
  let summary = "Lay contraction operands out as the tiles will read them";
  let description = [{
    A constant right-hand side is stored in panels as wide as a register tile,
    padded with zeros: its indexing map becomes
    `(..., n floordiv W, k, n mod W)`. The weights of depthwise convolutions get
    their channels last. A run-time right-hand side is copied into panels where many
    rows read it or its columns do not lie side by side.
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
  let options = [
    Option<"vectorBytes", "vector-bytes", "unsigned", "32",
           "Width of a vector register in bytes">,
    Option<"vectorRegisters", "vector-registers", "unsigned", "16",
           "Number of vector registers">,
    Option<"panelVectors", "panel-vectors", "int64_t", "0",
           "Vectors of a panel; 0 for as many as suit">
  ];
}

def PairReductions : Pass<"cpu-pair-reductions", "::mlir::func::FuncOp"> {
  let summary = "Split the reductions of integer products by two";
  let description = [{
    A sum of products of integers of 16 bits at most, with constant columns, whose
    reduction runs along the rows' last axis gets a loop over pairs, innermost:
    `(m, n, k) -> (m, k)` becomes `(m, n, k, p) -> (m, k, p)` with half as many k.
    Rows of 8 bits are widened before. Kernels multiply such pairs at once.

    With `byte-dots` rows that are bytes less a constant, and columns of signed
    bytes, stay bytes and are split by four: the constant times each column's sum
    is added to the products.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
  let options = [
    Option<"byteDots", "byte-dots", "bool", "false",
           "The target adds four products of bytes to 32 bits at once (vpdpbusd)">
  ];
}

def LowerCopies : Pass<"cpu-lower-copies"> {
  let summary = "Turn copies between strided buffers into loops";
  let description = [{
    A `memref.copy` of contiguous buffers stays: it becomes a memcpy. Any other
    would become a call of a library function that does not exist.
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect"];
}

def UseWinograd : Pass<"cpu-use-winograd", "::mlir::func::FuncOp"> {
  let summary = "Compute 3x3 convolutions with Winograd's F(2x2, 3x3)";
  let description = [{
    A convolution of stride 1 with constant weights and constant sizes becomes a
    transform of its input, one batched matrix product and a transform of the
    products that takes in the pointwise op behind it, where the cost model of
    docs/RationaleCodegen.md finds that it pays. The result is rounded differently
    from the direct sum, with an error of the same size.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
  let options = [
    Option<"vectorBytes", "vector-bytes", "unsigned", "32",
           "Width of a vector register in bytes">
  ];
}

def WidenSums : Pass<"cpu-widen-sums", "::mlir::func::FuncOp"> {
  let summary = "Accumulate sums that run one element at a time in 64 bits";
  let description = [{
    A sum of 32-bit floats into one accumulator, element after element, loses a
    digit for each power of ten of its length. Vector code has an accumulator a
    lane; loops that are not vectorised get one of 64 bits.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

#endif // ONNX_AOT_CODEGEN_CPU_PASSES

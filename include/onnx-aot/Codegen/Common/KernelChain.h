//===- KernelChain.h - kernels that run block by block ----------*- C++ -*-===//
//
// A contraction, a row-wise kernel on its result and a contraction over those
// rows, as in attention, can run one after the other on a few rows at a time:
// the matrix between them, which may be larger than everything else, is never
// there as a whole. Such a kernel keeps the three as stages in one body.
//
//===----------------------------------------------------------------------===//

#ifndef ONNX_AOT_CODEGEN_COMMON_KERNELCHAIN_H
#define ONNX_AOT_CODEGEN_COMMON_KERNELCHAIN_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace onnx_aot::codegen {

/// On the ops of a chained kernel: the number of their stage (IntegerAttr). The
/// results of all stages but the last have the same shape. Where blocks are
/// handed on through memory, that is the kernel's last argument,
/// [slots][rows][columns], and the output its last but one.
constexpr llvm::StringLiteral kStageAttr = "kernel.stage";

/// Says of the ops of stages whether they can be chained.
using StageFilter = std::function<bool(
    llvm::ArrayRef<llvm::SmallVector<mlir::linalg::GenericOp>>)>;

/// The ops of each stage; nothing for a kernel without stages.
llvm::SmallVector<llvm::SmallVector<mlir::linalg::GenericOp>>
getStages(mlir::func::FuncOp kernel);

/// True when a kernel of `rows` between one of `products` and one of `sums`,
/// all in program order, can run block by block with them: it reads the result
/// of the first and writes what the last one reduces, row for row.
bool canChain(llvm::ArrayRef<mlir::linalg::GenericOp> products,
              llvm::ArrayRef<mlir::linalg::GenericOp> rows,
              llvm::ArrayRef<mlir::linalg::GenericOp> sums);

/// Rows of a block of a matrix with `rows` and `columns`, each of them dynamic
/// where not known, so that a block takes at most `bytes` where that is
/// possible.
int64_t getBlockRows(int64_t rows, int64_t columns, int64_t elementBytes,
                     int64_t bytes);

} // namespace onnx_aot::codegen

#endif // ONNX_AOT_CODEGEN_COMMON_KERNELCHAIN_H

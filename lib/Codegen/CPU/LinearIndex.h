//===- LinearIndex.h - indices as sums of loop variables --------*- C++ -*-===//

#ifndef ONNX_AOT_CODEGEN_CPU_LINEARINDEX_H
#define ONNX_AOT_CODEGEN_CPU_LINEARINDEX_H

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/Value.h"

namespace onnx_aot::cpu {

/// An index `sum of coefficient * value + constant + lane * i` where i runs over
/// the lanes of a vector. Terms stand in the order in which they were added, which
/// keeps the emitted code independent of addresses.
struct LinearIndex {
  llvm::SmallVector<std::pair<mlir::Value, int64_t>, 2> terms;
  int64_t constant = 0;
  int64_t lane = 0;

  static LinearIndex of(int64_t constant) { return {{}, constant, 0}; }
  static LinearIndex of(mlir::Value value) { return {{{value, 1}}, 0, 0}; }

  bool isConstant() const { return terms.empty() && lane == 0; }
  bool operator==(const LinearIndex &other) const;

  LinearIndex operator+(const LinearIndex &other) const;
  LinearIndex operator+(int64_t offset) const;
  LinearIndex operator*(int64_t factor) const;
};

/// Value of `expr` with each dimension replaced by an index. Of a quotient or
/// remainder by a constant d only the case is supported in which the terms are
/// multiples of d and the rest stays below d (a packed panel); the quotient of
/// the terms comes from `divide`. Nothing for other expressions.
std::optional<LinearIndex> evaluate(
    mlir::AffineExpr expr, llvm::ArrayRef<LinearIndex> dims,
    llvm::function_ref<LinearIndex(const LinearIndex &, int64_t)> divide);

} // namespace onnx_aot::cpu

#endif // ONNX_AOT_CODEGEN_CPU_LINEARINDEX_H

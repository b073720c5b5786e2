//===- LinearIndex.h - indices as sums of loop variables --------*- C++ -*-===//

#ifndef ONNX_AOT_CODEGEN_CPU_LINEARINDEX_H
#define ONNX_AOT_CODEGEN_CPU_LINEARINDEX_H

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/Value.h"

namespace onnx_aot::cpu {

/// An index `sum of coefficient * value + constant + lane * i` where i runs
/// over the lanes of a vector. Terms stand in the order in which they were
/// added, which keeps the emitted code independent of addresses.
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

/// Quotient (or remainder) of an index without lanes by a constant.
using DivideFn = llvm::function_ref<LinearIndex(const LinearIndex &, int64_t,
                                                bool remainder)>;

/// Value of `expr` with each dimension replaced by an index. Quotients and
/// remainders by a constant are exact for single points; a vector must lie
/// within one quotient, as it does in packed panels. Nothing for other
/// expressions.
std::optional<LinearIndex> evaluate(mlir::AffineExpr expr,
                                    llvm::ArrayRef<LinearIndex> dims,
                                    DivideFn divide);

} // namespace onnx_aot::cpu

#endif // ONNX_AOT_CODEGEN_CPU_LINEARINDEX_H

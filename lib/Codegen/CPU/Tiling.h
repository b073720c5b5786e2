//===- Tiling.h - how a kernel's dimensions are cut -------------*- C++ -*-===//

#ifndef ONNX_AOT_CODEGEN_CPU_TILING_H
#define ONNX_AOT_CODEGEN_CPU_TILING_H

#include "onnx-aot/Codegen/Common/KernelDomain.h"
#include "onnx-aot/Support/TargetInfo.h"
#include "onnx-aot/Support/Tuning.h"

namespace onnx_aot::cpu {

/// The plan for one kernel. A task is what one thread does at once; inside it
/// the kernel runs tile by tile, a tile being what is held in registers.
struct Tiling {
  /// Dimension along which vectors run; -1 when the kernel has none.
  int laneDim = -1;
  /// Elements of a vector.
  int64_t lanes = 1;
  /// Vectors per tile along laneDim.
  int64_t vectors = 1;
  /// Parallel dimension of which a tile holds several points; -1 for none.
  int rowDim = -1;
  int64_t rows = 1;
  /// What is left of a size that only the run knows is worth tiles of several
  /// heights.
  bool balanced = false;
  /// Parallel dimensions of constant size that a tile covers whole: they share
  /// all loads.
  llvm::SmallVector<unsigned> unrolled;
  /// Parallel dimensions from the outermost loop of a task to the innermost.
  llvm::SmallVector<unsigned> order;
  /// Per dimension: points of a task, 0 for all.
  llvm::SmallVector<int64_t> blocks;
  /// Per dimension: steps of a reduction that all tiles of a task make before
  /// any makes the next ones, 0 for all. Sums wait in the output.
  llvm::SmallVector<int64_t> steps;
  /// Several tiles read one panel of weights: time to fetch the next one.
  bool prefetchPanels = false;
  /// Reduction loops of a constant size up to this are unrolled.
  int64_t unrollReduction = 0;
};

/// Rows for which packed weights are unpacked at once, at most.
constexpr int64_t kUnpackedRows = 168;

/// The processor and what was measured on it.
struct Target : TargetInfo {
  Tuning tuning;
};

/// What the choice depends on.
struct TilingInput {
  llvm::ArrayRef<mlir::linalg::GenericOp> ops;
  const codegen::KernelDomain &domain;
  /// Size per dimension, dynamic where not known.
  llvm::ArrayRef<int64_t> sizes;
  /// Something looks at the results as they are stored: sums must be complete.
  bool wholeSums = false;
};

/// Chooses tiles from the registers and caches of the target; see
/// docs/RationaleCodegen.md for the reasons.
Tiling selectTiling(const TilingInput &input, const Target &target);

/// On a copy into panels (UnitAttr): its columns may lie past the end of what
/// it reads, where loads give any value.
constexpr llvm::StringLiteral kGuardAttr = "kernel.guard";

/// The map of an operand that is stored in panels.
bool isPanelMap(mlir::AffineMap map);

/// Columns per panel in which the constant right-hand side of a contraction
/// with `n` columns is packed.
int64_t getPanelWidth(int64_t n, int64_t m, unsigned elementBytes,
                      const Target &target);

} // namespace onnx_aot::cpu

#endif // ONNX_AOT_CODEGEN_CPU_TILING_H

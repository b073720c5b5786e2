//===- KernelDomain.h - the iteration space a kernel's ops share ----------===//
//
// The ops of a kernel are loop nests over one set of dimensions. A dimension
// that any op reduces is a reduction dimension; the others are parallel, and
// every op runs over all of them. So a kernel is: for each point of the
// parallel dimensions, the ops in order, each over the reduction dimensions it
// needs.
//
//===----------------------------------------------------------------------===//

#ifndef ONNX_AOT_CODEGEN_COMMON_KERNELDOMAIN_H
#define ONNX_AOT_CODEGEN_COMMON_KERNELDOMAIN_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace onnx_aot::codegen {

/// Shared iteration space of a few generics.
class KernelDomain {
public:
  /// Aligns the loops of `ops`, which stand in program order. Fails when they
  /// do not share one space, reduce over different dimensions, or have bodies
  /// that are not made of pointwise operations.
  static mlir::FailureOr<KernelDomain>
  analyze(llvm::ArrayRef<mlir::linalg::GenericOp> ops);

  /// The same for stages of which each runs over the result of the one before,
  /// on all of its axes, and may have dimensions of its own. A dimension that
  /// any stage reduces is a reduction dimension.
  static mlir::FailureOr<KernelDomain>
      analyzeStages(llvm::ArrayRef<llvm::SmallVector<mlir::linalg::GenericOp>>);

  /// The loops of one op, whatever its body makes of what it reduces.
  static KernelDomain ofOne(mlir::linalg::GenericOp op);

  unsigned getNumDims() const { return isReduction.size(); }
  bool isReductionDim(unsigned dim) const { return isReduction[dim]; }
  llvm::SmallVector<unsigned> getParallelDims() const { return dims(false); }
  llvm::SmallVector<unsigned> getReductionDims() const { return dims(true); }
  /// Dimension of each of the op's loops.
  llvm::ArrayRef<unsigned> getLoopDims(mlir::linalg::GenericOp op) const {
    return loopDims.find(op)->second;
  }
  /// Dimension of each axis of a tensor that the ops read or make, -1 where the
  /// axis has none.
  llvm::ArrayRef<int> getAxisDims(mlir::Value tensor) const {
    return tensorDims.find(tensor)->second;
  }
  /// True when an op after a reduction runs over reduction dimensions again, as
  /// in softmax.
  bool isRowwise() const { return rowwise; }
  /// An input is indexed by sums of loops, as in convolution and pooling.
  bool hasWindows() const { return windows; }

private:
  llvm::SmallVector<unsigned> dims(bool reduction) const;
  bool alignLoops(mlir::linalg::GenericOp op);
  /// Adds a stage that runs over `handed`.
  bool append(const KernelDomain &stage, mlir::Value handed);

  llvm::SmallVector<bool> isReduction;
  /// Size per dimension, dynamic where not known.
  llvm::SmallVector<int64_t> sizes;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<unsigned>> loopDims;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<int>> tensorDims;
  bool rowwise = false, windows = false;
};

/// True when the body can be computed on vectors lane by lane.
bool hasVectorizableBody(mlir::linalg::GenericOp op);

} // namespace onnx_aot::codegen

#endif // ONNX_AOT_CODEGEN_COMMON_KERNELDOMAIN_H

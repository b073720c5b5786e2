//===- BuildGradient.h - reverse-mode differentiation -----------*- C++ -*-===//

#ifndef ONNX_AOT_AUTODIFF_BUILDGRADIENT_H
#define ONNX_AOT_AUTODIFF_BUILDGRADIENT_H

#include "mlir/IR/Builders.h"

namespace onnx_aot {

/// Creates, at the builder's insertion point, the gradients of `ys` with
/// respect to `xs`: for each x the sum over all y of (dy/dx)^T seed(y), of the
/// type of x.
///
/// `ys` are defined before the insertion point, in its block or around it; only
/// the ops of this block are differentiated. `seeds` has one value for each y,
/// of its type; a null one, or none at all, means ones. An x may be anything
/// that the block's ops use: an argument, a constant, an intermediate value, a
/// value of a graph around the block.
///
/// A null value is given for an x that no y depends on through floats. Fails
/// after an error at every op that stands in the way, and leaves the block as
/// it was. The gradients consist of onnx and train ops that can be
/// differentiated again.
mlir::FailureOr<llvm::SmallVector<mlir::Value>>
buildGradient(mlir::OpBuilder &builder, llvm::ArrayRef<mlir::Value> ys,
              llvm::ArrayRef<mlir::Value> seeds,
              llvm::ArrayRef<mlir::Value> xs);

} // namespace onnx_aot

#endif // ONNX_AOT_AUTODIFF_BUILDGRADIENT_H

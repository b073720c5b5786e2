//===- Activity.h - which values need gradients -----------------*- C++ -*-===//

#ifndef ONNX_AOT_LIB_AUTODIFF_ACTIVITY_H
#define ONNX_AOT_LIB_AUTODIFF_ACTIVITY_H

#include "mlir/IR/Block.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

namespace onnx_aot {

/// The operands of an op and the values that its regions take from outside.
llvm::SetVector<mlir::Value> getInputs(mlir::Operation *op);

/// The values on a way from an x to a y.
struct Activity {
  /// Those that depend on an x through values that carry gradients, the xs
  /// included, and that a y depends on.
  llvm::DenseSet<mlir::Value> values;
  /// The ops between, in program order: they have both an active input and an
  /// active result.
  llvm::SmallVector<mlir::Operation *> ops;
};

/// Looks at the ops of the block before `end`.
Activity findActivity(mlir::Block *block, mlir::Block::iterator end,
                      llvm::ArrayRef<mlir::Value> ys,
                      llvm::ArrayRef<mlir::Value> xs);

} // namespace onnx_aot

#endif // ONNX_AOT_LIB_AUTODIFF_ACTIVITY_H

//===- ScatterLoops.h - loops that update computed places -------*- C++ -*-===//

#ifndef ONNX_AOT_CODEGEN_GPU_SCATTERLOOPS_H
#define ONNX_AOT_CODEGEN_GPU_SCATTERLOOPS_H

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace onnx_aot::gpu_kernel {

/// A nest of loops on buffers that makes one step `target[place] =
/// f(target[place], ...)` at each of its points. Place and step may read any
/// other memory, so points of one place depend on each other through it alone.
struct ScatterLoops {
  /// From the outermost to the innermost.
  llvm::SmallVector<mlir::scf::ForOp> loops;
  mlir::memref::StoreOp store;
  /// What the target held; null where it is overwritten.
  mlir::memref::LoadOp current;
  /// Loops whose index is a coordinate of the place: points that differ there
  /// have different places. The others are scanned.
  llvm::SmallVector<unsigned> straight, scanned;

  /// The nest of which `outermost` is the first loop, where it is one.
  static std::optional<ScatterLoops> find(mlir::scf::ForOp outermost);

  mlir::Value getTarget() { return store.getMemRef(); }
  /// What the nest uses of the outside, constants aside; the target is last.
  llvm::SmallVector<mlir::Value> getOperands();
};

} // namespace onnx_aot::gpu_kernel

#endif // ONNX_AOT_CODEGEN_GPU_SCATTERLOOPS_H

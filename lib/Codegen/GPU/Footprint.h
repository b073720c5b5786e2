//===- Footprint.h - the memory that launches touch -------------*- C++ -*-===//
#ifndef ONNX_AOT_CODEGEN_GPU_FOOTPRINT_H
#define ONNX_AOT_CODEGEN_GPU_FOOTPRINT_H

#include "onnx-aot/Dialect/Kernel/IR/Kernel.h"

namespace onnx_aot::gpu_kernel {

/// Bytes of a buffer that is not part of another one.
struct Extent {
  mlir::Value base; ///< null where it may be any
  int64_t begin = 0, end = INT64_MAX;

  static Extent of(mlir::Value buffer);
  bool overlaps(const Extent &other) const;
};

/// What is read and written.
class Footprint {
public:
  static Footprint of(kernel::LaunchOp launch);
  void add(const Footprint &other);
  /// True where the order of the two matters.
  bool conflictsWith(const Footprint &other) const;

private:
  llvm::SmallVector<Extent> reads, writes;
};

} // namespace onnx_aot::gpu_kernel

#endif // ONNX_AOT_CODEGEN_GPU_FOOTPRINT_H

//===- SplitReduction.h - reductions cut into parts -------------*- C++ -*-===//
//
// Where results are few and what each is made of is long, a block for each
// result would leave most of a device idle. Blocks reduce parts, whose number
// follows from the shape, and leave them in scratch memory; a second kernel
// combines those of each result, always in the same order.
//
//===----------------------------------------------------------------------===//

#ifndef ONNX_AOT_CODEGEN_GPU_SPLITREDUCTION_H
#define ONNX_AOT_CODEGEN_GPU_SPLITREDUCTION_H

#include "KernelFamily.h"

namespace onnx_aot::gpu_kernel {

/// How a family would cut the reduction of a kernel.
struct Splitting {
  std::optional<int64_t> tiles; ///< blocks for all results, where known
  int64_t least;                ///< steps of the reduction in a part
  int64_t wanted;               ///< blocks that keep a device busy
};

/// The op of a kernel that reduces, where there is one with a neutral element
/// and pointwise ops after it; null for others.
mlir::linalg::GenericOp getOnlyReduction(const KernelAnalysis &kernel);

bool isWorthSplitting(const KernelAnalysis &kernel, const Splitting &splitting);
/// Host code for the parts.
SplitSizes emitSplitSizes(const KernelAnalysis &kernel, const HostSizes &host,
                          const Splitting &splitting);

/// A part of the reduction: its number, and from where to where it goes.
struct Part {
  mlir::Value number, first, end;
};

/// `unit` divides where parts begin.
Part getPart(KernelWriter &writer, mlir::Value number, int64_t unit);

/// Where a result's part lies in scratch memory.
mlir::Value getPlace(KernelWriter &writer, const Point &point,
                     mlir::Value part);

} // namespace onnx_aot::gpu_kernel

#endif // ONNX_AOT_CODEGEN_GPU_SPLITREDUCTION_H

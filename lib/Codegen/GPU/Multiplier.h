//===- Multiplier.h - how a block multiplies slices -------------*- C++ -*-===//
//
// Kernels of products differ in what they do with the sums; how rows and
// columns that lie in shared memory are multiplied is the same for all of them.
//
//===----------------------------------------------------------------------===//

#ifndef ONNX_AOT_CODEGEN_GPU_MULTIPLIER_H
#define ONNX_AOT_CODEGEN_GPU_MULTIPLIER_H

#include "Slices.h"

namespace onnx_aot::gpu_kernel {

/// Rows and columns of a block's results.
constexpr int64_t kTile = 64;
/// Threads of a block.
constexpr int64_t kThreadMultiplierThreads = 256, kTensorCoreThreads = 128;

/// Multiplies slices of a tile's rows and columns. A thread has the results
/// where some rows meet some columns.
class Multiplier {
public:
  virtual ~Multiplier() = default;

  virtual Slices::Form getForm() const = 0;
  /// This thread's rows and columns, from the first of the tile on.
  virtual llvm::SmallVector<mlir::Value> getRows() const = 0;
  virtual llvm::SmallVector<mlir::Value> getColumns() const = 0;
  /// By which distances (xor) the lanes of a warp lie apart that have the same
  /// rows.
  virtual llvm::SmallVector<int64_t> getRowDistances() const = 0;
  /// The sums after a slice, row by row.
  virtual llvm::SmallVector<mlir::Value>
  multiply(mlir::ValueRange sums, mlir::Value rows, mlir::Value columns) = 0;
};

/// How results are shared out.
enum class Sharing {
  Square,   ///< so that as little as possible is loaded
  WholeRows ///< lanes of one warp have all results of a row
};

/// By the threads' own instructions; any type.
std::unique_ptr<Multiplier> createThreadMultiplier(KernelWriter &writer,
                                                   const Product &product);
/// By tensor cores, where those take the product's types.
std::unique_ptr<Multiplier> createTensorCoreMultiplier(KernelWriter &writer,
                                                       const Product &product,
                                                       Sharing sharing);
/// True where tensor cores do.
bool isForTensorCores(const KernelAnalysis &kernel, const Product &product);

} // namespace onnx_aot::gpu_kernel

#endif // ONNX_AOT_CODEGEN_GPU_MULTIPLIER_H

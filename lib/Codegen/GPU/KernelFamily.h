//===- KernelFamily.h - generators of device kernels ------------*- C++ -*-===//
//
// A family writes one form of kernel. The first in the list that matches a
// kernel writes it; docs/RationaleGpu.md says how to add one.
//
//===----------------------------------------------------------------------===//

#ifndef ONNX_AOT_CODEGEN_GPU_KERNELFAMILY_H
#define ONNX_AOT_CODEGEN_GPU_KERNELFAMILY_H

#include "KernelWriter.h"

namespace onnx_aot::gpu_kernel {

/// Host code that computes launch sizes, as index values.
struct HostSizes {
  mlir::ImplicitLocOpBuilder &builder;
  /// Size of a dimension.
  llvm::function_ref<mlir::Value(unsigned)> size;

  mlir::Value constant(int64_t value) const;
  mlir::Value product(llvm::ArrayRef<unsigned> dims) const;
  mlir::Value ceilDiv(mlir::Value value, int64_t divisor) const;
  mlir::Value mul(mlir::Value a, mlir::Value b) const;
  mlir::Value minimum(mlir::Value a, int64_t limit) const;
};

/// How a sum is cut into parts.
struct SplitSizes {
  mlir::Value parts;
  int64_t elements = 0;
  mlir::Type type; ///< of an element
};

class KernelFamily {
public:
  virtual ~KernelFamily() = default;
  /// First part of the kernels' names.
  virtual llvm::StringRef getName() const = 0;
  virtual bool matches(const KernelAnalysis &kernel) const = 0;
  /// Threads of a block.
  virtual int64_t getThreads(const KernelAnalysis &kernel) const = 0;
  /// Writes the body; any number of blocks must do.
  virtual void emit(KernelWriter &writer) const = 0;
  /// True where one kernel may do several launches: shared memory is no more
  /// than a few words.
  virtual bool canJoin() const { return false; }
  /// For a family that cuts sums into parts and leaves those in scratch memory:
  /// the one that adds them up, launched after it; null for others.
  virtual const KernelFamily *getSummation() const { return nullptr; }
  /// Host code for the number of parts, and for the elements of one part of all
  /// sums.
  virtual SplitSizes emitSplit(const KernelAnalysis &,
                               const HostSizes &) const {
    return {};
  }
  /// Host code for the number of blocks; 0 where there is nothing to do.
  virtual mlir::Value emitBlocks(const KernelAnalysis &kernel,
                                 const HostSizes &host) const = 0;
};

/// The family that writes a kernel; every kernel has one.
const KernelFamily &selectFamily(const KernelAnalysis &kernel);

/// Products on tensor cores; with sums cut into parts where `isSplit`.
const KernelFamily &getTensorCoreFamily(bool isSplit);
/// Products of a tile through shared memory.
const KernelFamily &getContractionFamily(bool isSplit);
/// Softmax between two products, without the matrix between them.
const KernelFamily &getAttentionFamily();
/// Combines the parts of results: a thread for each, or a warp for each.
const KernelFamily &getSummationFamily();
const KernelFamily &getWarpSummationFamily();
/// A thread for each result of an op that reduces by a body of its own.
const KernelFamily &getFoldFamily();
/// The first of the updates of a place makes them all.
const KernelFamily &getScatterFamily();
/// Several blocks for each row, or for 32 columns, that are reduced.
const KernelFamily &getSplitRowFamily();
const KernelFamily &getColumnFamily();
/// A warp or block for each row that is reduced.
const KernelFamily &getRowFamily();
/// Results whose lines in memory are not those of what they are made of.
const KernelFamily &getTransposeFamily();
/// A thread for each result.
const KernelFamily &getPointFamily();

/// Most blocks that one launch uses; larger spaces are run over in strides.
constexpr int64_t kMaxBlocks = 1 << 16;

/// The parallel dimensions in the order in which results lie in memory.
llvm::SmallVector<unsigned> getResultOrder(const KernelAnalysis &kernel);

/// A family whose threads each compute whole results, one after the other.
class ResultFamily : public KernelFamily {
public:
  explicit ResultFamily(int64_t threads) : threads(threads) {}

  int64_t getThreads(const KernelAnalysis &) const override { return threads; }
  bool canJoin() const override { return true; }
  mlir::Value emitBlocks(const KernelAnalysis &kernel,
                         const HostSizes &host) const override;
  void emit(KernelWriter &w) const override;

private:
  /// Computes and stores the results at `point`, whose reduction dimensions
  /// are open.
  virtual void emitResult(KernelWriter &w, Point &point) const = 0;

  int64_t threads;
};

} // namespace onnx_aot::gpu_kernel

#endif // ONNX_AOT_CODEGEN_GPU_KERNELFAMILY_H

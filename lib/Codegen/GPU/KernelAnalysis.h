//===- KernelAnalysis.h - what a device kernel has to compute ---*- C++ -*-===//
//
// The tensor body of a launched kernel: its ops, their common dimensions, and
// where each dimension's size can be read, on the host and on the device.
//
//===----------------------------------------------------------------------===//

#ifndef ONNX_AOT_CODEGEN_GPU_KERNELANALYSIS_H
#define ONNX_AOT_CODEGEN_GPU_KERNELANALYSIS_H

#include "ScatterLoops.h"

#include "onnx-aot/Codegen/Common/KernelDomain.h"
#include "onnx-aot/Codegen/Common/StructuredOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace onnx_aot::gpu_kernel {

/// Where the size of a dimension comes from.
struct SizeSource {
  int64_t constant = mlir::ShapedType::kDynamic;
  /// A kernel argument: axis `axis` of a buffer, or a scalar (axis -1).
  unsigned argument = 0;
  int64_t axis = -1;
  bool isConstant() const { return !mlir::ShapedType::isDynamic(constant); }
};

/// A kernel's body, for the generators.
class KernelAnalysis {
public:
  /// `types` are those of the launch's operands: buffers and scalars.
  KernelAnalysis(mlir::func::FuncOp kernel, llvm::ArrayRef<mlir::Type> types,
                 unsigned architecture, bool allowsTf32)
      : kernel(kernel), types(types), architecture(architecture),
        tf32(allowsTf32) {}

  /// Fails when the kernel cannot run on the device; then `getReason` says why.
  llvm::LogicalResult analyze();
  llvm::StringRef getReason() const { return reason; }

  /// One op that reduces by a body of its own, with any number of results.
  bool isFold() const { return fold; }

  /// Stages that run on a few rows at a time: attention.
  bool isChain() const { return chain; }

  /// Loops that update computed places, instead of ops on tensors.
  const std::optional<ScatterLoops> &getScatter() const { return scatter; }

  /// The lowest architecture that must run the kernel: 80 for sm_80.
  unsigned getArchitecture() const { return architecture; }
  /// Products of f32 may round their operands to TF32.
  bool allowsTf32() const { return tf32; }

  mlir::func::FuncOp getKernel() const { return kernel; }
  llvm::ArrayRef<mlir::Type> getTypes() const { return types; }
  llvm::ArrayRef<mlir::linalg::GenericOp> getOps() const { return ops; }
  const codegen::KernelDomain &getDomain() const { return *domain; }
  const SizeSource &getSize(unsigned dim) const { return sizes[dim]; }
  /// The op whose result a tensor is; null for arguments.
  mlir::linalg::GenericOp getProducer(mlir::Value tensor) const {
    return producers.lookup(tensor);
  }
  /// Outputs are the last arguments.
  unsigned getFirstOutput() const;
  /// Product of the constant sizes of dimensions; nothing where one is dynamic.
  std::optional<int64_t> getStaticProduct(llvm::ArrayRef<unsigned> dims) const;

private:
  llvm::LogicalResult fail(const llvm::Twine &why) {
    reason = why.str();
    return llvm::failure();
  }
  llvm::LogicalResult checkTypes();
  llvm::LogicalResult checkBody(mlir::linalg::GenericOp op);
  llvm::LogicalResult findSize(unsigned dim);
  llvm::LogicalResult analyzeScatter(mlir::scf::ForOp loop);

  mlir::func::FuncOp kernel;
  llvm::SmallVector<mlir::Type> types;
  unsigned architecture;
  bool tf32;
  std::string reason;
  bool fold = false, chain = false;
  std::optional<ScatterLoops> scatter;
  llvm::SmallVector<mlir::linalg::GenericOp> ops;
  std::optional<codegen::KernelDomain> domain;
  llvm::SmallVector<SizeSource> sizes;
  llvm::DenseMap<mlir::Value, mlir::linalg::GenericOp> producers;
};

/// Element types that kernels load, store and compute with.
bool isDeviceType(mlir::Type type);

/// An op whose results each thread can compute alone, from initial scalars on:
/// every result has a place of its own for each point of the parallel loops.
bool isFoldable(mlir::linalg::GenericOp op);

/// Operations that have code on the device without a library.
bool isDeviceOp(mlir::Operation *op);

} // namespace onnx_aot::gpu_kernel

#endif // ONNX_AOT_CODEGEN_GPU_KERNELANALYSIS_H

//===- Attention.h - softmax between two products ---------------*- C++ -*-===//

#ifndef ONNX_AOT_CODEGEN_GPU_ATTENTION_H
#define ONNX_AOT_CODEGEN_GPU_ATTENTION_H

#include "Product.h"

namespace onnx_aot::gpu_kernel {

/// The stages of a kernel as softmax(f(queries * keys)) * values. The softmax
/// is done online: of the keys of before only their maximum, the sum of their
/// exponentials and the sums of their values are kept, and scaled where a later
/// key has a larger score.
struct Attention {
  Product scores, values; ///< the rows of `values` are the softmax
  unsigned row, key;      ///< dimensions of the matrix between the products
  /// Makes f of the scores; the parts of the softmax.
  mlir::linalg::GenericOp scored, maximum, exponential, sum, weights;
  /// Where the exponentials add up to 0 so do the results; else they are NaN.
  bool isZeroWithoutKeys = false;
};

/// Nothing where the stages are something else, or too small for tiles.
std::optional<Attention>
findAttention(llvm::ArrayRef<llvm::SmallVector<mlir::linalg::GenericOp>> stages,
              const codegen::KernelDomain &domain);

/// True for stages that can be one kernel, also before they are in a function.
bool isAttention(
    llvm::ArrayRef<llvm::SmallVector<mlir::linalg::GenericOp>> stages);

} // namespace onnx_aot::gpu_kernel

#endif // ONNX_AOT_CODEGEN_GPU_ATTENTION_H

//===- ConvolutionLowering.h - convolutions as contractions -----*- C++ -*-===//

#ifndef ONNX_AOT_CONVERSION_ONNXTOLINALG_CONVOLUTIONLOWERING_H
#define ONNX_AOT_CONVERSION_ONNXTOLINALG_CONVOLUTIONLOWERING_H

#include "LoweringBase.h"
#include "onnx-aot/Dialect/Onnx/IR/Window.h"

namespace onnx_aot {

/// A convolution without bias on memory values.
struct Convolution {
  mlir::Value x, w;
  bool xUnsigned = false, wUnsigned = false;
  bool channelsLast = false;
  int64_t group = 1;
  onnx::Window window;
};

/// The contraction of a convolution whose x is padded; `counts` are the spatial
/// output sizes.
mlir::Value createConvolution(mlir::OpBuilder &builder, mlir::Location loc,
                              const Convolution &conv,
                              llvm::ArrayRef<mlir::OpFoldResult> counts,
                              mlir::Type accumulator);

/// How a transposed convolution reads one spatial dimension of its operand: the
/// elements lie `stride` apart in a tensor of zeros of `size`, the first one at
/// `first`, from which `count` results are computed.
struct Spread {
  mlir::OpFoldResult count, size, first;
  int64_t stride;
};

/// The adjoint of a convolution without padding: `conv.x` spread and convolved
/// with the kernel turned round. `conv.w` is (channels of x, c / group,
/// kernel). `allFit` says that no element of x lies outside the spread tensor.
mlir::Value createTransposedConvolution(mlir::OpBuilder &builder,
                                        mlir::Location loc, Convolution conv,
                                        llvm::ArrayRef<Spread> spreads,
                                        bool allFit);

/// Every `step`-th place of a kernel from `first` on, `count` of them.
struct KernelPart {
  int64_t first, step, count;
};

/// (m, c / group, kernel) to (c, m / group, part of the kernel, reversed).
mlir::Value turnWeight(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Value w, int64_t group,
                       llvm::ArrayRef<KernelPart> parts);

/// The adjoint of a convolution with strides, whose window starts `padsLow`
/// before x, for x of these spatial sizes: results that lie a multiple of the
/// strides apart read the same places of the kernel, so each such set is a
/// convolution of stride 1 with a part of the kernel.
mlir::Value createPhasedConvolution(mlir::OpBuilder &builder,
                                    mlir::Location loc, Convolution conv,
                                    llvm::ArrayRef<int64_t> padsLow,
                                    llvm::ArrayRef<int64_t> sizes);

/// Lowerings of the adjoints of Conv.
void populateConvGradientPatterns(const LoweringContext &lowering,
                                  mlir::RewritePatternSet &patterns);

/// y + bias along dimension `channel`, narrowed to the element type.
mlir::Value addBias(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value y,
                    mlir::Value bias, int64_t channel, mlir::Type elementType);

/// Splits dimension `dim` into (group, size / group); where the run finds that
/// it does not divide, it ends with an error.
mlir::Value splitDim(mlir::OpBuilder &builder, mlir::Location loc,
                     mlir::Value tensor, int64_t dim, int64_t group);

/// Merges dimensions `dim` and `dim + 1`.
mlir::Value mergeDims(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value tensor, int64_t dim);

} // namespace onnx_aot

#endif // ONNX_AOT_CONVERSION_ONNXTOLINALG_CONVOLUTIONLOWERING_H

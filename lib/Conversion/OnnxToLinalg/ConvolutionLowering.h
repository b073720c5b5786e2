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

/// One remainder of the position in x modulo the stride, along one dimension:
/// element `stride * q + remainder` is met by windows q + first + j * dilation,
/// at the kernel's part, turned round, at j.
struct Phase {
  int64_t remainder, results;
  KernelPart part;
  int64_t dilation, first;

  /// The last window that is read, and one.
  int64_t getEnd() const {
    return results + first + (part.count - 1) * dilation;
  }
};

/// What adjoints of windows with strides have in common: x of these sizes,
/// whose windows, counted by `counts`, start `padsLow` before it.
struct PhasedWindows {
  onnx::Window window;
  onnx::ChannelLayout layout;
  llvm::SmallVector<int64_t> padsLow, spatial, counts;
  llvm::SmallVector<mlir::OpFoldResult> sizes; ///< of all dimensions of x
};

/// A tensor over the windows, and what lies around it.
struct WindowOperand {
  mlir::Value tensor, padding;
};

/// A tensor like x: elements that lie a multiple of the strides apart are met
/// by the same places of the kernel, and `compute` makes each such set from the
/// stretches of the operands that it reads. It gets a phase for each dimension.
mlir::Value createPhased(
    mlir::OpBuilder &builder, mlir::Location loc, const PhasedWindows &windows,
    llvm::ArrayRef<WindowOperand> operands, mlir::Type elementType,
    llvm::function_ref<mlir::Value(llvm::ArrayRef<Phase>, mlir::ValueRange)>
        compute);

/// The adjoint of a convolution with strides in x: for each phase a convolution
/// of stride 1 with a part of the kernel.
mlir::Value createPhasedConvolution(mlir::OpBuilder &builder,
                                    mlir::Location loc, Convolution conv,
                                    const PhasedWindows &windows);

/// Lowerings of the adjoints of Conv.
void populateConvGradientPatterns(const LoweringContext &lowering,
                                  mlir::RewritePatternSet &patterns);
/// The lowering of the adjoint of MaxPool.
void populatePoolGradientPatterns(const LoweringContext &lowering,
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

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

/// y + bias along dimension `channel`, narrowed to the element type.
mlir::Value addBias(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value y,
                    mlir::Value bias, int64_t channel, mlir::Type elementType);

/// Splits dimension `dim` into (group, size / group).
mlir::Value splitDim(mlir::OpBuilder &builder, mlir::Location loc,
                     mlir::Value tensor, int64_t dim, int64_t group);

/// Merges dimensions `dim` and `dim + 1`.
mlir::Value mergeDims(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value tensor, int64_t dim);

} // namespace onnx_aot

#endif // ONNX_AOT_CONVERSION_ONNXTOLINALG_CONVOLUTIONLOWERING_H

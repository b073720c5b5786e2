//===- WindowLowering.h - padding and indexing of windows -------*- C++ -*-===//

#ifndef ONNX_AOT_CONVERSION_ONNXTOLINALG_WINDOWLOWERING_H
#define ONNX_AOT_CONVERSION_ONNXTOLINALG_WINDOWLOWERING_H

#include "LoweringBase.h"
#include "onnx-aot/Dialect/Onnx/IR/Window.h"

namespace onnx_aot {

/// Padding at both ends of each spatial dimension.
struct WindowPads {
  llvm::SmallVector<mlir::OpFoldResult> low, high;
};

/// Number of windows in each spatial dimension, from the sizes of x.
llvm::SmallVector<mlir::OpFoldResult>
getWindowCounts(mlir::OpBuilder &builder, mlir::Location loc,
                const onnx::Window &window,
                llvm::ArrayRef<mlir::OpFoldResult> spatialSizes);

/// Padding that brings x to what the windows read; with ceil_mode that may be
/// more than the attribute says.
WindowPads getWindowPads(mlir::OpBuilder &builder, mlir::Location loc,
                         const onnx::Window &window,
                         llvm::ArrayRef<mlir::OpFoldResult> spatialSizes,
                         llvm::ArrayRef<mlir::OpFoldResult> counts);

/// x with padding round its spatial dimensions; x itself where there is none.
mlir::Value padSpatial(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Value x, int64_t firstSpatial,
                       const WindowPads &pads, mlir::Value padding);

/// output * stride + kernel * dilation: where a window reads its input.
mlir::AffineExpr getWindowExpr(const onnx::Window &window, int64_t i,
                               mlir::AffineExpr output,
                               mlir::AffineExpr kernel);

} // namespace onnx_aot

#endif // ONNX_AOT_CONVERSION_ONNXTOLINALG_WINDOWLOWERING_H

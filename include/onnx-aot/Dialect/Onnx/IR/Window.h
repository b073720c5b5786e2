//===- Window.h - geometry of convolution and pooling windows ---*- C++ -*-===//
//
// What Conv, ConvInteger and the pools have in common: kernel, strides,
// dilations and pads of each spatial dimension, with ONNX's defaults filled in
// and checked, and the output sizes that follow.
//
//===----------------------------------------------------------------------===//

#ifndef ONNX_AOT_DIALECT_ONNX_IR_WINDOW_H
#define ONNX_AOT_DIALECT_ONNX_IR_WINDOW_H

#include "onnx-aot/Dialect/Onnx/IR/Shape.h"

namespace onnx_aot::onnx {

/// How the pads of a window are chosen.
enum class AutoPad { NotSet, Valid, SameUpper, SameLower };

/// Attributes of a window op as the file gave them.
struct WindowAttrs {
  llvm::ArrayRef<int64_t> kernel;
  std::optional<llvm::ArrayRef<int64_t>> strides;
  std::optional<llvm::ArrayRef<int64_t>> dilations;
  std::optional<llvm::ArrayRef<int64_t>> pads;
  llvm::StringRef autoPad;
  bool ceilMode = false;
};

/// A sliding window over the spatial dimensions; all numbers are checked:
/// kernel, strides and dilations are positive, pads are not negative, none
/// exceeds 2^31.
struct Window {
  llvm::SmallVector<int64_t> kernel, strides, dilations, padsBegin, padsEnd;
  AutoPad autoPad = AutoPad::NotSet;
  bool ceilMode = false;

  int64_t getRank() const { return kernel.size(); }
  /// Input elements from the first to the last one that a window touches.
  int64_t getExtent(int64_t i) const {
    return (kernel[i] - 1) * dilations[i] + 1;
  }
  bool isSame() const {
    return autoPad == AutoPad::SameUpper || autoPad == AutoPad::SameLower;
  }
  /// Number of windows along spatial dimension i of this input size.
  Dim getOutputDim(int64_t i, Dim input) const;
};

/// Reads and checks the attributes; an error at `op` says what is wrong.
mlir::FailureOr<Window> getWindow(mlir::Operation *op,
                                  const WindowAttrs &attrs);

/// Output sizes for these spatial input sizes; an error where a window is known
/// not to fit.
mlir::FailureOr<Shape> getWindowOutput(mlir::Operation *op,
                                       const Window &window,
                                       llvm::ArrayRef<Dim> input);

/// The window of a Conv or ConvInteger, whose kernel may be given by the weight
/// alone. Fails with an error when its size is not known at compile time.
template <typename OpTy>
mlir::FailureOr<Window> getConvWindow(OpTy op, llvm::StringRef autoPad) {
  llvm::SmallVector<int64_t> kernel;
  auto weight = llvm::dyn_cast<mlir::RankedTensorType>(op.getW().getType());
  if (!weight || weight.getRank() < 3)
    return op.emitOpError("needs a weight of rank 3 or more, found ")
           << op.getW().getType();
  for (int64_t size : weight.getShape().drop_front(2))
    kernel.push_back(size);
  if (std::optional<llvm::ArrayRef<int64_t>> given = op.getKernelShape()) {
    if (given->size() != kernel.size())
      return op.emitOpError("kernel_shape has ")
             << given->size() << " entries, but the weight has "
             << kernel.size() << " spatial dimensions";
    for (auto [size, wanted] : llvm::zip_equal(kernel, *given)) {
      if (mlir::ShapedType::isDynamic(size))
        size = wanted;
      if (size != wanted)
        return op.emitOpError("kernel_shape says ")
               << wanted << " where the weight has size " << size;
    }
  }
  if (llvm::any_of(kernel, mlir::ShapedType::isDynamic))
    return op.emitOpError(
        "kernel size is not known at compile time (supported: "
        "a weight of static spatial size, or kernel_shape)");
  return getWindow(op, {kernel, op.getStrides(), op.getDilations(),
                        op.getPads(), autoPad, false});
}

/// The window of a pooling op.
template <typename OpTy>
mlir::FailureOr<Window> getPoolWindow(OpTy op) {
  return getWindow(op, {op.getKernelShape(), op.getStrides(), op.getDilations(),
                        op.getPads(), op.getAutoPad(), op.getCeilMode() != 0});
}

/// What ConvTranspose adds to a window: how much of the full result is cut off
/// at the beginning and how large the output is.
struct TransposedWindow {
  Window window;
  llvm::SmallVector<int64_t> outputPadding;
  /// Spatial output sizes where the file gives them.
  std::optional<llvm::SmallVector<int64_t>> outputShape;

  Dim getOutputDim(int64_t i, Dim input) const;
  /// Elements cut off at the beginning; may be negative.
  Dim getPadBegin(int64_t i, Dim input) const;
};

/// The window of a ConvTranspose; an error at the op says what is wrong.
mlir::FailureOr<TransposedWindow>
getTransposedWindow(mlir::Operation *op, const Window &window,
                    std::optional<llvm::ArrayRef<int64_t>> outputPadding,
                    std::optional<llvm::ArrayRef<int64_t>> outputShape);

/// Position of the channel dimension and of the first spatial one.
struct ChannelLayout {
  int64_t channel, spatial;
  ChannelLayout(bool channelsLast, int64_t rank)
      : channel(channelsLast ? rank - 1 : 1), spatial(channelsLast ? 1 : 2) {}
};

} // namespace onnx_aot::onnx

#endif // ONNX_AOT_DIALECT_ONNX_IR_WINDOW_H

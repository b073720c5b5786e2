//===- Sampling.h - geometry of Resize --------------------------*- C++ -*-===//

#ifndef ONNX_AOT_DIALECT_ONNX_IR_SAMPLING_H
#define ONNX_AOT_DIALECT_ONNX_IR_SAMPLING_H

#include "onnx-aot/Dialect/Onnx/IR/Onnx.h"

namespace onnx_aot::onnx {

/// The elements of a constant float tensor; nothing when not constant.
std::optional<llvm::SmallVector<double>> getConstantFloats(mlir::Value value);

/// What a Resize was given, checked.
struct ResizeSpec {
  enum class Mode { Nearest, Linear, Cubic };
  enum class Transform {
    HalfPixel,
    HalfPixelSymmetric,
    PytorchHalfPixel,
    AlignCorners,
    Asymmetric,
    TfCropAndResize
  };
  enum class Rounding { PreferFloor, PreferCeil, Floor, Ceil };
  enum class Policy { Stretch, NotLarger, NotSmaller };

  Mode mode;
  Transform transform;
  Rounding rounding;
  Policy policy;
  /// The axes that scales, sizes and roi speak of, in their order.
  llvm::SmallVector<int64_t> axes;
  /// The operands that count; null when absent or empty.
  mlir::Value scales, sizes, roi;
};

/// Reads and checks a Resize whose x has a known rank; an error at the op says
/// what is wrong.
mlir::FailureOr<ResizeSpec> getResizeSpec(ResizeOp op);

} // namespace onnx_aot::onnx

#endif // ONNX_AOT_DIALECT_ONNX_IR_SAMPLING_H

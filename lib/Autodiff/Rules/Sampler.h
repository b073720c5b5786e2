//===- Sampler.h - images read at fractional positions ----------*- C++ -*-===//

#ifndef ONNX_AOT_LIB_AUTODIFF_RULES_SAMPLER_H
#define ONNX_AOT_LIB_AUTODIFF_RULES_SAMPLER_H

#include "onnx-aot/Autodiff/GradientBuilder.h"

namespace onnx_aot {

/// How elements between and outside those of an image are made.
struct Sampling {
  enum class Mode { Nearest, Linear, Cubic } mode = Mode::Linear;
  enum class Padding { Zeros, Border, Reflection } padding = Padding::Zeros;
  /// Reflect about the centres of the border elements, not about their edges.
  bool alignCorners = false;
  /// The largest weighted element counts, not their sum.
  bool takesLargest = false;
};

/// x (n, c, spatial...) read at positions (n, p), one tensor of elements of x's
/// type for each spatial dimension: (n, c, p). Made of ops that have gradients
/// for x and the positions.
mlir::Value sampleImage(GradientBuilder &b, mlir::Value x,
                        llvm::ArrayRef<mlir::Value> positions,
                        const Sampling &sampling);

} // namespace onnx_aot

#endif // ONNX_AOT_LIB_AUTODIFF_RULES_SAMPLER_H

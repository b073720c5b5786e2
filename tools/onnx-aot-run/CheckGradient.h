//===- CheckGradient.h - a gradient against differences ---------*- C++ -*-===//
#ifndef ONNX_AOT_TOOLS_RUN_CHECKGRADIENT_H
#define ONNX_AOT_TOOLS_RUN_CHECKGRADIENT_H

#include "Npy.h"

#include <functional>

namespace onnx_aot::run {

/// What differences say of one parameter's gradient. Errors and bounds are
/// relative to what the gradient's norm lets one expect along a random
/// direction.
struct GradientCheck {
  enum Verdict {
    Right,
    Wrong,
    Unsure ///< the loss changes less than it is rounded
  } verdict = Right;
  double norm = 0; ///< of the gradient
  double error = 0;
  double bound = 0; ///< what the error may be
};

/// The bound where the loss is computed in this type, or nothing for a type
/// whose parameters are not checked.
std::optional<double> gradientBound(int32_t type);

/// Moves a parameter along random directions and compares the change of `loss`
/// with the gradient, which is that at the parameter's present value. The
/// parameter has its value again afterwards.
Expected<GradientCheck>
checkGradient(const OnnxAotTensor &parameter,
              const std::vector<double> &gradient, uint64_t seed,
              const std::function<Expected<double>()> &loss);

/// What --verify-gradients does: checks the gradients of all trained
/// parameters on one batch. The result is the exit status.
struct Options;
Expected<int> verifyGradients(const Options &options);

} // namespace onnx_aot::run

#endif // ONNX_AOT_TOOLS_RUN_CHECKGRADIENT_H

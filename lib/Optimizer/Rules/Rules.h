//===- Rules.h - the optimizers ---------------------------------*- C++ -*-===//

#ifndef ONNX_AOT_LIB_OPTIMIZER_RULES_RULES_H
#define ONNX_AOT_LIB_OPTIMIZER_RULES_RULES_H

#include "onnx-aot/Optimizer/OptimizerRule.h"

#include <limits>

namespace onnx_aot {

/// No upper bound.
constexpr double kAnyNumber = std::numeric_limits<double>::infinity();
/// What is below 1, as decay rates of averages must be.
constexpr double kBelowOne = 1 - 0x1p-53;

std::unique_ptr<OptimizerRule> createAdagrad(Spec &spec);
std::unique_ptr<OptimizerRule> createAdam(Spec &spec);
std::unique_ptr<OptimizerRule> createAdamW(Spec &spec);
std::unique_ptr<OptimizerRule> createLamb(Spec &spec);
std::unique_ptr<OptimizerRule> createLion(Spec &spec);
std::unique_ptr<OptimizerRule> createRmsProp(Spec &spec);
std::unique_ptr<OptimizerRule> createSgd(Spec &spec);

} // namespace onnx_aot

#endif // ONNX_AOT_LIB_OPTIMIZER_RULES_RULES_H

//===- Rules.h - what every file of gradient rules uses ---------*- C++ -*-===//

#ifndef ONNX_AOT_LIB_AUTODIFF_RULES_RULES_H
#define ONNX_AOT_LIB_AUTODIFF_RULES_RULES_H

#include "onnx-aot/Autodiff/GradientRule.h"
#include "onnx-aot/Dialect/Train/IR/Train.h"

namespace onnx_aot {

#define ONNX_AOT_GRADIENT_CATEGORY(NAME)                                       \
  void populate##NAME##GradientRules(mlir::MLIRContext *context);
#include "RuleCategories.def"

} // namespace onnx_aot

#endif // ONNX_AOT_LIB_AUTODIFF_RULES_RULES_H

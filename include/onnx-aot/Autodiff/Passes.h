//===- Passes.h - passes that differentiate ---------------------*- C++ -*-===//

#ifndef ONNX_AOT_AUTODIFF_PASSES_H
#define ONNX_AOT_AUTODIFF_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace onnx_aot {

#define GEN_PASS_DECL
#include "onnx-aot/Autodiff/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "onnx-aot/Autodiff/Passes.h.inc"

/// Attaches the gradient rules of all categories to the ops of the onnx and
/// train dialects.
void registerGradientRules(mlir::DialectRegistry &registry);

} // namespace onnx_aot

#endif // ONNX_AOT_AUTODIFF_PASSES_H

//===- Passes.h - passes from onnx to onnx ----------------------*- C++ -*-===//

#ifndef ONNX_AOT_TRANSFORMS_PASSES_H
#define ONNX_AOT_TRANSFORMS_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace onnx_aot {

#define GEN_PASS_DECL
#include "onnx-aot/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "onnx-aot/Transforms/Passes.h.inc"

} // namespace onnx_aot

#endif // ONNX_AOT_TRANSFORMS_PASSES_H

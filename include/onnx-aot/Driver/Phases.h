//===- Phases.h - the stretches of a compilation ----------------*- C++ -*-===//
#ifndef ONNX_AOT_DRIVER_PHASES_H
#define ONNX_AOT_DRIVER_PHASES_H

#include "llvm/ADT/StringRef.h"

#include <optional>

namespace onnx_aot {

/// What is done, in order. Each ends with a form that can be printed.
enum class Phase {
  Import,   ///< file -> onnx dialect, as the model has it
  Optimize, ///< onnx dialect with shapes, folded and fused
  Linalg,   ///< linalg on tensors
  Codegen,  ///< LLVM dialect, weights and the module's description
  LLVM,     ///< LLVM IR before its passes
  Device,   ///< kernels for a device, as text
  Object,   ///< the artifact
};

constexpr unsigned numPhases = 7;

/// "import", "optimize", ...
llvm::StringRef getPhaseName(Phase phase);

/// What a user is told that the phase does: "generating code".
llvm::StringRef getPhaseDescription(Phase phase);

} // namespace onnx_aot

#endif // ONNX_AOT_DRIVER_PHASES_H

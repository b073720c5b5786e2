//===- Finite.h - which state of a training is no number -------*- C++ -*-===//
#ifndef ONNX_AOT_TOOLS_RUN_FINITE_H
#define ONNX_AOT_TOOLS_RUN_FINITE_H

#include "onnx-aot/runtime/Checkpoint.h"

#include <set>
#include <string>

namespace onnx_aot::run {

/// Parameters and optimizer state that hold a NaN or an infinity, as a message
/// names them: "parameter 'w'", "exp_avg of parameter 'w'".
std::set<std::string> findNonFinite(const runtime::Checkpoint &state);

} // namespace onnx_aot::run

#endif // ONNX_AOT_TOOLS_RUN_FINITE_H

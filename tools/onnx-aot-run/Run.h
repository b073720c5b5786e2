//===- Run.h - what onnx-aot-run does --------------------------*- C++ -*-===//
#ifndef ONNX_AOT_TOOLS_RUN_RUN_H
#define ONNX_AOT_TOOLS_RUN_RUN_H

#include "Options.h"

namespace onnx_aot::run {

/// Loads, runs, compares, measures, prints. The result is the exit status; a
/// failed Status is an error still to be printed.
Expected<int> execute(const Options &options);

} // namespace onnx_aot::run

#endif // ONNX_AOT_TOOLS_RUN_RUN_H

//===- Options.h - the command line of onnx-aot-compile ---------*- C++ -*-===//
#ifndef ONNX_AOT_TOOLS_COMPILE_OPTIONS_H
#define ONNX_AOT_TOOLS_COMPILE_OPTIONS_H

#include "onnx-aot/Driver/CompilerInvocation.h"

namespace onnx_aot {

/// Reads the command line; after an error in it, prints the reason and exits
/// with status 1.
CompilerInvocation parseCommandLine(int argc, char **argv);

} // namespace onnx_aot

#endif // ONNX_AOT_TOOLS_COMPILE_OPTIONS_H

//===- Report.h - what was done, for machines -------------------*- C++ -*-===//
#ifndef ONNX_AOT_LIB_DRIVER_REPORT_H
#define ONNX_AOT_LIB_DRIVER_REPORT_H

#include "Compilation.h"

namespace onnx_aot {

/// Prints the invocation's report: times, sizes, kernels.
void printReport(const CompilerInvocation &invocation,
                 const Compilation &compilation, const Progress &progress,
                 const ArtifactReport &artifact, llvm::raw_ostream &os);

} // namespace onnx_aot

#endif // ONNX_AOT_LIB_DRIVER_REPORT_H

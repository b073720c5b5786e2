//===- Report.h - what was done, for machines --------------------*- C++
//-*-===//
#ifndef ONNX_AOT_LIB_DRIVER_REPORT_H
#define ONNX_AOT_LIB_DRIVER_REPORT_H

#include "Compilation.h"

namespace onnx_aot {

/// Writes the invocation's report file: times, sizes, kernels.
void writeReport(const CompilerInvocation &invocation,
                 const Compilation &compilation, const Progress &progress,
                 ProblemCollector &problems);

} // namespace onnx_aot

#endif // ONNX_AOT_LIB_DRIVER_REPORT_H

//===- CheckFiles.h - what an invocation reads and writes -------*- C++ -*-===//
#ifndef ONNX_AOT_LIB_DRIVER_CHECKFILES_H
#define ONNX_AOT_LIB_DRIVER_CHECKFILES_H

#include "Problems.h"

#include "onnx-aot/Driver/CompilerInvocation.h"

namespace onnx_aot {

/// Before any work: the files to read are there, those to write can be written,
/// and none of these is a file that is read, or the same as another.
void checkFiles(const CompilerInvocation &invocation,
                ProblemCollector &problems);

/// The paths of every file that the invocation may write.
llvm::SmallVector<std::string>
listOutputPaths(const CompilerInvocation &invocation);

} // namespace onnx_aot

#endif // ONNX_AOT_LIB_DRIVER_CHECKFILES_H

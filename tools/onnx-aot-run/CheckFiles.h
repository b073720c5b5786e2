//===- CheckFiles.h - what a run reads and writes --------------*- C++ -*-===//
#ifndef ONNX_AOT_TOOLS_RUN_CHECKFILES_H
#define ONNX_AOT_TOOLS_RUN_CHECKFILES_H

#include "Npy.h"
#include "Options.h"

namespace onnx_aot::run {

/// Before any work: what training reads is there, what is written has a folder
/// to go to, and none of it takes the place of a file that is read or of
/// another that is written, by whatever name. A --save may replace its own
/// --checkpoint.
Status checkFiles(const Options &options);

} // namespace onnx_aot::run

#endif // ONNX_AOT_TOOLS_RUN_CHECKFILES_H

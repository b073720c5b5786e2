//===- Export.h - a trained model as a file --------------------*- C++ -*-===//
#ifndef ONNX_AOT_TOOLS_RUN_EXPORT_H
#define ONNX_AOT_TOOLS_RUN_EXPORT_H

#include "Npy.h"
#include "Options.h"

#include "onnx-aot/runtime/Trainer.h"

namespace onnx_aot::run {

/// Checks what can be checked before a training: the file's name, and that
/// there is a model to fill in.
Status checkExport(const runtime::TrainingModule &module,
                   const std::string &path, const std::string &source);

/// Writes the trained model: an ONNX file, or with .so, .o or .a a module for
/// inference, which the onnx-aot-compile beside this program, or else in PATH,
/// makes of one. `source` is the ONNX file that was compiled; empty if the
/// module keeps it.
Status exportTrained(runtime::Trainer &trainer, const std::string &path,
                     const std::string &source);

/// --export without --train: the parameters come from --checkpoint, or from the
/// file beside the module. The result is the exit status.
Expected<int> exportCheckpoint(const Options &options);

/// The checkpoint that the compiler wrote beside a module.
std::string initialCheckpoint(const std::string &module);

} // namespace onnx_aot::run

#endif // ONNX_AOT_TOOLS_RUN_EXPORT_H

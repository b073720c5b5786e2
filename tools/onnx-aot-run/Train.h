//===- Train.h - trains a module on a file of samples ----------*- C++ -*-===//
#ifndef ONNX_AOT_TOOLS_RUN_TRAIN_H
#define ONNX_AOT_TOOLS_RUN_TRAIN_H

#include "Options.h"

namespace onnx_aot::run {

/// Does what --train and its options say; the result is the exit status.
Expected<int> train(const Options &options);

} // namespace onnx_aot::run

#endif // ONNX_AOT_TOOLS_RUN_TRAIN_H

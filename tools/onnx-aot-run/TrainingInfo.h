//===- TrainingInfo.h - what a training module says of itself --*- C++ -*-===//
#ifndef ONNX_AOT_TOOLS_RUN_TRAININGINFO_H
#define ONNX_AOT_TOOLS_RUN_TRAININGINFO_H

#include "Report.h"

#include "onnx-aot/runtime/TrainingModule.h"

namespace onnx_aot::run {

/// Loss, optimizer, inputs, parameters, programs and memory of a training
/// module.
Json trainingInfo(const runtime::TrainingModule &module);
std::string trainingInfoText(const Json &info);

} // namespace onnx_aot::run

#endif // ONNX_AOT_TOOLS_RUN_TRAININGINFO_H

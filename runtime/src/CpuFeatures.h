//===- CpuFeatures.h - what this processor has -----------------*- C++ -*-===//
#ifndef ONNX_AOT_RUNTIME_SRC_CPUFEATURES_H
#define ONNX_AOT_RUNTIME_SRC_CPUFEATURES_H

#include <string>

namespace onnx_aot::runtime {

/// Of the comma-separated features (abi/CpuFeatures.def) those that this
/// processor lacks, or that this runtime does not know; empty when there are
/// none.
std::string missingFeatures(const std::string &features);

/// The part of a descriptor's `target` (triple, cpu, features) that names the
/// features; empty when it has none.
std::string targetFeatures(const char *target);

} // namespace onnx_aot::runtime

#endif // ONNX_AOT_RUNTIME_SRC_CPUFEATURES_H

//===- CheckElf.h - a file before it is loaded -----------------*- C++ -*-===//
#ifndef ONNX_AOT_RUNTIME_SRC_CHECKELF_H
#define ONNX_AOT_RUNTIME_SRC_CHECKELF_H

#include "onnx-aot/runtime/Status.h"

#include <string>

namespace onnx_aot::runtime {

/// Refuses a shared object that the loader would map beyond the end of its
/// file, where the first access kills the program, and one for another
/// processor. All else is left to the loader to refuse.
Status checkElf(const std::string &path);

} // namespace onnx_aot::runtime

#endif // ONNX_AOT_RUNTIME_SRC_CHECKELF_H

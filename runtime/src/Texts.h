//===- Texts.h - functions on strings --------------------------*- C++ -*-===//
#ifndef ONNX_AOT_RUNTIME_SRC_TEXTS_H
#define ONNX_AOT_RUNTIME_SRC_TEXTS_H

#include "onnx-aot/abi/CustomOp.h"
#include "onnx-aot/runtime/Status.h"

#include <deque>
#include <string>

namespace onnx_aot::runtime {

/// The strings that a run makes.
class TextMemory {
public:
  /// Keeps a string; the answer refers to it until `clear`.
  OnnxAotString keep(std::string text) {
    const std::string &kept = texts.emplace_back(std::move(text));
    return {kept.data(), kept.size()};
  }
  void clear() { texts.clear(); }

private:
  /// Never moves what it holds.
  std::deque<std::string> texts;
};

/// Computes an OnnxAotTextFunction, new strings in `memory`.
Status computeText(int32_t function, const OnnxAotOpCall &call,
                   TextMemory &memory);

} // namespace onnx_aot::runtime

#endif // ONNX_AOT_RUNTIME_SRC_TEXTS_H

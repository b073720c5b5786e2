//===- Text.h - pieces of error messages -----------------------*- C++ -*-===//
#ifndef ONNX_AOT_RUNTIME_SRC_TEXT_H
#define ONNX_AOT_RUNTIME_SRC_TEXT_H

#include "onnx-aot/runtime/Status.h"

#include <cstdint>
#include <string>
#include <type_traits>

namespace onnx_aot::runtime {

/// One part of a message, for `concat`.
inline void append(std::string &out, const std::string &text) { out += text; }
inline void append(std::string &out, const char *text) { out += text; }
template <typename T, std::enable_if_t<std::is_integral_v<T>, int> = 0>
void append(std::string &out, T number) {
  out += std::to_string(number);
}

/// The parts one after the other; integers in decimal (never localised).
template <typename... Parts>
std::string concat(const Parts &...parts) {
  std::string out;
  (append(out, parts), ...);
  return out;
}

/// A name from a model in quotes: control characters replaced, long ones cut.
std::string quoted(const char *name);
inline std::string quoted(const std::string &name) {
  return quoted(name.c_str());
}

/// Dimensions as in "[1, 3, N, 224]"; symbolic ones by the module's name.
std::string shapeText(const OnnxAotModule &module,
                      const OnnxAotValueInfo &info);

/// Dimensions as in "[1, 3, 5]".
std::string shapeText(const int64_t *dims, int32_t rank);

template <typename... Parts>
Status invalidArgument(const Parts &...parts) {
  return Status(ONNX_AOT_INVALID_ARGUMENT, concat(parts...));
}
template <typename... Parts>
Status invalidModule(const Parts &...parts) {
  return Status(ONNX_AOT_INVALID_MODULE, concat(parts...));
}
/// A failure of the system: ends with the text of `error` (an errno value).
Status systemError(const std::string &what, int error);

} // namespace onnx_aot::runtime

#endif // ONNX_AOT_RUNTIME_SRC_TEXT_H

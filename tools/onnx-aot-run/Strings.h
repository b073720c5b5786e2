//===- Strings.h - numpy's arrays of strings -------------------*- C++ -*-===//
//
// numpy stores strings as so many 32-bit code points each, filled up with
// zeros; models have UTF-8.
//
//===----------------------------------------------------------------------===//
#ifndef ONNX_AOT_TOOLS_RUN_STRINGS_H
#define ONNX_AOT_TOOLS_RUN_STRINGS_H

#include "Npy.h"

#include <string_view>

namespace onnx_aot::run {

/// UTF-8 of code points up to the first of the zeros that end them; nothing
/// where one is no code point.
std::optional<std::string> toUtf8(std::u32string_view points);

/// The code points of UTF-8; nothing for other bytes.
std::optional<std::u32string> fromUtf8(std::string_view text);

/// Elements of a tensor of strings.
std::string_view stringAt(const OnnxAotTensor &tensor, int64_t index);

/// The elements of a tensor of strings as numpy stores them, `width` code
/// points each. Fails where one is not UTF-8.
Expected<std::string> encodeStrings(const OnnxAotTensor &tensor,
                                    const std::string &what, uint64_t &width);

} // namespace onnx_aot::run

#endif // ONNX_AOT_TOOLS_RUN_STRINGS_H

//===- Safetensors.h - headers of safetensors files ------------*- C++ -*-===//
//
// The file is a 64-bit length, a JSON header of that length, and the tensors'
// bytes one after the other. Files are not trusted: every size and offset is
// checked before it is used.
//
//===----------------------------------------------------------------------===//
#ifndef ONNX_AOT_RUNTIME_SRC_SAFETENSORS_H
#define ONNX_AOT_RUNTIME_SRC_SAFETENSORS_H

#include "onnx-aot/runtime/Status.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace onnx_aot::runtime {

/// One tensor as a header describes it.
struct SafetensorsEntry {
  std::string name;
  int32_t type = 0; ///< OnnxAotType
  std::vector<int64_t> dims;
  uint64_t begin = 0, end = 0; ///< relative to the first tensor's byte
};

/// A header. When read, the entries are sorted by place, without gaps.
struct SafetensorsHeader {
  std::vector<SafetensorsEntry> tensors;
  std::map<std::string, std::string> metadata;
  uint64_t dataBegin = 0; ///< place of the first tensor's byte in the file
};

/// Highest size of a header, that of the format's reference implementation.
constexpr uint64_t maxSafetensorsHeader = 100'000'000;

/// Reads and checks the header of a whole file in memory. `what` is how
/// messages call it.
Expected<SafetensorsHeader> readSafetensors(const void *data, uint64_t bytes,
                                            const std::string &what);

/// Whether JSON can hold a text: all that files keep in a header is UTF-8.
bool isUtf8(const std::string &text);

/// Places the tensors (the strictest alignment first, else in their order) and
/// returns length and header; sets `begin`, `end` and `dataBegin`. The first
/// tensor's byte is at a multiple of ONNX_AOT_ALIGNMENT.
Expected<std::string> writeSafetensorsHeader(SafetensorsHeader &header);

} // namespace onnx_aot::runtime

#endif // ONNX_AOT_RUNTIME_SRC_SAFETENSORS_H

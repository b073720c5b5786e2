//===- CheckpointText.h - values of a checkpoint as text -------*- C++ -*-===//
//
// What a checkpoint holds apart from tensors is text in the header's metadata:
// numbers in decimal, floats in the shortest form that reads back the same.
//
//===----------------------------------------------------------------------===//
#ifndef ONNX_AOT_RUNTIME_SRC_CHECKPOINTTEXT_H
#define ONNX_AOT_RUNTIME_SRC_CHECKPOINTTEXT_H

#include "onnx-aot/runtime/Checkpoint.h"

#include <charconv>

namespace onnx_aot::runtime {

/// Text that `parseNumber` turns into the same number.
template <typename T>
std::string numberText(T value) {
  char text[64];
  return std::string(text, std::to_chars(text, text + sizeof(text), value).ptr);
}

/// The number that all of `text` is; false if it is none of this type.
template <typename T>
bool parseNumber(const std::string &text, T &value) {
  const char *end = text.data() + text.size();
  auto [stopped, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stopped == end;
}

/// Metadata that describes everything but the tensors with data.
std::map<std::string, std::string> writeMetadata(const Checkpoint &checkpoint);

/// The opposite. `what` is how messages call the file.
Status readMetadata(const std::map<std::string, std::string> &metadata,
                    Checkpoint &checkpoint, const std::string &what);

/// True if a key of the metadata is ours.
bool isOwnKey(const std::string &key);

/// Reads a checkpoint of ONNX Runtime Training; OrtCheckpoint.cpp.
Expected<Checkpoint> readOrtCheckpoint(const void *data, uint64_t bytes,
                                       const std::string &what);
bool isOrtCheckpoint(const void *data, uint64_t bytes);

} // namespace onnx_aot::runtime

#endif // ONNX_AOT_RUNTIME_SRC_CHECKPOINTTEXT_H

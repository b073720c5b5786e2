//===- WeightsFile.h - weights outside the module --------------*- C++ -*-===//
#ifndef ONNX_AOT_RUNTIME_SRC_WEIGHTSFILE_H
#define ONNX_AOT_RUNTIME_SRC_WEIGHTSFILE_H

#include "onnx-aot/runtime/Status.h"

#include <string>

namespace onnx_aot::runtime {

/// A weights file mapped read-only; unmaps it at the end.
class WeightsFile {
public:
  /// Maps the file `module` names from `folder`. Refuses what leaves the folder
  /// (a path, a link), is no regular file, or has another size or hash.
  static Expected<WeightsFile> open(const OnnxAotModule &module,
                                    const std::string &folder);

  const void *data() const { return address; }

  WeightsFile(WeightsFile &&other) noexcept
      : address(other.address), bytes(other.bytes) {
    other.address = nullptr;
  }
  ~WeightsFile();

private:
  WeightsFile(void *address, uint64_t bytes) : address(address), bytes(bytes) {}
  void *address;
  uint64_t bytes;
};

} // namespace onnx_aot::runtime

#endif // ONNX_AOT_RUNTIME_SRC_WEIGHTSFILE_H

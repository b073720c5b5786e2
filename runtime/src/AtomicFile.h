//===- AtomicFile.h - files that appear when they are complete -*- C++ -*-===//
#ifndef ONNX_AOT_RUNTIME_SRC_ATOMICFILE_H
#define ONNX_AOT_RUNTIME_SRC_ATOMICFILE_H

#include "onnx-aot/runtime/Status.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace onnx_aot::runtime {

/// Bytes that somebody else owns.
struct Bytes {
  const void *data;
  uint64_t count;
};

/// Writes `parts` one after the other as the file `path`. Whatever happens,
/// under that name is what was there before or all of the new: the bytes go to
/// another file of the folder, reach the disk, and get the name then. A failure
/// leaves nothing behind; the message says so when the new file is in place
/// but may not outlive a power failure.
Status writeFileAtomically(const std::string &path,
                           const std::vector<Bytes> &parts);

/// A regular file mapped read-only, unmapped with the last holder. An empty
/// file has a valid address.
struct MappedFile {
  std::shared_ptr<const void> data;
  uint64_t bytes = 0;
  static Expected<MappedFile> open(const std::string &path,
                                   const std::string &what);
};

} // namespace onnx_aot::runtime

#endif // ONNX_AOT_RUNTIME_SRC_ATOMICFILE_H

//===- Staging.cpp - pinned memory that copies pass through ---------------===//
#include "Staging.h"

#include <algorithm>

namespace onnx_aot::runtime {

namespace {

/// Larger copies go without: the driver cuts them up itself.
constexpr uint64_t kMaxCopy = uint64_t(16) << 20;
/// Pinned memory of one session.
constexpr uint64_t kMaxTotal = uint64_t(64) << 20;
constexpr uint64_t kChunk = uint64_t(1) << 20;
constexpr uint64_t kAlignment = 64;

} // namespace

Staging::~Staging() {
  for (Chunk &chunk : chunks)
    (void)driver.releaseHost(chunk.memory);
}

void *Staging::allocate(uint64_t bytes) {
  if (bytes > kMaxCopy)
    return nullptr;
  bytes = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  while (chunk < chunks.size() && bytes > chunks[chunk].bytes - used) {
    ++chunk;
    used = 0;
  }
  if (chunk == chunks.size()) {
    uint64_t size = std::max(bytes, kChunk);
    void *memory = nullptr;
    if (total + size > kMaxTotal ||
        driver.allocateHost(&memory, size, CUDA_HOST_PORTABLE))
      return nullptr;
    chunks.push_back({static_cast<char *>(memory), size});
    total += size;
  }
  char *place = chunks[chunk].memory + used;
  used += bytes;
  return place;
}

void Staging::reset() {
  chunk = 0;
  used = 0;
}

} // namespace onnx_aot::runtime

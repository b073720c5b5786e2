//===- Memory.h - aligned memory -------------------------------*- C++ -*-===//
#ifndef ONNX_AOT_RUNTIME_SRC_MEMORY_H
#define ONNX_AOT_RUNTIME_SRC_MEMORY_H

#include <cstdint>

namespace onnx_aot::runtime {

/// Uninitialised memory aligned to ONNX_AOT_ALIGNMENT, or null.
void *allocateAligned(uint64_t bytes);
void freeAligned(void *memory);

/// An address for tensors without elements: aligned, never read or written.
void *emptyTensorAddress();

/// A block of aligned memory that only grows and keeps nothing when it does.
class GrowingBlock {
public:
  GrowingBlock() = default;
  GrowingBlock(const GrowingBlock &) = delete;
  GrowingBlock &operator=(const GrowingBlock &) = delete;
  GrowingBlock(GrowingBlock &&other) noexcept
      : memory(other.memory), capacity(other.capacity) {
    other.memory = nullptr;
    other.capacity = 0;
  }
  ~GrowingBlock() { freeAligned(memory); }

  /// Makes at least `bytes` available; false (and unchanged) without memory.
  bool reserve(uint64_t bytes);
  void *data() const { return memory; }
  uint64_t bytes() const { return capacity; }

private:
  void *memory = nullptr;
  uint64_t capacity = 0;
};

} // namespace onnx_aot::runtime

#endif // ONNX_AOT_RUNTIME_SRC_MEMORY_H

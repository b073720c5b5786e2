//===- Memory.cpp - aligned memory ----------------------------------------===//
#include "Memory.h"

#include "onnx-aot/abi/Abi.h"

#include <cstdlib>
#include <sys/mman.h>

namespace onnx_aot::runtime {

void *allocateAligned(uint64_t bytes) {
  // Large blocks start at a huge page, which saves most of the TLB misses.
  constexpr uint64_t hugePage = uint64_t(2) << 20;
  bool large = bytes >= 2 * hugePage;
  uint64_t alignment = large ? hugePage : ONNX_AOT_ALIGNMENT;
  if (bytes > uint64_t(INT64_MAX) - alignment)
    return nullptr;
  uint64_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void *memory = nullptr;
  if (posix_memalign(&memory, alignment, rounded ? rounded : alignment))
    return nullptr;
  if (large)
    madvise(memory, rounded, MADV_HUGEPAGE); // only advice: may fail
  return memory;
}

void freeAligned(void *memory) { std::free(memory); }

void *emptyTensorAddress() {
  alignas(ONNX_AOT_ALIGNMENT) static char nothing[ONNX_AOT_ALIGNMENT];
  return nothing;
}

bool GrowingBlock::reserve(uint64_t bytes) {
  if (bytes <= capacity)
    return true;
  void *larger = allocateAligned(bytes);
  if (!larger)
    return false;
  freeAligned(memory);
  memory = larger;
  capacity = bytes;
  return true;
}

} // namespace onnx_aot::runtime

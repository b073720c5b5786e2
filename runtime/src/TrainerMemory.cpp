//===- TrainerMemory.cpp - all state of a training ------------------------===//
#include "TrainerMemory.h"

#include "CheckCall.h"
#include "Types.h"

#include <cstring>
#include <sys/mman.h>

namespace onnx_aot::runtime {

namespace {

/// Hands out places one after the other; remembers an overflow.
class Layout {
public:
  uint64_t place(uint64_t bytes) {
    uint64_t at = next;
    uint64_t rounded = (bytes + ONNX_AOT_ALIGNMENT - 1) / ONNX_AOT_ALIGNMENT *
                       ONNX_AOT_ALIGNMENT;
    fits &= bytes <= limit && next <= limit - rounded;
    next += rounded;
    return at;
  }
  static constexpr uint64_t limit = uint64_t(1) << 62;
  uint64_t next = 0;
  bool fits = true;
};

uint64_t bytesOf(const OnnxAotParameterInfo &info) {
  return *tensorBytes(typeInfo(info.type)->bytes, info.dims, info.rank);
}

} // namespace

bool TrainerMemory::allocate(const LoadedTraining &loaded) {
  const OnnxAotTraining &training = loaded.descriptor;
  auto count = static_cast<size_t>(training.num_parameters);
  numSlots = static_cast<size_t>(training.num_slots);
  parameters.assign(count, none);
  gradients.assign(count, none);
  slots.assign(count * numSlots, none);
  Layout layout;
  // Element types come in the order of their numbers.
  auto forEachTrainable = [&](auto visit) {
    for (int32_t type = 1; typeInfo(type); ++type)
      for (size_t i = 0; i < count; ++i)
        if (training.parameters[i].kind == ONNX_AOT_PARAMETER_TRAINABLE &&
            training.parameters[i].type == type)
          visit(i, training.parameters[i]);
  };
  forEachTrainable([&](size_t i, const OnnxAotParameterInfo &info) {
    parameters[i] = layout.place(bytesOf(info));
  });
  for (size_t i = 0; i < count; ++i)
    if (parameters[i] == none)
      parameters[i] = layout.place(bytesOf(training.parameters[i]));
  slotsBegin = layout.next;
  for (size_t slot = 0; slot < numSlots; ++slot)
    for (size_t i = 0; i < count; ++i)
      if (const OnnxAotValueInfo *info = loaded.slots[i * numSlots + slot])
        slots[i * numSlots + slot] =
            layout.place(*plannedBytes(*info, info->dims));
  slotsEnd = layout.next;
  if (loaded.train)
    forEachTrainable([&](size_t i, const OnnxAotParameterInfo &info) {
      if (runs.empty() || runs.back().type != info.type)
        runs.push_back({layout.next, 0, info.type});
      gradients[i] = layout.place(bytesOf(info));
      runs.back().count =
          (layout.next - runs.back().place) / typeInfo(info.type)->bytes;
    });
  if (!layout.fits)
    return false;
  bytes = layout.next;
  // Fresh pages are zero and take no memory until they are touched.
  void *address = mmap(nullptr, bytes ? bytes : 1, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED)
    return false;
  base = static_cast<char *>(address);
  if (bytes >= uint64_t(4) << 20)
    madvise(address, bytes, MADV_HUGEPAGE); // only advice: may fail
  return true;
}

TrainerMemory::~TrainerMemory() {
  if (base)
    munmap(base, bytes ? bytes : 1);
}

void TrainerMemory::clearSlots() {
  std::memset(base + slotsBegin, 0, slotsEnd - slotsBegin);
}

} // namespace onnx_aot::runtime

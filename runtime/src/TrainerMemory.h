//===- TrainerMemory.h - all state of a training ---------------*- C++ -*-===//
#ifndef ONNX_AOT_RUNTIME_SRC_TRAINERMEMORY_H
#define ONNX_AOT_RUNTIME_SRC_TRAINERMEMORY_H

#include "LoadedTraining.h"
#include "Memory.h"

namespace onnx_aot::runtime {

/// One run of memory with all state: trainable parameters, the other ones,
/// optimizer state, gradients. Each tensor is aligned to ONNX_AOT_ALIGNMENT;
/// those of one element type lie together, with zeros in between. Everything is
/// zero at first; gradients that no program touches take no physical memory.
class TrainerMemory {
public:
  /// False without memory.
  bool allocate(const LoadedTraining &loaded);
  TrainerMemory() = default;
  TrainerMemory(const TrainerMemory &) = delete;
  TrainerMemory &operator=(const TrainerMemory &) = delete;
  ~TrainerMemory();

  char *parameter(int32_t index) const { return base + parameters[index]; }
  /// Null if the parameter has none.
  char *gradient(int32_t index) const {
    return gradients[index] == none ? nullptr : base + gradients[index];
  }
  char *slot(int32_t index, int32_t slot) const {
    uint64_t place = slots[size_t(index) * numSlots + size_t(slot)];
    return place == none ? nullptr : base + place;
  }

  /// The gradients of one element type.
  struct Run {
    uint64_t place, count;
    int32_t type;
  };
  const std::vector<Run> &gradientRuns() const { return runs; }
  char *at(uint64_t place) const { return base + place; }

  /// All optimizer state.
  void clearSlots();

  uintptr_t begin() const { return reinterpret_cast<uintptr_t>(base); }
  uintptr_t end() const { return begin() + bytes; }

private:
  static constexpr uint64_t none = UINT64_MAX;
  char *base = nullptr;
  uint64_t bytes = 0, slotsBegin = 0, slotsEnd = 0;
  size_t numSlots = 0;
  std::vector<uint64_t> parameters, gradients, slots;
  std::vector<Run> runs;
};

} // namespace onnx_aot::runtime

#endif // ONNX_AOT_RUNTIME_SRC_TRAINERMEMORY_H

//===- RunServices.h - what a running module may call ----------*- C++ -*-===//
#ifndef ONNX_AOT_RUNTIME_SRC_RUNSERVICES_H
#define ONNX_AOT_RUNTIME_SRC_RUNSERVICES_H

#include "Memory.h"
#include "Texts.h"
#include "ThreadPool.h"
#include "cuda/DeviceMemory.h"

#include <vector>

namespace onnx_aot::runtime {

/// Where an output goes, as one run goes along.
struct OutputSlot {
  void *data = nullptr;   ///< final address; null until it is known
  GrowingBlock *block;    ///< the session's memory, or null
  void *buffer = nullptr; ///< the caller's memory, or null
  uint64_t capacity = 0;  ///< bytes of `buffer`
  const int64_t *planned; ///< planned sizes
  bool dependsOnData = false;
  int32_t rank = 0;
  int64_t dims[ONNX_AOT_MAX_RANK];
};

/// The services of one run. Compiled code calls them from several threads, so
/// nothing here may throw.
class RunServices {
public:
  RunServices(const OnnxAotModule &module, ThreadPool *pool, int threads,
              std::vector<OutputSlot> &outputs, DeviceMemory *device,
              TextMemory *texts = nullptr)
      : module(module), pool(pool), threads(threads), outputs(outputs),
        device(device), texts(texts) {
    if (device)
      deviceTable = device->table();
  }
  /// Frees what the module left behind, as it may when it stops early.
  ~RunServices();

  OnnxAotRuntime table();

  /// Notes why a service of the device failed.
  void report(const Status &status) {
    report(status.code(), status.message().c_str());
  }

  /// What `code`, the module's answer, means.
  Status result(int32_t code);

private:
  struct Allocation;

  static void parallelFor(void *user, OnnxAotTask task, void *context,
                          int64_t count) noexcept;
  static void *allocate(void *user, uint64_t bytes) noexcept;
  static void release(void *user, void *memory) noexcept;
  static void *allocateOutput(void *user, int32_t index, int32_t rank,
                              const int64_t *dims) noexcept;
  static void fail(void *user, const char *message) noexcept;
  static int32_t text(void *user, int32_t function,
                      const OnnxAotOpCall *call) noexcept;

  void *place(int32_t index, int32_t rank, const int64_t *dims);
  void report(OnnxAotCode code, const char *message);

  const OnnxAotModule &module;
  ThreadPool *pool;
  int threads;
  std::vector<OutputSlot> &outputs;
  DeviceMemory *device; ///< null for modules without device code
  TextMemory *texts;    ///< for strings that the run makes; null for none
  OnnxAotDevice deviceTable = {};
  std::mutex mutex; ///< guards what follows
  Allocation *allocations = nullptr;
  OnnxAotCode code = ONNX_AOT_OK;
  char message[512] = "";
};

} // namespace onnx_aot::runtime

#endif // ONNX_AOT_RUNTIME_SRC_RUNSERVICES_H

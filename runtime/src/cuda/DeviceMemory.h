//===- DeviceMemory.h - the device's memory of a session -------*- C++ -*-===//
//
// Compiled code speaks of host addresses. Each piece of host memory that a run
// uses has a mirror on the device; copies are made when the side that accesses
// a byte has no valid copy of it.
//
//===----------------------------------------------------------------------===//
#ifndef ONNX_AOT_RUNTIME_SRC_CUDA_DEVICEMEMORY_H
#define ONNX_AOT_RUNTIME_SRC_CUDA_DEVICEMEMORY_H

#include "DeviceModule.h"
#include "ValidRanges.h"

#include <functional>

namespace onnx_aot::runtime {

/// One session's device: services one run at a time.
class DeviceMemory {
public:
  /// Receives the reason before a service fails.
  using Report = std::function<void(const Status &)>;

  static Expected<std::unique_ptr<DeviceMemory>>
  create(std::shared_ptr<const DeviceModule> module);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory &) = delete;
  DeviceMemory &operator=(const DeviceMemory &) = delete;

  /// Forgets what the last run knew and mirrors the weights.
  Status beginRun(const void *weights, uint64_t bytes, Report report);
  /// Mirrors host memory whose contents are valid, or are nothing yet.
  void add(const void *memory, uint64_t bytes, bool isValid);
  /// Forgets memory that goes away.
  void remove(const void *memory);
  /// Makes a result valid on the host.
  Status finishOutput(const void *memory, uint64_t bytes);

  /// Waits for the device: the caller's memory is the caller's again.
  Status finishRun();

  OnnxAotDevice table();
  /// Bytes of device memory that the session holds.
  uint64_t bytes() const;

private:
  /// A piece of host memory and its mirror, made when first used.
  struct Region {
    uint64_t begin, end;
    CudaPointer device = 0;
    bool isOwned = true; ///< the weights' mirror is the module's
  };
  /// Device memory that later runs use again.
  struct Block {
    CudaPointer memory;
    uint64_t bytes;
  };

  explicit DeviceMemory(std::shared_ptr<const DeviceModule> module)
      : module(std::move(module)), driver(this->module->driver) {}

  static int32_t launch(void *user, int32_t kernel, int64_t blocks,
                        const OnnxAotDeviceArgument *arguments,
                        int32_t numArguments) noexcept;
  static int32_t access(void *user, const void *address, uint64_t bytes,
                        uint64_t access) noexcept;
  static int32_t copy(void *user, void *to, const void *from,
                      uint64_t bytes) noexcept;

  Status launchKernel(int32_t kernel, int64_t blocks,
                      const OnnxAotDeviceArgument *arguments,
                      int32_t numArguments);
  Status copyRange(uint64_t to, uint64_t from, uint64_t bytes);
  Status accessOnHost(uint64_t address, uint64_t bytes, uint64_t access);
  Status accessOnDevice(uint64_t address, uint64_t bytes, uint64_t access,
                        CudaPointer &pointer);
  void markCopied(uint64_t address, uint64_t bytes, bool toDevice);
  Status find(uint64_t address, uint64_t bytes, Region *&region);
  Status allocate(Region &region);
  void recycle(Region &region);
  int32_t answer(const Status &status);

  std::shared_ptr<const DeviceModule> module;
  const CudaDriver &driver;
  CudaStream stream = nullptr;
  std::vector<Region> regions;
  std::vector<Block> unused;
  ValidRanges valid;
  Report report;
  // Scratch of a launch.
  std::vector<uint64_t> values;
  std::vector<void *> pointers;
};

} // namespace onnx_aot::runtime

#endif // ONNX_AOT_RUNTIME_SRC_CUDA_DEVICEMEMORY_H

//===- DeviceMemory.h - the device's memory of a session -------*- C++ -*-===//
//
// Compiled code speaks of host addresses. Each piece of host memory that a run
// uses has a mirror on the device; copies are made when the side that accesses
// a byte has no valid copy of it.
//
//===----------------------------------------------------------------------===//
#ifndef ONNX_AOT_RUNTIME_SRC_CUDA_DEVICEMEMORY_H
#define ONNX_AOT_RUNTIME_SRC_CUDA_DEVICEMEMORY_H

#include "CommandQueue.h"
#include "DeviceModule.h"
#include "ValidRanges.h"

#include <functional>
#include <map>

namespace onnx_aot::runtime {

/// The device of one session, or of all programs of one trainer: services one
/// run at a time.
class DeviceMemory {
public:
  /// Receives the reason before a service fails.
  using Report = std::function<void(const Status &)>;

  static Expected<std::unique_ptr<DeviceMemory>>
  create(const CudaDriver &driver, CudaStream stream);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory &) = delete;
  DeviceMemory &operator=(const DeviceMemory &) = delete;

  /// Forgets what the last run knew but for what is kept, and mirrors the
  /// weights of `module`, whose kernels are launched from now on.
  Status beginRun(std::shared_ptr<const DeviceModule> module,
                  const void *weights, uint64_t bytes, Report report);
  /// Mirrors host memory whose contents are valid, or are nothing yet. What is
  /// kept stays as it is; device memory is used in place.
  void add(const void *memory, uint64_t bytes, bool isValid);
  /// Forgets memory that goes away.
  void remove(const void *memory);
  /// Makes a result valid on the host, unless it is kept and was not lent.
  Status finishOutput(const void *memory, uint64_t bytes);

  /// Waits for the device, unless all of the run was on it and on the caller's
  /// stream: the caller's memory is the caller's again.
  Status finishRun();

  //===--- Memory that is kept from run to run ----------------------------===//

  /// Keeps a piece of state, valid on the host so far, on the device where runs
  /// leave it. Does nothing for what is kept already.
  void keep(const void *memory, uint64_t bytes);
  /// Between runs: makes all that is kept in a range valid on the host.
  Status fetch(const void *memory, uint64_t bytes);
  /// Between runs: the host has written all that is kept in a range.
  void noteWritten(const void *memory, uint64_t bytes);
  /// From now on the host may read and write a piece whenever no run is in
  /// progress: each run copies what it uses of it.
  void lend(const void *memory);

  OnnxAotDevice table();
  /// Bytes of device memory that the session holds.
  uint64_t bytes() const;

private:
  /// A piece of host memory and its mirror, made when first used.
  struct Region {
    uint64_t begin, end;
    CudaPointer device = 0;
    bool isOwned = true; ///< the weights' mirror is the module's
    bool isKept = false, isLent = false;
    bool isOnDevice = false; ///< the caller's device memory: no host has it
  };
  /// By the addresses that they begin at; they do not overlap.
  using Regions = std::map<uint64_t, Region>;
  /// Device memory that later runs use again.
  struct Block {
    CudaPointer memory = 0;
    uint64_t bytes = 0;
    unsigned runs = 0; ///< that have not used it
  };

  explicit DeviceMemory(const CudaDriver &driver)
      : driver(driver), queue(driver) {}

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
  /// The region that holds an address, or the next one.
  Regions::iterator findRegion(uint64_t address);
  Status find(uint64_t address, uint64_t bytes, Region *&region);
  Status allocate(Region &region);
  /// Device memory that launches use one after the other.
  Status reserveScratch(uint64_t bytes);
  /// Begins to copy what is valid on the device alone; it is there after
  /// synchronize().
  Status copyToHost(const Region &region, uint64_t address, uint64_t bytes);
  Status synchronize();
  void recycle(Region &region);
  void releaseIdle();
  int32_t answer(const Status &status);

  std::shared_ptr<const DeviceModule> module;
  const CudaDriver &driver;
  CommandQueue queue;
  bool usesHost = false;  ///< the run has read or written host memory
  bool isLanding = false; ///< copies to the host are on their way
  Regions regions;
  std::vector<Block> unused;
  Block scratch;
  ValidRanges valid;
  Report report;
  // Scratch of a launch.
  std::vector<uint64_t> values;
};

} // namespace onnx_aot::runtime

#endif // ONNX_AOT_RUNTIME_SRC_CUDA_DEVICEMEMORY_H

//===- DeviceRun.h - a run of a module with device code --------*- C++ -*-===//
#ifndef ONNX_AOT_RUNTIME_SRC_DEVICERUN_H
#define ONNX_AOT_RUNTIME_SRC_DEVICERUN_H

#include "LoadedModule.h"
#include "RunServices.h"

namespace onnx_aot::runtime {

/// Makes the device memory of whoever runs `module`, if there is none yet;
/// leaves `device` null for a module without device code.
/// `stream`: the caller's CUstream, or null.
Status openDevice(const LoadedModule &module,
                  std::unique_ptr<DeviceMemory> &device,
                  void *stream = nullptr);

/// What has to happen on the device before and after one run. Does nothing
/// where `device` is null.
struct DeviceRun {
  DeviceMemory *device;
  const LoadedModule &loaded;
  const OnnxAotTensor *inputs;
  const std::vector<OutputSlot> &slots;

  /// Tells the device of all memory that the run is given.
  Status begin(const void *arena, uint64_t arenaBytes, RunServices &services);
  /// Brings results and state to the host, and waits also after a failure;
  /// returns what went wrong first.
  Status finish(Status result);
};

} // namespace onnx_aot::runtime

#endif // ONNX_AOT_RUNTIME_SRC_DEVICERUN_H

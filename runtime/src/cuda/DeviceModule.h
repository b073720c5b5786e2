//===- DeviceModule.h - a module's kernels on the device -------*- C++ -*-===//
#ifndef ONNX_AOT_RUNTIME_SRC_CUDA_DEVICEMODULE_H
#define ONNX_AOT_RUNTIME_SRC_CUDA_DEVICEMODULE_H

#include "CudaDriver.h"

#include "onnx-aot/abi/Device.h"

#include <memory>
#include <vector>

namespace onnx_aot::runtime {

/// Kernels and weights on the device; sessions of one module share it.
class DeviceModule {
public:
  /// Chooses the image that fits the device best and loads it.
  static Expected<std::shared_ptr<const DeviceModule>>
  load(const OnnxAotModule &module, const void *weights);

  DeviceModule(const CudaDriver &driver) : driver(driver) {}
  DeviceModule(const DeviceModule &) = delete;
  DeviceModule &operator=(const DeviceModule &) = delete;
  ~DeviceModule();

  const CudaDriver &driver;
  CudaPointer weights = 0;
  /// By the kernels' numbers.
  std::vector<CudaFunction> kernels;
  std::vector<int32_t> threads;
  std::vector<const char *> names;

private:
  Status loadKernels(const OnnxAotDeviceCode &code);
  Status loadWeights(const void *bytes, uint64_t count);
  CudaModule handle = nullptr;
};

} // namespace onnx_aot::runtime

#endif // ONNX_AOT_RUNTIME_SRC_CUDA_DEVICEMODULE_H

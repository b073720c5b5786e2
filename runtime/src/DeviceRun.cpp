//===- DeviceRun.cpp - a run of a module with device code -----------------===//
#include "DeviceRun.h"

#include "CheckCall.h"

namespace onnx_aot::runtime {

Status openDevice(const LoadedModule &module,
                  std::unique_ptr<DeviceMemory> &device, void *stream) {
  if (device || !module.get().device_code)
    return Status();
  auto loaded = module.device();
  if (!loaded)
    return loaded.status();
  auto made =
      DeviceMemory::create((*loaded)->driver, static_cast<CudaStream>(stream));
  if (!made)
    return made.status();
  device = std::move(*made);
  return Status();
}

Status DeviceRun::begin(const void *arena, uint64_t arenaBytes,
                        RunServices &services) {
  if (!device)
    return Status();
  const OnnxAotModule &module = loaded.get();
  auto kernels = loaded.device();
  if (!kernels)
    return kernels.status();
  if (Status status = device->beginRun(
          *kernels, loaded.weights(), module.weight_bytes,
          [&](const Status &reason) { services.report(reason); });
      !status.ok())
    return status;
  device->add(arena, arenaBytes, /*isValid=*/false);
  for (int32_t i = 0; i < module.num_outputs; ++i)
    if (!slots[i].dependsOnData)
      device->add(slots[i].data,
                  plannedBytes(module.outputs[i], slots[i].dims).value_or(0),
                  /*isValid=*/false);
  for (int32_t i = 0; i < module.num_inputs; ++i)
    device->add(inputs[i].data,
                plannedBytes(module.inputs[i], inputs[i].dims).value_or(0),
                /*isValid=*/true);
  return Status();
}

Status DeviceRun::finish(Status result) {
  if (!device)
    return result;
  const OnnxAotModule &module = loaded.get();
  auto finish = [&](const void *data, std::optional<uint64_t> bytes) {
    if (data && result.ok())
      result = device->finishOutput(data, bytes.value_or(0));
  };
  for (int32_t i = 0; i < module.num_outputs; ++i)
    finish(slots[i].data, plannedBytes(module.outputs[i], slots[i].dims));
  for (int32_t i = 0; i < module.num_inputs; ++i)
    if (module.inputs[i].flags & ONNX_AOT_VALUE_IN_OUT)
      finish(inputs[i].data, plannedBytes(module.inputs[i], inputs[i].dims));
  Status finished = device->finishRun();
  return result.ok() ? finished : result;
}

} // namespace onnx_aot::runtime

//===- DeviceModule.cpp - a module's kernels on the device ----------------===//
#include "DeviceModule.h"

#include "../Text.h"

namespace onnx_aot::runtime {

namespace {

/// The exact machine code, else the newest PTX that the device can run. An
/// emulating driver has architecture 0 and takes what is made for it.
const OnnxAotDeviceImage *chooseImage(const OnnxAotDeviceCode &code,
                                      int architecture) {
  const OnnxAotDeviceImage *best = nullptr;
  for (int32_t i = 0; i < code.num_images; ++i) {
    const OnnxAotDeviceImage &image = code.images[i];
    if (image.kind == ONNX_AOT_IMAGE_EMULATOR && architecture == 0)
      return &image;
    if (image.kind == ONNX_AOT_IMAGE_CUBIN &&
        image.architecture == architecture)
      return &image;
    if (image.kind == ONNX_AOT_IMAGE_PTX &&
        image.architecture <= architecture &&
        (!best || image.architecture > best->architecture))
      best = &image;
  }
  return best;
}

std::string imageName(const OnnxAotDeviceImage &image) {
  if (image.kind == ONNX_AOT_IMAGE_EMULATOR)
    return "the emulator";
  return concat("sm_", image.architecture,
                image.kind == ONNX_AOT_IMAGE_PTX ? " and later" : "");
}

} // namespace

Expected<std::shared_ptr<const DeviceModule>>
DeviceModule::load(const OnnxAotModule &module, const void *weights) {
  Expected<const CudaDriver *> driver = CudaDriver::get();
  if (!driver)
    return driver.status();
  if (Status status = (*driver)->enter(); !status.ok())
    return status;
  auto loaded = std::make_shared<DeviceModule>(**driver);
  if (Status status = loaded->loadKernels(*module.device_code); !status.ok())
    return status;
  if (Status status = loaded->loadWeights(weights, module.weight_bytes);
      !status.ok())
    return status;
  return std::shared_ptr<const DeviceModule>(std::move(loaded));
}

Status DeviceModule::loadKernels(const OnnxAotDeviceCode &code) {
  if (!code.num_kernels)
    return Status();
  const OnnxAotDeviceImage *image = chooseImage(code, driver.architecture);
  if (!image) {
    std::string made;
    for (int32_t i = 0; i < code.num_images; ++i)
      made += (i ? ", " : "") + imageName(code.images[i]);
    std::string device = driver.architecture
                             ? concat("sm_", driver.architecture)
                             : std::string("the emulator");
    return Status(ONNX_AOT_NO_DEVICE, concat("the model was compiled for ",
                                             made, "; the device is ", device));
  }
  if (CudaResult result = driver.loadModule(&handle, image->data))
    return driver.failure("the kernels cannot be loaded", result);
  for (int32_t i = 0; i < code.num_kernels; ++i) {
    CudaFunction function = nullptr;
    if (CudaResult result =
            driver.getFunction(&function, handle, code.kernels[i].name))
      return driver.failure("a kernel cannot be found", result);
    kernels.push_back(function);
    threads.push_back(code.kernels[i].threads);
    names.push_back(code.kernels[i].name);
  }
  return Status();
}

Status DeviceModule::loadWeights(const void *bytes, uint64_t count) {
  if (!count)
    return Status();
  if (CudaResult result = driver.allocate(&weights, count))
    return driver.failure("no device memory for the weights", result);
  CudaResult result = driver.toDevice(weights, bytes, count, nullptr);
  if (!result)
    result = driver.synchronize(nullptr);
  if (result)
    return driver.failure("the weights cannot be copied", result);
  return Status();
}

DeviceModule::~DeviceModule() {
  if (!driver.enter().ok())
    return;
  if (weights)
    (void)driver.release(weights);
  if (handle)
    (void)driver.unloadModule(handle);
}

} // namespace onnx_aot::runtime

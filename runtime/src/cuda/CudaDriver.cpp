//===- CudaDriver.cpp - the CUDA driver, found at run time ----------------===//
#include "CudaDriver.h"

#include "../Text.h"

#include <cstdlib>
#include <dlfcn.h>
#include <type_traits>

namespace onnx_aot::runtime {

namespace {

Status noDevice(const std::string &why) {
  return Status(ONNX_AOT_NO_DEVICE, why);
}

} // namespace

Expected<const CudaDriver *> CudaDriver::get() {
  struct Result {
    CudaDriver driver;
    Status status = driver.load();
  };
  // Never destroyed: other threads may use it while the program ends.
  static const Result *result = new Result;
  if (!result->status.ok())
    return result->status;
  return &result->driver;
}

Status CudaDriver::load() {
  const char *name = std::getenv("ONNX_AOT_CUDA_DRIVER");
  if (!name || !*name)
    name = "libcuda.so.1";
  void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *reason = dlerror();
    return noDevice(concat("there is no CUDA driver: ",
                           reason ? reason : "unknown reason"));
  }
  if (Status status = findFunctions(library, name); !status.ok())
    return status;
  return openDevice();
}

Status CudaDriver::findFunctions(void *library, const char *name) {
  const char *missing = nullptr;
  auto find = [&](auto &function, const char *symbol, bool isNeeded = true) {
    void *address = dlsym(library, symbol);
    if (!address && !missing && isNeeded)
      missing = symbol;
    function =
        reinterpret_cast<std::remove_reference_t<decltype(function)>>(address);
  };
  find(init, "cuInit");
  find(deviceGetCount, "cuDeviceGetCount");
  find(deviceGet, "cuDeviceGet");
  find(deviceGetAttribute, "cuDeviceGetAttribute");
  find(retainContext, "cuDevicePrimaryCtxRetain");
  find(setContext, "cuCtxSetCurrent");
  find(loadModule, "cuModuleLoadData");
  find(unloadModule, "cuModuleUnload");
  find(getFunction, "cuModuleGetFunction");
  find(allocate, "cuMemAlloc_v2");
  find(release, "cuMemFree_v2");
  find(toDevice, "cuMemcpyHtoDAsync_v2");
  find(toHost, "cuMemcpyDtoHAsync_v2");
  find(onDevice, "cuMemcpyDtoDAsync_v2");
  find(createStream, "cuStreamCreate");
  find(destroyStream, "cuStreamDestroy_v2");
  find(synchronize, "cuStreamSynchronize");
  find(launch, "cuLaunchKernel");
  find(allocateHost, "cuMemHostAlloc");
  find(releaseHost, "cuMemFreeHost");
  find(beginCapture, "cuStreamBeginCapture_v2", false);
  find(endCapture, "cuStreamEndCapture", false);
  find(instantiateGraph, "cuGraphInstantiateWithFlags", false);
  find(launchGraph, "cuGraphLaunch", false);
  find(destroyGraph, "cuGraphDestroy", false);
  find(destroyGraphExec, "cuGraphExecDestroy", false);
  find(pointerAttribute, "cuPointerGetAttribute");
  find(errorText, "cuGetErrorString");
  if (missing)
    return noDevice(concat("the CUDA driver ", quoted(name),
                           " lacks the function ", missing));
  return Status();
}

Status CudaDriver::openDevice() {
  if (CudaResult result = init(0))
    return noDevice(
        failure("the CUDA driver does not start", result).message());
  int count = 0;
  if (CudaResult result = deviceGetCount(&count))
    return failure("the CUDA devices cannot be counted", result);
  if (count < 1)
    return noDevice("the CUDA driver knows of no device");
  CudaDevice device = 0;
  int major = 0, minor = 0;
  CudaResult result = deviceGet(&device, 0);
  if (!result)
    result = deviceGetAttribute(&major, CUDA_MAJOR_ATTRIBUTE, device);
  if (!result)
    result = deviceGetAttribute(&minor, CUDA_MINOR_ATTRIBUTE, device);
  if (!result)
    result = retainContext(&context, device);
  if (result)
    return noDevice(
        failure("the CUDA device cannot be used", result).message());
  architecture = 10 * major + minor;
  return Status();
}

Status CudaDriver::failure(const char *what, CudaResult result) const {
  const char *text = nullptr;
  if (!errorText || errorText(result, &text) || !text)
    text = "unknown error";
  return Status(result == CUDA_DRIVER_OUT_OF_MEMORY ? ONNX_AOT_OUT_OF_MEMORY
                                                    : ONNX_AOT_DEVICE_FAILED,
                concat(what, ": ", text, " (CUDA error ", result, ")"));
}

bool CudaDriver::isOnDevice(const void *memory) const {
  unsigned type = 0;
  return memory &&
         !pointerAttribute(&type, CUDA_POINTER_MEMORY_TYPE,
                           reinterpret_cast<uintptr_t>(memory)) &&
         type == CUDA_MEMORY_TYPE_DEVICE;
}

Status CudaDriver::enter() const {
  if (CudaResult result = setContext(context))
    return failure("the CUDA device cannot be used", result);
  return Status();
}

} // namespace onnx_aot::runtime

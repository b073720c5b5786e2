//===- CudaDriver.h - the CUDA driver, found at run time -------*- C++ -*-===//
//
// Own prototypes of the few functions that are used: neither building, linking
// nor loading needs CUDA. Another library with these functions can stand in for
// the driver: the environment variable ONNX_AOT_CUDA_DRIVER names it.
//
//===----------------------------------------------------------------------===//
#ifndef ONNX_AOT_RUNTIME_SRC_CUDA_CUDADRIVER_H
#define ONNX_AOT_RUNTIME_SRC_CUDA_CUDADRIVER_H

#include "onnx-aot/runtime/Status.h"

#include <cstddef>
#include <cstdint>

namespace onnx_aot::runtime {

/// The driver's types, by names of our own.
using CudaResult = int;
using CudaDevice = int;
using CudaContext = struct CudaContextHandle *;
using CudaModule = struct CudaModuleHandle *;
using CudaFunction = struct CudaFunctionHandle *;
using CudaStream = struct CudaStreamHandle *;
using CudaGraph = struct CudaGraphHandle *;
using CudaGraphExec = struct CudaGraphExecHandle *;
using CudaPointer = unsigned long long;

/// Values of the driver's interface.
enum CudaConstants {
  CUDA_DRIVER_OK = 0,
  CUDA_DRIVER_OUT_OF_MEMORY = 2,
  CUDA_MAJOR_ATTRIBUTE = 75,
  CUDA_MINOR_ATTRIBUTE = 76,
  CUDA_STREAM_NON_BLOCKING = 1,
  CUDA_POINTER_MEMORY_TYPE = 2,
  CUDA_MEMORY_TYPE_DEVICE = 2,
  CUDA_HOST_PORTABLE = 1,
  CUDA_CAPTURE_RELAXED = 2
};

/// The functions, and the device that modules run on. Made once, lives for
/// ever.
class CudaDriver {
public:
  /// The driver, or why there is none.
  static Expected<const CudaDriver *> get();

  /// A failure with the driver's words for `result`.
  Status failure(const char *what, CudaResult result) const;

  /// Makes the device's context current for the calling thread.
  Status enter() const;

  /// True for the device's memory, false for any other address.
  bool isOnDevice(const void *memory) const;

  /// Older drivers record no graphs; work is then launched piece by piece.
  bool hasGraphs() const {
    return beginCapture && endCapture && instantiateGraph && launchGraph &&
           destroyGraph && destroyGraphExec;
  }

  int architecture = 0; ///< 80 for sm_80

  CudaResult (*init)(unsigned) = nullptr;
  CudaResult (*deviceGetCount)(int *) = nullptr;
  CudaResult (*deviceGet)(CudaDevice *, int) = nullptr;
  CudaResult (*deviceGetAttribute)(int *, int, CudaDevice) = nullptr;
  CudaResult (*retainContext)(CudaContext *, CudaDevice) = nullptr;
  CudaResult (*setContext)(CudaContext) = nullptr;
  CudaResult (*loadModule)(CudaModule *, const void *) = nullptr;
  CudaResult (*unloadModule)(CudaModule) = nullptr;
  CudaResult (*getFunction)(CudaFunction *, CudaModule, const char *) = nullptr;
  CudaResult (*allocate)(CudaPointer *, size_t) = nullptr;
  CudaResult (*release)(CudaPointer) = nullptr;
  CudaResult (*toDevice)(CudaPointer, const void *, size_t,
                         CudaStream) = nullptr;
  CudaResult (*toHost)(void *, CudaPointer, size_t, CudaStream) = nullptr;
  CudaResult (*onDevice)(CudaPointer, CudaPointer, size_t,
                         CudaStream) = nullptr;
  CudaResult (*createStream)(CudaStream *, unsigned) = nullptr;
  CudaResult (*destroyStream)(CudaStream) = nullptr;
  CudaResult (*synchronize)(CudaStream) = nullptr;
  CudaResult (*launch)(CudaFunction, unsigned, unsigned, unsigned, unsigned,
                       unsigned, unsigned, unsigned, CudaStream, void **,
                       void **) = nullptr;
  CudaResult (*allocateHost)(void **, size_t, unsigned) = nullptr;
  CudaResult (*releaseHost)(void *) = nullptr;
  CudaResult (*beginCapture)(CudaStream, int) = nullptr;
  CudaResult (*endCapture)(CudaStream, CudaGraph *) = nullptr;
  CudaResult (*instantiateGraph)(CudaGraphExec *, CudaGraph,
                                 unsigned long long) = nullptr;
  CudaResult (*launchGraph)(CudaGraphExec, CudaStream) = nullptr;
  CudaResult (*destroyGraph)(CudaGraph) = nullptr;
  CudaResult (*destroyGraphExec)(CudaGraphExec) = nullptr;
  CudaResult (*pointerAttribute)(void *, int, CudaPointer) = nullptr;
  CudaResult (*errorText)(CudaResult, const char **) = nullptr;

private:
  Status load();
  Status findFunctions(void *library, const char *name);
  Status openDevice();
  CudaContext context = nullptr;
};

} // namespace onnx_aot::runtime

#endif // ONNX_AOT_RUNTIME_SRC_CUDA_CUDADRIVER_H

/*===- Device.h - binary interface of code for a device -----------*- C -*-===//
//
// What a module compiled for a GPU holds, and what its host code calls. Device
// memory mirrors host memory: compiled code speaks of host addresses alone, and
// the caller keeps for each byte where its valid copies are. C99 and C++17.
//
//===----------------------------------------------------------------------===*/
#ifndef ONNX_AOT_ABI_DEVICE_H
#define ONNX_AOT_ABI_DEVICE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Forms in which kernels are stored. */
typedef enum OnnxAotImageKind {
  ONNX_AOT_IMAGE_PTX = 1,     /**< text, compiled by the driver; ends with 0 */
  ONNX_AOT_IMAGE_CUBIN = 2,   /**< machine code of one architecture */
  ONNX_AOT_IMAGE_EMULATOR = 3 /**< a shared object for the emulating driver */
} OnnxAotImageKind;

/** All kernels of a module, compiled for one architecture. */
typedef struct OnnxAotDeviceImage {
  int32_t kind;         /**< OnnxAotImageKind */
  int32_t architecture; /**< 80 for sm_80: lowest for PTX, exact for cubins */
  uint64_t bytes;
  const void *data;
} OnnxAotDeviceImage;

/** One kernel. Its block has one dimension. */
typedef struct OnnxAotKernel {
  const char *name;     /**< symbol in the images */
  int32_t threads;      /**< per block */
  int32_t shared_bytes; /**< static, part of the image; for reports */
} OnnxAotKernel;

/** Everything a module holds for the device. */
typedef struct OnnxAotDeviceCode {
  int32_t num_images;
  int32_t num_kernels;
  const OnnxAotDeviceImage *images;
  const OnnxAotKernel *kernels;
} OnnxAotDeviceCode;

/** How memory is accessed; bits. */
typedef enum OnnxAotAccess {
  ONNX_AOT_SCALAR = 0, /**< no memory: the value itself */
  ONNX_AOT_READ = 1,
  ONNX_AOT_WRITE = 2,  /**< alone: every byte is overwritten */
  ONNX_AOT_SCRATCH = 4 /**< alone: device memory for this launch and the next,
                            whose address the module does not know */
} OnnxAotAccess;

/** An argument of a kernel. */
typedef struct OnnxAotDeviceArgument {
  uint64_t value;  /**< host address, or a scalar in the low bytes */
  uint64_t bytes;  /**< of the memory from the address on that may be used */
  uint64_t access; /**< OnnxAotAccess */
} OnnxAotDeviceArgument;

/** What the caller lends a module with device code. Functions return 0, or
 *  another value once the run has to end; then the reason has been noted. */
typedef struct OnnxAotDevice {
  void *user; /**< handed to each function below */
  /** Runs `blocks` blocks of a kernel, after all that was launched before. */
  int32_t (*launch)(void *user, int32_t kernel, int64_t blocks,
                    const OnnxAotDeviceArgument *arguments,
                    int32_t num_arguments);
  /** Announces an access by host code: waits for the device and copies what is
   *  to be read; what is written is no longer valid on the device. */
  int32_t (*access)(void *user, const void *address, uint64_t bytes,
                    uint64_t access);
  /** Copies `bytes` bytes where they are valid. The ranges do not overlap. */
  int32_t (*copy)(void *user, void *to, const void *from, uint64_t bytes);
} OnnxAotDevice;

#ifdef __cplusplus
}
#endif

#endif /* ONNX_AOT_ABI_DEVICE_H */

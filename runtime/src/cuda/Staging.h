//===- Staging.h - pinned memory that copies pass through ------*- C++ -*-===//
#ifndef ONNX_AOT_RUNTIME_SRC_CUDA_STAGING_H
#define ONNX_AOT_RUNTIME_SRC_CUDA_STAGING_H

#include "CudaDriver.h"

#include <vector>

namespace onnx_aot::runtime {

/// Gives out pinned memory for copies between host and device. The caller's
/// memory may be anywhere and elsewhere in the next run; the same requests in
/// the same order get the same staging memory, so that recorded copies stay
/// good.
class Staging {
public:
  explicit Staging(const CudaDriver &driver) : driver(driver) {}
  Staging(const Staging &) = delete;
  Staging &operator=(const Staging &) = delete;
  ~Staging();

  /// Pinned memory until the next reset; null where so much is not worth it or
  /// not to be had.
  void *allocate(uint64_t bytes);
  /// No copy is in flight any more: all memory is free.
  void reset();

private:
  struct Chunk {
    char *memory;
    uint64_t bytes;
  };
  const CudaDriver &driver;
  std::vector<Chunk> chunks;
  size_t chunk = 0; ///< that memory is taken of
  uint64_t used = 0, total = 0;
};

} // namespace onnx_aot::runtime

#endif // ONNX_AOT_RUNTIME_SRC_CUDA_STAGING_H

//===- Types.h - element types and checked sizes ---------------*- C++ -*-===//
#ifndef ONNX_AOT_RUNTIME_SRC_TYPES_H
#define ONNX_AOT_RUNTIME_SRC_TYPES_H

#include "onnx-aot/abi/Abi.h"

#include <cstdint>
#include <optional>

namespace onnx_aot::runtime {

/// What the runtime knows about an element type.
struct TypeInfo {
  const char *name;
  uint64_t bytes;     ///< 0: no fixed size
  uint64_t alignment; ///< 0: no fixed size
};

/// Null if `type` is no OnnxAotType.
const TypeInfo *typeInfo(int32_t type);

/// Bytes of a tensor, or nothing when a size is negative or the total does not
/// fit an address space (2^63 - 1). An empty dimension makes it 0.
std::optional<uint64_t> tensorBytes(uint64_t elementBytes, const int64_t *dims,
                                    int32_t rank);

} // namespace onnx_aot::runtime

#endif // ONNX_AOT_RUNTIME_SRC_TYPES_H

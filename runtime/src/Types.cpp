//===- Types.cpp - element types and checked sizes ------------------------===//
#include "Types.h"

namespace onnx_aot::runtime {

const TypeInfo *typeInfo(int32_t type) {
  static const TypeInfo table[] = {
      {nullptr, 0, 0},          {"float32", 4, 4},    {"uint8", 1, 1},
      {"int8", 1, 1},           {"uint16", 2, 2},     {"int16", 2, 2},
      {"int32", 4, 4},          {"int64", 8, 8},      {"string", 16, 16},
      {"bool", 1, 1},           {"float16", 2, 2},    {"float64", 8, 8},
      {"uint32", 4, 4},         {"uint64", 8, 8},     {"complex64", 8, 4},
      {"complex128", 16, 8},    {"bfloat16", 2, 2},   {"float8e4m3fn", 1, 1},
      {"float8e4m3fnuz", 1, 1}, {"float8e5m2", 1, 1}, {"float8e5m2fnuz", 1, 1},
      {"uint4", 1, 1},          {"int4", 1, 1},       {"float4e2m1", 1, 1},
      {"float8e8m0", 1, 1},     {"uint2", 1, 1},      {"int2", 1, 1},
  };
  constexpr int32_t count = sizeof(table) / sizeof(table[0]);
  return type > 0 && type < count ? &table[type] : nullptr;
}

std::optional<uint64_t> tensorBytes(uint64_t elementBytes, const int64_t *dims,
                                    int32_t rank) {
  int64_t bytes = static_cast<int64_t>(elementBytes);
  bool overflow = false, empty = false;
  for (int32_t i = 0; i < rank; ++i) {
    if (dims[i] < 0)
      return std::nullopt;
    empty |= dims[i] == 0;
    // Keep going after an overflow: a later 0 makes the tensor empty.
    overflow |= __builtin_mul_overflow(bytes, dims[i], &bytes);
  }
  if (empty)
    return 0;
  if (overflow)
    return std::nullopt;
  return static_cast<uint64_t>(bytes);
}

} // namespace onnx_aot::runtime

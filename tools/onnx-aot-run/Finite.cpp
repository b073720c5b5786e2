//===- Finite.cpp - which state of a training is no number ----------------===//
#include "Finite.h"

#include "onnx-aot/abi/Abi.h"

#include <cstring>

namespace onnx_aot::run {

namespace {

/// A float is finite where not all bits of its exponent are set.
template <typename Bits>
bool isFinite(const void *data, uint64_t bytes, Bits exponent) {
  const auto *place = static_cast<const char *>(data);
  bool finite = true;
  for (uint64_t i = 0; i + sizeof(Bits) <= bytes; i += sizeof(Bits)) {
    Bits bits;
    std::memcpy(&bits, place + i, sizeof(Bits));
    finite &= (bits & exponent) != exponent;
  }
  return finite;
}

bool isFinite(const runtime::CheckpointTensor &tensor) {
  if (!tensor.data)
    return true;
  switch (tensor.type) {
  case ONNX_AOT_FLOAT64:
    return isFinite<uint64_t>(tensor.data, tensor.bytes, 0x7ff0000000000000);
  case ONNX_AOT_FLOAT32:
    return isFinite<uint32_t>(tensor.data, tensor.bytes, 0x7f800000);
  case ONNX_AOT_FLOAT16:
    return isFinite<uint16_t>(tensor.data, tensor.bytes, 0x7c00);
  case ONNX_AOT_BFLOAT16:
    return isFinite<uint16_t>(tensor.data, tensor.bytes, 0x7f80);
  default: // integers: counters
    return true;
  }
}

} // namespace

std::set<std::string> findNonFinite(const runtime::Checkpoint &state) {
  std::set<std::string> found;
  for (const auto *tensors : {&state.parameters, &state.slots})
    for (const runtime::CheckpointTensor &tensor : *tensors)
      if (!isFinite(tensor))
        found.insert((tensor.slot.empty() ? "" : tensor.slot + " of ") +
                     "parameter '" + tensor.name + "'");
  return found;
}

} // namespace onnx_aot::run

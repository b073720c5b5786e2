//===- Fragments.h - matrices spread over a warp ---------------*- C++ -*-===//
#ifndef ONNX_AOT_EMULATOR_FRAGMENTS_H
#define ONNX_AOT_EMULATOR_FRAGMENTS_H

#include <cstdint>

namespace onnx_aot::emulator {

/// What one lane holds of the operands of mma.m16n8k16: two elements a word,
/// the one of lower index in the lower half.
struct Fragments {
  bool isBf16 = false;
  uint32_t a[4], b[2];
  float c[4];
};

/// Adds the product of all lanes' a and b to their c.
void multiply(Fragments *const lanes[32]);

} // namespace onnx_aot::emulator

#endif // ONNX_AOT_EMULATOR_FRAGMENTS_H

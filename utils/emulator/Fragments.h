//===- Fragments.h - matrices spread over a warp ---------------*- C++ -*-===//
#ifndef ONNX_AOT_EMULATOR_FRAGMENTS_H
#define ONNX_AOT_EMULATOR_FRAGMENTS_H

#include <cstdint>

namespace onnx_aot::emulator {

/// Types of the elements that are multiplied; 32 bytes of them along the
/// reduction. Sums are floats, or integers that wrap around.
enum class ProductKind : uint32_t { F16, Bf16, Tf32, Signed8, Unsigned8 };

/// What one lane holds of the operands of mma.m16n8: words of one, two or four
/// elements, the one of lower index in the lower bits. Sums by their bits.
struct Fragments {
  ProductKind kind = ProductKind::F16;
  uint32_t a[4], b[2], c[4];
};

/// Adds the product of all lanes' a and b to their c.
void multiply(Fragments *const lanes[32]);

} // namespace onnx_aot::emulator

#endif // ONNX_AOT_EMULATOR_FRAGMENTS_H

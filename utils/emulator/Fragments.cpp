//===- Fragments.cpp - matrices spread over a warp ------------------------===//
#include "Fragments.h"

#include <cmath>
#include <cstring>

namespace onnx_aot::emulator {

namespace {

float fromBits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

/// An IEEE half, by its parts.
float fromHalf(uint32_t bits) {
  uint32_t exponent = bits >> 10 & 31, fraction = bits & 1023;
  float value = exponent == 31 ? (fraction ? NAN : INFINITY)
                : exponent
                    ? std::ldexp(float(fraction + 1024), int(exponent) - 25)
                    : std::ldexp(float(fraction), -24);
  return bits >> 15 & 1 ? -value : value;
}

uint32_t toBits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

int elementsOfWord(ProductKind kind) {
  return kind == ProductKind::Tf32 ? 1 : kind <= ProductKind::Bf16 ? 2 : 4;
}

/// Integers fit into floats, and so do their products.
float element(ProductKind kind, uint32_t word, int number) {
  uint32_t half = word >> (16 * number) % 32 & 0xffff;
  uint32_t byte = word >> (8 * number) % 32 & 0xff;
  switch (kind) {
  case ProductKind::F16:
    return fromHalf(half);
  case ProductKind::Bf16:
    return fromBits(half << 16);
  case ProductKind::Tf32:
    // What has not been rounded is cut off.
    return fromBits(word & ~0x1fffu);
  case ProductKind::Signed8:
    return int8_t(byte);
  case ProductKind::Unsigned8:
    return byte;
  }
  return NAN;
}

bool isInteger(ProductKind kind) { return kind >= ProductKind::Signed8; }

uint32_t addProduct(ProductKind kind, uint32_t sum, float a, float b) {
  if (isInteger(kind))
    return sum + uint32_t(int32_t(a * b));
  return toBits(fromBits(sum) + a * b);
}

} // namespace

void multiply(Fragments *const lanes[32]) {
  constexpr int rows = 16, columns = 8, deepest = 32;
  float a[rows][deepest], b[deepest][columns];
  uint32_t c[rows][columns];
  const ProductKind kind = lanes[0]->kind;
  // A word's elements lie side by side along the reduction, a lane's words half
  // of it apart.
  const int each = elementsOfWord(kind), depth = 8 * each;
  for (int lane = 0; lane < 32; ++lane) {
    const Fragments &own = *lanes[lane];
    int group = lane / 4, first = lane % 4 * each;
    for (int i = 0; i < each; ++i) {
      for (int word = 0; word < 4; ++word)
        a[group + word % 2 * 8][first + word / 2 * 4 * each + i] =
            element(kind, own.a[word], i);
      for (int word = 0; word < 2; ++word)
        b[first + word * 4 * each + i][group] = element(kind, own.b[word], i);
    }
    for (int part = 0; part < 4; ++part)
      c[group + part / 2 * 8][lane % 4 * 2 + part % 2] = own.c[part];
  }
  for (int row = 0; row < rows; ++row)
    for (int column = 0; column < columns; ++column)
      for (int k = 0; k < depth; ++k)
        c[row][column] =
            addProduct(kind, c[row][column], a[row][k], b[k][column]);
  for (int lane = 0; lane < 32; ++lane) {
    int group = lane / 4, pair = lane % 4 * 2;
    for (int part = 0; part < 4; ++part)
      lanes[lane]->c[part] = c[group + part / 2 * 8][pair + part % 2];
  }
}

} // namespace onnx_aot::emulator

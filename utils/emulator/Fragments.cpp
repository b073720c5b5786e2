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

float element(const Fragments &lane, uint32_t word, int half) {
  uint32_t bits = word >> (16 * half) & 0xffff;
  return lane.isBf16 ? fromBits(bits << 16) : fromHalf(bits);
}

} // namespace

void multiply(Fragments *const lanes[32]) {
  constexpr int rows = 16, columns = 8, depth = 16;
  float a[rows][depth], b[depth][columns], c[rows][columns];
  for (int lane = 0; lane < 32; ++lane) {
    const Fragments &own = *lanes[lane];
    int group = lane / 4, pair = lane % 4 * 2;
    for (int half = 0; half < 2; ++half) {
      for (int word = 0; word < 4; ++word)
        a[group + word % 2 * 8][pair + word / 2 * 8 + half] =
            element(own, own.a[word], half);
      for (int word = 0; word < 2; ++word)
        b[pair + word * 8 + half][group] = element(own, own.b[word], half);
    }
    for (int part = 0; part < 4; ++part)
      c[group + part / 2 * 8][pair + part % 2] = own.c[part];
  }
  for (int row = 0; row < rows; ++row)
    for (int column = 0; column < columns; ++column)
      for (int k = 0; k < depth; ++k)
        c[row][column] += a[row][k] * b[k][column];
  for (int lane = 0; lane < 32; ++lane) {
    int group = lane / 4, pair = lane % 4 * 2;
    for (int part = 0; part < 4; ++part)
      lanes[lane]->c[part] = c[group + part / 2 * 8][pair + part % 2];
  }
}

} // namespace onnx_aot::emulator

//===- Compare.cpp - how far two tensors are apart ------------------------===//
#include "Compare.h"

#include "Strings.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

namespace onnx_aot::run {

namespace {

template <typename T>
T load(const void *data, int64_t index) {
  T value;
  std::memcpy(&value, static_cast<const char *>(data) + index * sizeof(T),
              sizeof(T));
  return value;
}

/// A float16's value from its bits.
double halfToDouble(uint16_t bits) {
  int exponent = bits >> 10 & 0x1f, fraction = bits & 0x3ff;
  double value = exponent == 0x1f ? (fraction ? NAN : INFINITY)
                 : exponent       ? std::ldexp(fraction + 1024, exponent - 25)
                                  : std::ldexp(fraction, -24);
  return bits & 0x8000 ? -value : value;
}

double bfloatToDouble(uint16_t bits) {
  uint32_t wide = uint32_t(bits) << 16;
  return load<float>(&wide, 0);
}

/// What is known of the element types that take part of a byte, or all of it
/// for a float.
struct NarrowFormat {
  int width;
  int mantissa; ///< bits of a float's mantissa; -1 for an integer
  int bias;
  bool isSigned;
  /// How a float's special values are coded.
  enum { None, Ieee, AllOnes, MinusZero } special;
};

std::optional<NarrowFormat> narrowFormat(int32_t type) {
  switch (type) {
  case ONNX_AOT_FLOAT8E4M3FN:
    return NarrowFormat{8, 3, 7, true, NarrowFormat::AllOnes};
  case ONNX_AOT_FLOAT8E4M3FNUZ:
    return NarrowFormat{8, 3, 8, true, NarrowFormat::MinusZero};
  case ONNX_AOT_FLOAT8E5M2:
    return NarrowFormat{8, 2, 15, true, NarrowFormat::Ieee};
  case ONNX_AOT_FLOAT8E5M2FNUZ:
    return NarrowFormat{8, 2, 16, true, NarrowFormat::MinusZero};
  case ONNX_AOT_FLOAT8E8M0:
    return NarrowFormat{8, 0, 127, false, NarrowFormat::AllOnes};
  case ONNX_AOT_FLOAT4E2M1:
    return NarrowFormat{4, 1, 1, true, NarrowFormat::None};
  case ONNX_AOT_UINT4:
  case ONNX_AOT_INT4:
    return NarrowFormat{4, -1, 0, type == ONNX_AOT_INT4, NarrowFormat::None};
  case ONNX_AOT_UINT2:
  case ONNX_AOT_INT2:
    return NarrowFormat{2, -1, 0, type == ONNX_AOT_INT2, NarrowFormat::None};
  default:
    return std::nullopt;
  }
}

/// The value of a code, of which only the low bits count.
double narrowToDouble(const NarrowFormat &format, unsigned code) {
  code &= (1u << format.width) - 1;
  unsigned sign = format.isSigned ? 1u << (format.width - 1) : 0;
  if (format.mantissa < 0)
    return static_cast<int>(code) - (code & sign ? 1 << format.width : 0);
  unsigned magnitude = code & ~sign;
  // Every bit that is not the sign, set: NaN, or with IEEE one of several.
  unsigned all = (1u << (format.width - (format.isSigned ? 1 : 0))) - 1;
  int exponent = magnitude >> format.mantissa;
  int fraction = magnitude & ((1 << format.mantissa) - 1);
  if (format.special == NarrowFormat::AllOnes && magnitude == all)
    return NAN;
  if (format.special == NarrowFormat::MinusZero && code == sign)
    return NAN;
  if (format.special == NarrowFormat::Ieee && exponent == 0x1f) {
    double value = fraction ? NAN : INFINITY;
    return code & sign ? -value : value;
  }
  // A format without a sign has no zero and no subnormal numbers either.
  bool isNormal = exponent || !format.isSigned;
  double value = isNormal
                     ? std::ldexp(fraction + (1 << format.mantissa),
                                  exponent - format.bias - format.mantissa)
                     : std::ldexp(fraction, 1 - format.bias - format.mantissa);
  return code & sign ? -value : value;
}

/// The position of a number among all representable ones, from its bits: the
/// negative ones run backwards, both zeros are one.
template <typename Unsigned>
int64_t rankOf(Unsigned bits) {
  constexpr int top = sizeof(Unsigned) * 8 - 1;
  int64_t magnitude = static_cast<int64_t>(bits & ~(Unsigned(1) << top));
  return bits >> top ? -magnitude : magnitude;
}

template <typename Unsigned>
uint64_t floatUlp(const void *a, const void *b, int64_t index) {
  int64_t x = rankOf(load<Unsigned>(a, index));
  int64_t y = rankOf(load<Unsigned>(b, index));
  return x > y ? uint64_t(x) - uint64_t(y) : uint64_t(y) - uint64_t(x);
}

template <typename Integer>
uint64_t integerUlp(const void *a, const void *b, int64_t index) {
  Integer x = load<Integer>(a, index), y = load<Integer>(b, index);
  return x > y ? uint64_t(x) - uint64_t(y) : uint64_t(y) - uint64_t(x);
}

uint64_t narrowUlp(const NarrowFormat &format, const void *a, const void *b,
                   int64_t index) {
  auto rank = [&](const void *data) {
    int code = load<uint8_t>(data, index) & ((1 << format.width) - 1);
    if (format.mantissa < 0)
      return static_cast<int>(narrowToDouble(format, code));
    int sign = format.isSigned ? 1 << (format.width - 1) : 0;
    return code & sign ? -(code & ~sign) : code;
  };
  return std::abs(rank(a) - rank(b));
}

uint64_t ulpApart(int32_t type, const void *a, const void *b, int64_t index) {
  if (std::optional<NarrowFormat> format = narrowFormat(type))
    return narrowUlp(*format, a, b, index);
  switch (type) {
  case ONNX_AOT_FLOAT32:
  case ONNX_AOT_COMPLEX64:
    return floatUlp<uint32_t>(a, b, index);
  case ONNX_AOT_FLOAT64:
  case ONNX_AOT_COMPLEX128:
    return floatUlp<uint64_t>(a, b, index);
  case ONNX_AOT_FLOAT16:
  case ONNX_AOT_BFLOAT16:
    return floatUlp<uint16_t>(a, b, index);
  case ONNX_AOT_INT8:
    return integerUlp<int8_t>(a, b, index);
  case ONNX_AOT_INT16:
    return integerUlp<int16_t>(a, b, index);
  case ONNX_AOT_INT32:
    return integerUlp<int32_t>(a, b, index);
  case ONNX_AOT_INT64:
    return integerUlp<int64_t>(a, b, index);
  case ONNX_AOT_UINT16:
    return integerUlp<uint16_t>(a, b, index);
  case ONNX_AOT_UINT32:
    return integerUlp<uint32_t>(a, b, index);
  case ONNX_AOT_UINT64:
    return integerUlp<uint64_t>(a, b, index);
  default: // bool, uint8
    return integerUlp<uint8_t>(a, b, index);
  }
}

bool isComplex(int32_t type) {
  return type == ONNX_AOT_COMPLEX64 || type == ONNX_AOT_COMPLEX128;
}

bool isInteger(int32_t type) {
  if (std::optional<NarrowFormat> format = narrowFormat(type))
    return format->mantissa < 0;
  switch (type) {
  case ONNX_AOT_FLOAT16:
  case ONNX_AOT_BFLOAT16:
  case ONNX_AOT_FLOAT32:
  case ONNX_AOT_FLOAT64:
    return false;
  default:
    return !isComplex(type);
  }
}

std::string shapeText(const int64_t *dims, size_t rank) {
  std::string text = "[";
  for (size_t i = 0; i < rank; ++i)
    text += (i ? ", " : "") + std::to_string(dims[i]);
  return text + "]";
}

/// Takes one element into account.
void add(Difference &difference, const Tolerance &tolerance, int32_t type,
         const void *found, const void *expected, int64_t index) {
  double a = elementAsDouble(type, found, index);
  double b = elementAsDouble(type, expected, index);
  uint64_t ulp = ulpApart(type, found, expected, index);
  if (std::isfinite(b))
    difference.scale = std::max(difference.scale, std::fabs(b));
  if ((std::isnan(a) && std::isnan(b)) || !ulp)
    return;
  double abs = std::fabs(a - b), rel = abs / std::fabs(b);
  double limit = tolerance.atol + tolerance.rtol * std::fabs(b);
  if (!std::isfinite(a) || !std::isfinite(b)) {
    abs = rel = INFINITY;
    ulp = std::numeric_limits<uint64_t>::max();
  } else if (isInteger(type)) {
    abs = static_cast<double>(ulp); // exact, also beyond 2^53
    limit = tolerance.atol;
  }
  if (std::isinf(abs) || abs > limit)
    ++difference.outside;
  if (abs > difference.maxAbs) {
    difference.maxAbs = abs;
    difference.worst = index;
    difference.worstFound = a;
    difference.worstExpected = b;
  }
  if (b != 0)
    difference.maxRel = std::max(difference.maxRel, rel);
  difference.maxUlp = std::max(difference.maxUlp, ulp);
}

} // namespace

bool isNarrow(int32_t type) { return narrowFormat(type).has_value(); }

double elementAsDouble(int32_t type, const void *data, int64_t index) {
  if (std::optional<NarrowFormat> format = narrowFormat(type))
    return narrowToDouble(*format, load<uint8_t>(data, index));
  switch (type) {
  case ONNX_AOT_FLOAT32:
  case ONNX_AOT_COMPLEX64:
    return load<float>(data, index);
  case ONNX_AOT_FLOAT64:
  case ONNX_AOT_COMPLEX128:
    return load<double>(data, index);
  case ONNX_AOT_FLOAT16:
    return halfToDouble(load<uint16_t>(data, index));
  case ONNX_AOT_BFLOAT16:
    return bfloatToDouble(load<uint16_t>(data, index));
  case ONNX_AOT_INT8:
    return load<int8_t>(data, index);
  case ONNX_AOT_INT16:
    return load<int16_t>(data, index);
  case ONNX_AOT_INT32:
    return load<int32_t>(data, index);
  case ONNX_AOT_INT64:
    return static_cast<double>(load<int64_t>(data, index));
  case ONNX_AOT_UINT16:
    return load<uint16_t>(data, index);
  case ONNX_AOT_UINT32:
    return load<uint32_t>(data, index);
  case ONNX_AOT_UINT64:
    return static_cast<double>(load<uint64_t>(data, index));
  default: // bool, uint8
    return load<uint8_t>(data, index);
  }
}

Difference compare(const OnnxAotTensor &found, const Tensor &expected,
                   const Tolerance &tolerance) {
  Difference difference;
  int32_t type = found.type;
  bool standIn =
      (type == ONNX_AOT_BFLOAT16 && expected.type() == ONNX_AOT_UINT16) ||
      (isNarrow(type) && expected.type() == ONNX_AOT_UINT8);
  if (expected.type() != type && !standIn) {
    difference.mismatch = std::string("type is ") + onnxAotTypeName(type) +
                          ", expected " + onnxAotTypeName(expected.type());
    return difference;
  }
  const std::vector<int64_t> &dims = expected.dims();
  if (!std::equal(dims.begin(), dims.end(), found.dims,
                  found.dims + found.rank)) {
    difference.mismatch = "shape is " + shapeText(found.dims, found.rank) +
                          ", expected " + shapeText(dims.data(), dims.size());
    return difference;
  }
  difference.elements = expected.size();
  if (type == ONNX_AOT_STRING) {
    OnnxAotTensor wanted = expected.view();
    for (int64_t i = 0; i < expected.size(); ++i) {
      if (stringAt(found, i) == stringAt(wanted, i))
        continue;
      if (!difference.outside++)
        difference.worst = i;
      difference.maxAbs = difference.maxRel = INFINITY;
      difference.maxUlp = std::numeric_limits<uint64_t>::max();
    }
    return difference;
  }
  int64_t numbers = expected.size() * (isComplex(type) ? 2 : 1);
  for (int64_t i = 0; i < numbers; ++i)
    add(difference, tolerance, type, found.data, expected.data(), i);
  return difference;
}

} // namespace onnx_aot::run

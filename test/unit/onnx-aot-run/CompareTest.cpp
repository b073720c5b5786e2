//===- CompareTest.cpp - how far two tensors are apart --------------------===//
#include "Compare.h"

#include "gtest/gtest.h"

#include <cmath>

using namespace onnx_aot::run;

namespace {

template <typename T>
Difference compared(OnnxAotType type, std::vector<T> found,
                    std::vector<T> expected, Tolerance tolerance = {0, 0}) {
  auto dims = [](const std::vector<T> &v) {
    return std::vector<int64_t>{static_cast<int64_t>(v.size())};
  };
  Expected<Tensor> a = Tensor::of(type, dims(found), found);
  Expected<Tensor> b = Tensor::of(type, dims(expected), expected);
  return compare(a->view(), *b, tolerance);
}

Difference floats(std::vector<float> found, std::vector<float> expected,
                  Tolerance tolerance = {0, 0}) {
  return compared(ONNX_AOT_FLOAT32, found, expected, tolerance);
}

TEST(Compare, FindsNoDifferenceWhereThereIsNone) {
  Difference same = floats({1, -2, INFINITY, NAN, 0.0f, -0.0f},
                           {1, -2, INFINITY, -NAN, -0.0f, 0.0f});
  EXPECT_TRUE(same.ok());
  EXPECT_EQ(same.maxAbs, 0);
  EXPECT_EQ(same.maxUlp, 0u);
  EXPECT_EQ(same.scale, 2);
  EXPECT_TRUE(floats({}, {}).ok());
}

TEST(Compare, MeasuresFloats) {
  Difference d = floats({1, 2.5f, 4}, {1, 2, 8}, {0.25, 0});
  EXPECT_EQ(d.maxAbs, 4);
  EXPECT_EQ(d.maxRel, 0.5);
  EXPECT_EQ(d.scale, 8);
  EXPECT_EQ(d.worst, 2);
  EXPECT_EQ(d.worstFound, 4);
  EXPECT_EQ(d.outside, 1); // 2.5 is at the very limit
  EXPECT_FALSE(d.ok());
  EXPECT_TRUE(floats({1.5f}, {1}, {0, 0.5}).ok());
  EXPECT_FALSE(floats({1.5f}, {1}, {0, 0.4}).ok());
  EXPECT_FALSE(floats({1e-30f}, {0}).ok());
}

TEST(Compare, CountsUlps) {
  float next = std::nextafter(1.0f, 2.0f), tiny = 1e-45f;
  EXPECT_EQ(floats({next}, {1}).maxUlp, 1u);
  EXPECT_EQ(floats({tiny}, {-tiny}).maxUlp, 2u);
  EXPECT_EQ(floats({3e38f}, {-3e38f}).maxUlp, 2u * 0x7f61b1e6);
  EXPECT_EQ(compared<double>(ONNX_AOT_FLOAT64, {1 + 0x1p-52}, {1}).maxUlp, 1u);
  EXPECT_EQ(compared<uint16_t>(ONNX_AOT_FLOAT16, {0x3c00}, {0x3c05}).maxUlp,
            5u);
  EXPECT_EQ(compared<uint16_t>(ONNX_AOT_BFLOAT16, {0x8001}, {0x0001}).maxUlp,
            2u);
}

TEST(Compare, NeverForgivesNanOrInfinity) {
  Tolerance generous{1e30, 1e30};
  for (auto [found, expected] : {std::pair<float, float>{NAN, 1},
                                 {1, NAN},
                                 {INFINITY, 1},
                                 {1, INFINITY},
                                 {INFINITY, -INFINITY},
                                 {NAN, INFINITY},
                                 {INFINITY, NAN},
                                 {-INFINITY, 3e38f}}) {
    Difference d = floats({found}, {expected}, generous);
    EXPECT_FALSE(d.ok()) << found << " " << expected;
    EXPECT_EQ(d.maxAbs, INFINITY);
    EXPECT_EQ(d.maxUlp, UINT64_MAX);
  }
}

TEST(Compare, TakesIntegersExactly) {
  int64_t big = (int64_t(1) << 60) + 1;
  Difference d =
      compared<int64_t>(ONNX_AOT_INT64, {big}, {big - 1}, {0.5, 0.5});
  EXPECT_FALSE(d.ok()); // no relative tolerance
  EXPECT_EQ(d.maxAbs, 1);
  EXPECT_EQ(d.maxUlp, 1u);
  EXPECT_TRUE(compared<int64_t>(ONNX_AOT_INT64, {big}, {big - 1}, {0, 1}).ok());
  EXPECT_EQ(compared<int64_t>(ONNX_AOT_INT64, {INT64_MIN}, {INT64_MAX}).maxUlp,
            UINT64_MAX);
  EXPECT_EQ(compared<int8_t>(ONNX_AOT_INT8, {-128}, {127}).maxUlp, 255u);
  EXPECT_EQ(compared<uint64_t>(ONNX_AOT_UINT64, {UINT64_MAX}, {0}).maxUlp,
            UINT64_MAX);
  EXPECT_FALSE(compared<uint8_t>(ONNX_AOT_BOOL, {1}, {0}).ok());
}

TEST(Compare, SeesBothPartsOfComplexNumbers) {
  Expected<Tensor> a = Tensor::of<float>(ONNX_AOT_COMPLEX64, {2}, {1, 2, 3, 4});
  Expected<Tensor> b = Tensor::of<float>(ONNX_AOT_COMPLEX64, {2}, {1, 2, 3, 9});
  EXPECT_EQ(compare(a->view(), *b, {0, 0}).maxAbs, 5);
}

TEST(Compare, WantsTypeAndShapeExactly) {
  Expected<Tensor> a = Tensor::create(ONNX_AOT_FLOAT32, {2, 3});
  Expected<Tensor> b = Tensor::create(ONNX_AOT_FLOAT64, {2, 3});
  Expected<Tensor> c = Tensor::create(ONNX_AOT_FLOAT32, {3, 2});
  Expected<Tensor> d = Tensor::create(ONNX_AOT_FLOAT32, {2, 3, 1});
  EXPECT_EQ(compare(a->view(), *b, {}).mismatch,
            "type is float32, expected float64");
  EXPECT_EQ(compare(a->view(), *c, {}).mismatch,
            "shape is [2, 3], expected [3, 2]");
  EXPECT_FALSE(compare(a->view(), *d, {}).ok());
  EXPECT_FALSE(compare(d->view(), *a, {}).ok());
  // numpy's stand-in for bfloat16, and only for that.
  Expected<Tensor> half = Tensor::create(ONNX_AOT_FLOAT16, {1});
  Expected<Tensor> brain = Tensor::create(ONNX_AOT_BFLOAT16, {1});
  Expected<Tensor> word = Tensor::create(ONNX_AOT_UINT16, {1});
  EXPECT_TRUE(compare(brain->view(), *word, {}).ok());
  EXPECT_FALSE(compare(half->view(), *word, {}).ok());
}

TEST(Compare, ReadsNarrowCodes) {
  struct {
    int32_t type;
    uint8_t code;
    double value;
  } cases[] = {{ONNX_AOT_FLOAT8E4M3FN, 0x38, 1},
               {ONNX_AOT_FLOAT8E4M3FN, 0xb8, -1},
               {ONNX_AOT_FLOAT8E4M3FN, 0x7e, 448},
               {ONNX_AOT_FLOAT8E4M3FN, 1, 0x1p-9},
               {ONNX_AOT_FLOAT8E4M3FN, 0x7f, NAN},
               {ONNX_AOT_FLOAT8E4M3FNUZ, 0x40, 1},
               {ONNX_AOT_FLOAT8E4M3FNUZ, 0x7f, 240},
               {ONNX_AOT_FLOAT8E4M3FNUZ, 0x80, NAN},
               {ONNX_AOT_FLOAT8E5M2, 0x3c, 1},
               {ONNX_AOT_FLOAT8E5M2, 0x7b, 57344},
               {ONNX_AOT_FLOAT8E5M2, 0xfc, -INFINITY},
               {ONNX_AOT_FLOAT8E5M2, 0x7d, NAN},
               {ONNX_AOT_FLOAT8E5M2FNUZ, 0x40, 1},
               {ONNX_AOT_FLOAT8E5M2FNUZ, 0x80, NAN},
               {ONNX_AOT_FLOAT8E8M0, 0x7f, 1},
               {ONNX_AOT_FLOAT8E8M0, 0, 0x1p-127},
               {ONNX_AOT_FLOAT8E8M0, 0xff, NAN},
               {ONNX_AOT_FLOAT4E2M1, 0x7, 6},
               {ONNX_AOT_FLOAT4E2M1, 0x1, 0.5},
               {ONNX_AOT_FLOAT4E2M1, 0xfa, -1},
               {ONNX_AOT_INT4, 0x8, -8},
               {ONNX_AOT_INT4, 0xf7, 7},
               {ONNX_AOT_UINT4, 0xff, 15},
               {ONNX_AOT_INT2, 0x2, -2},
               {ONNX_AOT_UINT2, 0xf3, 3}};
  for (auto &c : cases) {
    double value = elementAsDouble(c.type, &c.code, 0);
    EXPECT_TRUE(value == c.value || (std::isnan(value) && std::isnan(c.value)))
        << onnxAotTypeName(c.type) << " " << int(c.code) << ": " << value;
  }
  EXPECT_EQ(compared<uint8_t>(ONNX_AOT_INT4, {0xf}, {0x1}).maxUlp, 2u);
  EXPECT_EQ(compared<uint8_t>(ONNX_AOT_FLOAT8E5M2, {0x81}, {1}).maxUlp, 2u);
  EXPECT_EQ(compared<uint8_t>(ONNX_AOT_UINT4, {0xf1}, {0x1}).maxUlp, 0u);
}

TEST(Compare, ReadsHalfFloats) {
  uint16_t bits[] = {0x3c00, 0xc000, 0x0001, 0x7bff, 0x0400, 0x8000};
  double values[] = {1, -2, 0x1p-24, 65504, 0x1p-14, 0};
  for (int i = 0; i < 6; ++i)
    EXPECT_EQ(elementAsDouble(ONNX_AOT_FLOAT16, bits, i), values[i]);
  uint16_t special[] = {0x7c00, 0xfc00, 0x7e00};
  EXPECT_EQ(elementAsDouble(ONNX_AOT_FLOAT16, special, 0), INFINITY);
  EXPECT_EQ(elementAsDouble(ONNX_AOT_FLOAT16, special, 1), -INFINITY);
  EXPECT_TRUE(std::isnan(elementAsDouble(ONNX_AOT_FLOAT16, special, 2)));
}

} // namespace

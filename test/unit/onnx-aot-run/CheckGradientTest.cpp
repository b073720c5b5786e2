//===- CheckGradientTest.cpp - wrong gradients are noticed ----------------===//
#include "CheckGradient.h"

#include "gtest/gtest.h"

#include <cmath>

using namespace onnx_aot::run;

namespace {

/// sum(sin(x) + x^3 / 4) and its gradient, in the precision of T.
template <typename T>
struct Example {
  explicit Example(int32_t type) {
    for (int i = 0; i < 7; ++i)
      values.push_back(static_cast<T>(0.4 * i - 1.1));
    tensor.data = values.data();
    tensor.bytes = values.size() * sizeof(T);
    tensor.type = type;
    tensor.rank = 1;
    tensor.dims[0] = static_cast<int64_t>(values.size());
    for (T x : values)
      gradient.push_back(std::cos(x) + 0.75 * x * x);
  }

  GradientCheck::Verdict check() {
    auto result = checkGradient(tensor, gradient, 1, [&]() -> Expected<double> {
      T sum = 0;
      for (T x : values)
        sum += std::sin(x) + x * x * x / 4;
      return static_cast<double>(sum);
    });
    EXPECT_TRUE(result.ok());
    return result->verdict;
  }

  std::vector<T> values;
  std::vector<double> gradient;
  OnnxAotTensor tensor = {};
};

TEST(CheckGradient, AcceptsWhatIsRight) {
  Example<double> wide(ONNX_AOT_FLOAT64);
  std::vector<double> before = wide.values;
  EXPECT_EQ(wide.check(), GradientCheck::Right);
  EXPECT_EQ(wide.values, before);
  EXPECT_EQ(Example<float>(ONNX_AOT_FLOAT32).check(), GradientCheck::Right);
}

TEST(CheckGradient, NoticesAWrongElement) {
  Example<double> wide(ONNX_AOT_FLOAT64);
  wide.gradient[3] *= 1.001;
  EXPECT_EQ(wide.check(), GradientCheck::Wrong);
  Example<float> narrow(ONNX_AOT_FLOAT32);
  narrow.gradient[3] *= 3;
  EXPECT_EQ(narrow.check(), GradientCheck::Wrong);
}

TEST(CheckGradient, NoticesZerosAndNan) {
  Example<double> zeros(ONNX_AOT_FLOAT64);
  zeros.gradient.assign(7, 0.0);
  EXPECT_EQ(zeros.check(), GradientCheck::Wrong);
  Example<double> nan(ONNX_AOT_FLOAT64);
  nan.gradient[0] = NAN;
  EXPECT_EQ(nan.check(), GradientCheck::Wrong);
}

TEST(CheckGradient, AcceptsAZeroThatIsRight) {
  Example<double> example(ONNX_AOT_FLOAT64);
  example.gradient.assign(7, 0.0);
  auto result = checkGradient(example.tensor, example.gradient, 1,
                              []() -> Expected<double> { return 3.0; });
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->verdict, GradientCheck::Right);
}

TEST(CheckGradient, SaysWhereRoundingHidesTheLoss) {
  Example<double> example(ONNX_AOT_FLOAT64);
  std::vector<double> &x = example.values;
  for (double &element : example.gradient)
    element = 1e-12;
  auto result = checkGradient(example.tensor, example.gradient, 1,
                              [&]() -> Expected<double> {
                                double sum = 1e3;
                                for (double element : x)
                                  sum += 1e-12 * element;
                                return sum;
                              });
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->verdict, GradientCheck::Unsure);
}

} // namespace

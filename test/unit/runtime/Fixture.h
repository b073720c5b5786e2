//===- Fixture.h - the hand-written module, as the tests use it -*- C++ -*-===//
#ifndef ONNX_AOT_TEST_UNIT_RUNTIME_FIXTURE_H
#define ONNX_AOT_TEST_UNIT_RUNTIME_FIXTURE_H

#include "onnx-aot/runtime/Session.h"

#include "gtest/gtest.h"

#include <string>
#include <vector>

/// Inputs/fixture.c, linked into the test program with the prefix `first`.
extern "C" const OnnxAotModule first_module;

namespace onnx_aot::runtime {

/// Expects a failure whose message contains every one of `parts`.
inline void expectFailure(const Status &status, OnnxAotCode code,
                          const std::vector<std::string> &parts) {
  EXPECT_EQ(status.code(), code) << status.message();
  for (const std::string &part : parts)
    EXPECT_NE(status.message().find(part), std::string::npos)
        << "no \"" << part << "\" in: " << status.message();
}

inline Module linkedFixture() {
  Expected<Module> module = Module::fromLinked(first_module);
  EXPECT_TRUE(module.ok()) << module.status().message();
  return *module;
}

/// A legal call of the fixture with N = `rows`, for tests to spoil: x counts
/// 0, 1, 2, ...; scale is 2. The output buffers hold a pattern.
struct Call {
  explicit Call(int64_t rows)
      : x(rows * 4), scale(rows, 2), y(rows * 4, pattern),
        nonzero(rows * 8, pattern) {
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = static_cast<float>(i);
    inputs.resize(2);
    outputs.resize(2);
    inputs[0] = {x.data(), x.size() * 4, ONNX_AOT_FLOAT32, 2, {rows, 4}};
    inputs[1] = {scale.data(), scale.size() * 4, ONNX_AOT_FLOAT32, 1, {rows}};
    outputs[0] = {y.data(), y.size() * 4, ONNX_AOT_FLOAT32, 0, {}};
    outputs[1] = {nonzero.data(), nonzero.size() * 8, ONNX_AOT_INT64, 0, {}};
  }

  Status run(Session &session) {
    return session.run(inputs.data(), inputs.size(), outputs.data(),
                       outputs.size());
  }

  /// True while no output buffer was written.
  bool untouched() const {
    bool same = outputs.size() < 1 || outputs[0].rank == 0;
    for (float value : y)
      same &= value == pattern;
    for (int64_t value : nonzero)
      same &= value == pattern;
    return same;
  }

  void expectResult() const {
    size_t found = 0, total = x.size() - (x.empty() ? 0 : 1);
    ASSERT_EQ(outputs[1].dims[0], 2);
    ASSERT_EQ(outputs[1].dims[1], static_cast<int64_t>(total));
    const float *result = static_cast<const float *>(outputs[0].data);
    const int64_t *index = static_cast<const int64_t *>(outputs[1].data);
    for (size_t i = 0; i < x.size(); ++i) {
      ASSERT_EQ(result[i], x[i] * 2 + static_cast<float>(i % 4 + 1)) << i;
      if (x[i] == 0)
        continue;
      ASSERT_EQ(index[found], static_cast<int64_t>(i / 4));
      ASSERT_EQ(index[total + found++], static_cast<int64_t>(i % 4));
    }
  }

  static constexpr int pattern = 77;
  std::vector<float> x, scale, y;
  std::vector<int64_t> nonzero;
  std::vector<OnnxAotTensor> inputs, outputs;
};

} // namespace onnx_aot::runtime

#endif // ONNX_AOT_TEST_UNIT_RUNTIME_FIXTURE_H

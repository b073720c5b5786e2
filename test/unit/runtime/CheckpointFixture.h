//===- CheckpointFixture.h - a checkpoint and a place for it ---*- C++ -*-===//
#ifndef ONNX_AOT_TEST_UNIT_RUNTIME_CHECKPOINTFIXTURE_H
#define ONNX_AOT_TEST_UNIT_RUNTIME_CHECKPOINTFIXTURE_H

#include "Fixture.h"

#include "onnx-aot/runtime/Checkpoint.h"

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace onnx_aot::runtime {

/// A folder that is removed at the end.
struct Folder {
  Folder() {
    char name[] = "/tmp/onnx-aot-checkpoint-XXXXXX";
    path = mkdtemp(name);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string file(const std::string &name) const { return path + "/" + name; }
  std::string path;
};

inline std::vector<char> readFile(const std::string &path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

inline void writeFile(const std::string &path, const std::vector<char> &bytes) {
  std::ofstream(path, std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

/// A small checkpoint with something of everything.
struct Sample {
  Sample() {
    checkpoint.contents = Checkpoint::Training;
    checkpoint.fingerprint = "00112233445566778899aabbccddeeff";
    checkpoint.optimizer = "adamw:betas=0.9/0.999";
    Progress &progress = checkpoint.progress;
    progress.updates = 12;
    progress.steps = 37;
    progress.accumulated = 1;
    progress.seed = -5;
    progress.learningRate = 0.1f;
    progress.schedule = "cosine:total=100";
    progress.schedulePosition = 12;
    progress.lossScale = 1024;
    progress.lossScaleInterval = 2000;
    progress.stepsAtLossScale = 7;
    checkpoint.properties = {{"epoch", int64_t(3)},
                             {"best", 0.25f},
                             {"note", std::string("caf\xc3\xa9 \"x\"")}};
    add(checkpoint.parameters, "w", "", ONNX_AOT_FLOAT32, {2, 3}, weights);
    add(checkpoint.parameters, "scale", "", ONNX_AOT_FLOAT64, {}, scale);
    add(checkpoint.parameters, "mask", "", ONNX_AOT_BOOL, {3}, mask);
    add(checkpoint.slots, "w", "exp_avg", ONNX_AOT_FLOAT32, {2, 3}, moments);
    add(checkpoint.gradients, "w", "", ONNX_AOT_FLOAT32, {2, 3}, gradient);
    add(checkpoint.gradients, "empty", "", ONNX_AOT_INT64, {0, 4}, nothing);
  }

  template <typename T>
  static void add(std::vector<CheckpointTensor> &list, const char *name,
                  const char *slot, int32_t type, std::vector<int64_t> dims,
                  const std::vector<T> &values) {
    list.push_back({name, slot, type, std::move(dims), values.data(),
                    values.size() * sizeof(T)});
  }

  static void expectSame(std::vector<CheckpointTensor> a,
                         std::vector<CheckpointTensor> b) {
    auto byName = [](const CheckpointTensor &x, const CheckpointTensor &y) {
      return x.name < y.name;
    };
    std::sort(a.begin(), a.end(), byName);
    std::sort(b.begin(), b.end(), byName);
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) {
      EXPECT_EQ(a[i].name, b[i].name);
      EXPECT_EQ(a[i].slot, b[i].slot);
      EXPECT_EQ(a[i].type, b[i].type);
      EXPECT_EQ(a[i].dims, b[i].dims);
      ASSERT_EQ(a[i].bytes, b[i].bytes);
      if (a[i].bytes)
        EXPECT_EQ(std::memcmp(a[i].data, b[i].data, a[i].bytes), 0);
    }
  }

  void expectSame(const Checkpoint &other) const {
    EXPECT_EQ(checkpoint.contents, other.contents);
    EXPECT_EQ(checkpoint.fingerprint, other.fingerprint);
    EXPECT_EQ(checkpoint.optimizer, other.optimizer);
    EXPECT_EQ(checkpoint.properties, other.properties);
    const Progress &a = checkpoint.progress, &b = other.progress;
    EXPECT_EQ(a.updates, b.updates);
    EXPECT_EQ(a.steps, b.steps);
    EXPECT_EQ(a.accumulated, b.accumulated);
    EXPECT_EQ(a.seed, b.seed);
    EXPECT_EQ(a.learningRate, b.learningRate);
    EXPECT_EQ(a.schedule, b.schedule);
    EXPECT_EQ(a.schedulePosition, b.schedulePosition);
    EXPECT_EQ(a.lossScale, b.lossScale);
    EXPECT_EQ(a.lossScaleInterval, b.lossScaleInterval);
    EXPECT_EQ(a.stepsAtLossScale, b.stepsAtLossScale);
    expectSame(checkpoint.parameters, other.parameters);
    expectSame(checkpoint.slots, other.slots);
    expectSame(checkpoint.gradients, other.gradients);
  }

  std::vector<float> weights{1, 2, 3, 4, 5, 6}, moments{-1, 0, 1, 2, 3, 4},
      gradient{.5f, .25f, 0, 0, 0, 1};
  std::vector<double> scale{0.1};
  std::vector<char> mask{1, 0, 1};
  std::vector<int64_t> nothing;
  Checkpoint checkpoint;
};

} // namespace onnx_aot::runtime

#endif // ONNX_AOT_TEST_UNIT_RUNTIME_CHECKPOINTFIXTURE_H

//===- TrainerFixture.h - a small training, as the tests use it -*- C++ -*-===//
#ifndef ONNX_AOT_TEST_UNIT_RUNTIME_TRAINERFIXTURE_H
#define ONNX_AOT_TEST_UNIT_RUNTIME_TRAINERFIXTURE_H

#include "CheckpointFixture.h"

#include "onnx-aot/runtime/Trainer.h"

#include <cmath>

/// Inputs/training-fixture.c, linked into the test program.
extern "C" const OnnxAotTraining linear_training, fused_training, both_training;

namespace onnx_aot::runtime {

/// A batch for the fixture: targets of a known line, so that the loss can be 0.
struct Batch {
  explicit Batch(int64_t rows, int first = 0) : x(rows * 3), target(rows) {
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < 3; ++j)
        x[i * 3 + j] =
            static_cast<float>((first + i * 7 + j * 5) % 11) / 8 - 0.5f;
      target[i] = 2 * (x[i * 3] - 3 * x[i * 3 + 1] + x[i * 3 + 2] / 2 + 1);
    }
    inputs[0] = {x.data(), x.size() * 4, ONNX_AOT_FLOAT32, 2, {rows, 3}};
    inputs[1] = {target.data(), target.size() * 4, ONNX_AOT_FLOAT32, 1, {rows}};
  }
  std::vector<float> x, target;
  OnnxAotTensor inputs[2] = {};
};

/// Parameters to begin with.
struct Start {
  Start() {
    Sample::add(checkpoint.parameters, "w", "", ONNX_AOT_FLOAT32, {3}, w);
    Sample::add(checkpoint.parameters, "b", "", ONNX_AOT_FLOAT64, {}, b);
    Sample::add(checkpoint.parameters, "scale", "", ONNX_AOT_FLOAT32, {},
                scale);
    Sample::add(checkpoint.parameters, "seen", "", ONNX_AOT_INT64, {1}, seen);
  }
  std::vector<float> w{.5f, .25f, -.125f}, scale{2};
  std::vector<double> b{0.75};
  std::vector<int64_t> seen{100};
  Checkpoint checkpoint;
};

inline Trainer makeTrainer(const OnnxAotTraining &training = linear_training,
                           TrainerOptions options = {}) {
  Expected<TrainingModule> module = TrainingModule::fromLinked(training);
  EXPECT_TRUE(module.ok()) << module.status().message();
  options.threads = 2;
  Expected<Trainer> trainer = Trainer::create(*module, options);
  EXPECT_TRUE(trainer.ok()) << trainer.status().message();
  Start start;
  EXPECT_EQ(trainer->load(start.checkpoint).message(), "");
  EXPECT_TRUE(trainer->setLearningRate(0.05f).ok());
  return std::move(*trainer);
}

/// The trainer's whole state as bytes.
inline std::vector<char> stateOf(Trainer &trainer) {
  Expected<Checkpoint> checkpoint = trainer.snapshot(Checkpoint::Training);
  EXPECT_TRUE(checkpoint.ok()) << checkpoint.status().message();
  return *checkpoint->toMemory();
}

inline float lossOf(Trainer &trainer, Batch &batch) {
  OnnxAotTensor loss = {};
  Status status = trainer.evalStep(batch.inputs, 2, &loss, 1);
  EXPECT_TRUE(status.ok()) << status.message();
  return status.ok() ? *static_cast<float *>(loss.data) : NAN;
}

} // namespace onnx_aot::runtime

#endif // ONNX_AOT_TEST_UNIT_RUNTIME_TRAINERFIXTURE_H

//===- TrainerTest.cpp - steps of a training ------------------------------===//
#include "TrainerFixture.h"

#include <limits>
#include <new>

using namespace onnx_aot::runtime;

/// Counts allocations of the program while a test asks for it.
static std::atomic<bool> counting{false};
static std::atomic<int> allocations{0};
void *operator new(size_t bytes) {
  if (counting)
    ++allocations;
  if (void *memory = std::malloc(bytes ? bytes : 1))
    return memory;
  throw std::bad_alloc();
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }

namespace {

float *weights(Trainer &trainer) {
  return static_cast<float *>(trainer.parameter(0).data);
}

TEST(Trainer, LearnsTheLine) {
  for (const OnnxAotTraining *training :
       {&linear_training, &fused_training, &both_training}) {
    Trainer trainer = makeTrainer(*training);
    float loss = 0;
    for (int i = 0; i < 3000; ++i) {
      Batch batch(8, i);
      OnnxAotTensor output = {};
      Status status = trainer.step(batch.inputs, 2, &output, 1);
      ASSERT_TRUE(status.ok()) << status.message();
      loss = *static_cast<float *>(output.data);
    }
    EXPECT_LT(loss, 1e-6f);
    EXPECT_NEAR(weights(trainer)[0], 1, 1e-3);
    EXPECT_NEAR(weights(trainer)[1], -3, 1e-3);
    EXPECT_NEAR(weights(trainer)[2], 0.5, 1e-3);
    EXPECT_NEAR(*static_cast<double *>(trainer.parameter(1).data), 1, 1e-3);
    EXPECT_EQ(*static_cast<int64_t *>(trainer.parameter(3).data),
              100 + 3000 * 8);
    EXPECT_EQ(trainer.progress().updates, 3000);
    EXPECT_EQ(trainer.progress().steps, 3000);
  }
}

TEST(Trainer, FusedAndSeparateStepsAgree) {
  Trainer fused = makeTrainer(fused_training), two = makeTrainer();
  for (int i = 0; i < 10; ++i) {
    Batch batch(5, i);
    ASSERT_TRUE(fused.step(batch.inputs, 2, nullptr, 0).ok());
    ASSERT_TRUE(two.trainStep(batch.inputs, 2, nullptr, 0).ok());
    ASSERT_TRUE(two.optimizerStep().ok());
    ASSERT_TRUE(two.lazyResetGrad().ok());
    EXPECT_EQ(fused.gradientNorm(), two.gradientNorm());
  }
  EXPECT_EQ(stateOf(fused), stateOf(two));
}

TEST(Trainer, KeepsGradientsWhereTheyAreWanted) {
  TrainerOptions options;
  options.keepGradients = true;
  Trainer plain = makeTrainer(both_training),
          keeping = makeTrainer(both_training, options);
  Batch batch(5);
  for (Trainer *trainer : {&plain, &keeping})
    ASSERT_TRUE(trainer->step(batch.inputs, 2, nullptr, 0).ok());
  auto first = [](Trainer &trainer) {
    return *static_cast<float *>(trainer.gradient(0).data);
  };
  EXPECT_EQ(first(plain), 0);
  EXPECT_NE(first(keeping), 0);
  EXPECT_EQ(stateOf(plain), stateOf(keeping));
}

TEST(Trainer, LossScaleIsNotForgottenByTheFusedProgram) {
  // One that takes no scale: its place is taken by a second step.
  auto without = [](const OnnxAotTraining &original, auto body) {
    OnnxAotTraining training = original;
    std::vector<OnnxAotBinding> bindings(training.fused.inputs,
                                         training.fused.inputs +
                                             training.fused.module->num_inputs);
    std::vector<OnnxAotValueInfo> infos(training.fused.module->inputs,
                                        training.fused.module->inputs +
                                            training.fused.module->num_inputs);
    for (size_t i = 0; i < bindings.size(); ++i)
      if (bindings[i].role == ONNX_AOT_ROLE_LOSS_SCALE) {
        bindings[i].role = ONNX_AOT_ROLE_STEP;
        infos[i].type = ONNX_AOT_INT64;
      }
    OnnxAotModule module = *training.fused.module;
    module.inputs = infos.data();
    training.fused.module = &module;
    training.fused.inputs = bindings.data();
    body(training);
  };
  without(both_training, [](const OnnxAotTraining &training) {
    Trainer trainer = makeTrainer(training), plain = makeTrainer();
    Batch batch(5);
    ASSERT_TRUE(trainer.setLossScale(8).ok());
    ASSERT_TRUE(trainer.step(batch.inputs, 2, nullptr, 0).ok());
    ASSERT_TRUE(plain.step(batch.inputs, 2, nullptr, 0).ok());
    EXPECT_EQ(weights(trainer)[0], weights(plain)[0]);
    EXPECT_EQ(*static_cast<float *>(trainer.gradient(0).data),
              8 * *static_cast<float *>(plain.gradient(0).data));
  });
  without(fused_training, [](const OnnxAotTraining &training) {
    Trainer trainer = makeTrainer(training);
    EXPECT_TRUE(trainer.setLossScale(1).ok());
    expectFailure(trainer.setLossScale(2), ONNX_AOT_INVALID_ARGUMENT,
                  {"no loss scale"});
  });
}

TEST(Trainer, WithoutOptimizerGivesGradients) {
  OnnxAotTraining training = linear_training;
  training.update.module = nullptr;
  training.num_slots = 0;
  training.optimizer = "none";
  Trainer trainer = makeTrainer(training), full = makeTrainer();
  Batch batch(5);
  ASSERT_EQ(trainer.trainStep(batch.inputs, 2, nullptr, 0).message(), "");
  ASSERT_TRUE(full.trainStep(batch.inputs, 2, nullptr, 0).ok());
  EXPECT_EQ(*static_cast<float *>(trainer.gradient(0).data),
            *static_cast<float *>(full.gradient(0).data));
  expectFailure(trainer.optimizerStep(), ONNX_AOT_INVALID_ARGUMENT,
                {"without an optimizer"});
  ASSERT_TRUE(trainer.lazyResetGrad().ok());
  std::vector<char> before = stateOf(trainer);
  expectFailure(trainer.step(batch.inputs, 2, nullptr, 0),
                ONNX_AOT_INVALID_ARGUMENT, {"without an optimizer"});
  EXPECT_EQ(stateOf(trainer), before);
  expectFailure(trainer.setReduce(
                    [](void *, uint64_t, int32_t) { return std::string(); }),
                ONNX_AOT_INVALID_ARGUMENT, {"without an optimizer"});
}

TEST(Trainer, GradientsAreThoseOfTheLoss) {
  Trainer trainer = makeTrainer();
  Batch batch(6);
  ASSERT_TRUE(trainer.trainStep(batch.inputs, 2, nullptr, 0).ok());
  auto *gradient = static_cast<float *>(trainer.gradient(0).data);
  for (int j = 0; j < 3; ++j) {
    float old = weights(trainer)[j], step = 1.0f / 64;
    weights(trainer)[j] = old + step;
    double above = lossOf(trainer, batch);
    weights(trainer)[j] = old - step;
    double below = lossOf(trainer, batch);
    weights(trainer)[j] = old;
    EXPECT_NEAR(gradient[j], (above - below) / (2 * step), 1e-4);
  }
}

TEST(Trainer, AccumulatesUntilReset) {
  // Two halves of a batch give the gradients of the whole, averaged.
  TrainerOptions mean;
  mean.meanAccumulation = true;
  Trainer whole = makeTrainer(), halves = makeTrainer(linear_training, mean);
  Batch batch(8);
  ASSERT_TRUE(whole.step(batch.inputs, 2, nullptr, 0).ok());
  for (int half = 0; half < 2; ++half) {
    OnnxAotTensor inputs[2] = {batch.inputs[0], batch.inputs[1]};
    inputs[0].data = batch.x.data() + half * 12;
    inputs[1].data = batch.target.data() + half * 4;
    inputs[0].dims[0] = inputs[1].dims[0] = 4;
    ASSERT_TRUE(halves.trainStep(inputs, 2, nullptr, 0).ok());
  }
  EXPECT_EQ(halves.progress().accumulated, 2);
  ASSERT_TRUE(halves.optimizerStep().ok());
  for (int j = 0; j < 3; ++j)
    EXPECT_NEAR(weights(whole)[j], weights(halves)[j], 1e-6);
  // Without a reset the next step adds to them; with one it does not.
  ASSERT_TRUE(halves.trainStep(batch.inputs, 2, nullptr, 0).ok());
  EXPECT_EQ(halves.progress().accumulated, 3);
  ASSERT_TRUE(halves.lazyResetGrad().ok());
  ASSERT_TRUE(halves.trainStep(batch.inputs, 2, nullptr, 0).ok());
  float once = *static_cast<float *>(halves.gradient(0).data);
  ASSERT_TRUE(halves.lazyResetGrad().ok());
  ASSERT_TRUE(halves.trainStep(batch.inputs, 2, nullptr, 0).ok());
  EXPECT_EQ(once, *static_cast<float *>(halves.gradient(0).data));
  ASSERT_TRUE(halves.trainStep(batch.inputs, 2, nullptr, 0).ok());
  EXPECT_EQ(2 * once, *static_cast<float *>(halves.gradient(0).data));
}

TEST(Trainer, GivesOutputsAndNumbers) {
  TrainerOptions options;
  options.seed = 41;
  Trainer trainer = makeTrainer(linear_training, options);
  EXPECT_EQ(trainer.outputNames(true),
            (std::vector<std::string>{"loss", "y", "noise"}));
  EXPECT_EQ(trainer.outputNames(false),
            (std::vector<std::string>{"loss", "y"}));
  Batch batch(4);
  std::vector<float> y(4);
  OnnxAotTensor outputs[3] = {};
  outputs[1] = {y.data(), 16, ONNX_AOT_FLOAT32, 0, {}};
  for (int64_t step = 0; step < 3; ++step) {
    ASSERT_TRUE(trainer.trainStep(batch.inputs, 2, outputs, 3).ok());
    EXPECT_EQ(outputs[1].data, y.data());
    EXPECT_EQ(outputs[1].dims[0], 4);
    auto *noise = static_cast<int64_t *>(outputs[2].data);
    EXPECT_EQ(noise[0], 41);
    EXPECT_EQ(noise[1], step);
  }
  EXPECT_NEAR(*static_cast<float *>(outputs[0].data), lossOf(trainer, batch),
              1e-6);
  // A larger batch after a smaller one, into the trainer's memory.
  OnnxAotTensor own[2] = {};
  ASSERT_TRUE(trainer.evalStep(batch.inputs, 2, own, 2).ok());
  Batch larger(300);
  ASSERT_TRUE(trainer.evalStep(larger.inputs, 2, own, 2).ok());
  EXPECT_EQ(own[1].dims[0], 300);
}

TEST(Trainer, SteadyStepsAllocateNothing) {
  for (const OnnxAotTraining *training : {&linear_training, &fused_training}) {
    Trainer trainer = makeTrainer(*training);
    ASSERT_TRUE(trainer.setSchedule("cosine:T_max=100").ok());
    Batch batch(8);
    OnnxAotTensor outputs[3] = {};
    auto steps = [&] {
      bool good = true;
      for (int i = 0; i < 3; ++i) {
        good &= trainer.step(batch.inputs, 2, outputs, 3).ok();
        good &= trainer.evalStep(batch.inputs, 2, outputs, 2).ok();
        good &= trainer.schedulerStep().ok();
      }
      return good;
    };
    ASSERT_TRUE(steps());
    allocations = 0;
    counting = true;
    bool good = steps();
    counting = false;
    EXPECT_TRUE(good);
    EXPECT_EQ(allocations, 0);
  }
}

TEST(Trainer, LeavesOutUpdatesThatAreNotFinite) {
  Trainer trainer = makeTrainer();
  ASSERT_TRUE(trainer.setLossScale(8, 2).ok());
  Batch batch(4), wrong(4);
  wrong.target[2] = std::numeric_limits<float>::infinity();
  bool updated = false;
  ASSERT_TRUE(trainer.step(batch.inputs, 2, nullptr, 0, &updated).ok());
  EXPECT_TRUE(updated);
  float before = weights(trainer)[0];
  ASSERT_TRUE(trainer.step(wrong.inputs, 2, nullptr, 0, &updated).ok());
  EXPECT_FALSE(updated);
  EXPECT_EQ(weights(trainer)[0], before);
  EXPECT_EQ(trainer.progress().updates, 1);
  EXPECT_EQ(trainer.progress().lossScale, 4);
  for (int i = 0; i < 2; ++i)
    ASSERT_TRUE(trainer.step(batch.inputs, 2, nullptr, 0).ok());
  EXPECT_EQ(trainer.progress().lossScale, 8);
  // A power of two changes no bit.
  Trainer plain = makeTrainer(), scaled = makeTrainer();
  ASSERT_TRUE(scaled.setLossScale(1024).ok());
  ASSERT_TRUE(plain.step(batch.inputs, 2, nullptr, 0).ok());
  ASSERT_TRUE(scaled.step(batch.inputs, 2, nullptr, 0).ok());
  EXPECT_EQ(weights(plain)[0], weights(scaled)[0]);
}

TEST(Trainer, ReducesGradients) {
  // Two processes, here one after the other, each with half of a batch.
  Trainer whole = makeTrainer(), half = makeTrainer();
  Batch batch(8), first(4), second(4);
  std::copy_n(batch.x.begin() + 12, 12, second.x.begin());
  std::copy_n(batch.target.begin() + 4, 4, second.target.begin());
  Trainer other = makeTrainer();
  ASSERT_TRUE(other.trainStep(second.inputs, 2, nullptr, 0).ok());
  std::map<int32_t, uint64_t> counts;
  ASSERT_TRUE(
      half.setReduce([&](void *data, uint64_t count, int32_t type) {
            counts[type] += count;
            EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % 64, 0u);
            OnnxAotTensor theirs = type == ONNX_AOT_FLOAT32 ? other.gradient(0)
                                                            : other.gradient(1);
            for (uint64_t i = 0; i < (type == ONNX_AOT_FLOAT32 ? 3 : 1); ++i)
              if (type == ONNX_AOT_FLOAT32)
                static_cast<float *>(data)[i] =
                    (static_cast<float *>(data)[i] +
                     static_cast<float *>(theirs.data)[i]) /
                    2;
              else
                static_cast<double *>(data)[i] =
                    (static_cast<double *>(data)[i] +
                     static_cast<double *>(theirs.data)[i]) /
                    2;
            return std::string();
          })
          .ok());
  ASSERT_TRUE(half.step(first.inputs, 2, nullptr, 0).ok());
  ASSERT_TRUE(whole.step(batch.inputs, 2, nullptr, 0).ok());
  EXPECT_EQ(counts, (std::map<int32_t, uint64_t>{{ONNX_AOT_FLOAT32, 16},
                                                 {ONNX_AOT_FLOAT64, 8}}));
  for (int j = 0; j < 3; ++j)
    EXPECT_NEAR(weights(whole)[j], weights(half)[j], 1e-6);
  // Its failure leaves the parameters alone.
  std::vector<char> before = stateOf(half);
  ASSERT_TRUE(half.setReduce([](void *, uint64_t, int32_t) {
                    return std::string("the cable is out");
                  })
                  .ok());
  ASSERT_TRUE(half.trainStep(first.inputs, 2, nullptr, 0).ok());
  float parameter = weights(half)[0];
  expectFailure(half.optimizerStep(), ONNX_AOT_EXECUTION_FAILED,
                {"the cable is out"});
  EXPECT_EQ(weights(half)[0], parameter);
  expectFailure(half.optimizerStep(), ONNX_AOT_INVALID_ARGUMENT, {"reset"});
  ASSERT_TRUE(half.lazyResetGrad().ok());
  EXPECT_FALSE(
      makeTrainer(fused_training)
          .setReduce([](void *, uint64_t, int32_t) { return std::string(); })
          .ok());
}

TEST(Trainer, StepsFollowTheSchedule) {
  Trainer trainer = makeTrainer();
  expectFailure(trainer.schedulerStep(), ONNX_AOT_INVALID_ARGUMENT,
                {"no learning-rate schedule"});
  ASSERT_TRUE(trainer.setLearningRate(0.5f).ok());
  ASSERT_TRUE(trainer.setSchedule("linear:total_steps=10,warmup=2").ok());
  EXPECT_EQ(trainer.learningRate(), 0); // at once, not after the first step
  ASSERT_TRUE(trainer.schedulerStep().ok());
  EXPECT_EQ(trainer.learningRate(), 0.25f);
  ASSERT_TRUE(trainer.schedulerStep().ok());
  EXPECT_EQ(trainer.learningRate(), 0.5f);
  expectFailure(trainer.setSchedule("linear"), ONNX_AOT_INVALID_ARGUMENT,
                {"total_steps"});
  EXPECT_EQ(trainer.learningRate(), 0.5f);
  EXPECT_FALSE(trainer.setLearningRate(-1).ok());
  EXPECT_FALSE(trainer.setLearningRate(NAN).ok());
  EXPECT_FALSE(trainer.setLossScale(0).ok());
}

TEST(Trainer, CopiesParameters) {
  Trainer trainer = makeTrainer(), other = makeTrainer();
  EXPECT_EQ(trainer.parameterBytes(true), 12u + 8);
  EXPECT_EQ(trainer.parameterBytes(false), 12u + 8 + 4 + 8);
  Batch batch(4);
  ASSERT_TRUE(trainer.step(batch.inputs, 2, nullptr, 0).ok());
  std::vector<char> buffer(32);
  ASSERT_TRUE(trainer.copyParametersTo(buffer.data(), 32, false).ok());
  ASSERT_TRUE(other.copyParametersFrom(buffer.data(), 32, false).ok());
  EXPECT_EQ(lossOf(trainer, batch), lossOf(other, batch));
  expectFailure(trainer.copyParametersTo(buffer.data(), 31, false),
                ONNX_AOT_INVALID_ARGUMENT, {"31", "32"});
  expectFailure(trainer.copyParametersFrom(nullptr, 32, false),
                ONNX_AOT_INVALID_ARGUMENT, {"null", "32"});

  float values[3] = {7, 8, 9};
  OnnxAotTensor tensor = {values, 12, ONNX_AOT_FLOAT32, 1, {3}};
  ASSERT_TRUE(trainer.setParameter("w", tensor).ok());
  EXPECT_EQ(weights(trainer)[2], 9);
  expectFailure(trainer.setParameter("v", tensor), ONNX_AOT_INVALID_ARGUMENT,
                {"'v'"});
  tensor.dims[0] = 4;
  expectFailure(trainer.setParameter("w", tensor), ONNX_AOT_INVALID_ARGUMENT,
                {"float32 [3]", "float32 [4]"});
  tensor.rank = 99;
  expectFailure(trainer.setParameter("w", tensor), ONNX_AOT_INVALID_ARGUMENT,
                {"wrong rank"});
  EXPECT_EQ(trainer.parameter(9).data, nullptr);
  EXPECT_EQ(trainer.gradient(2).data, nullptr); // frozen
  EXPECT_EQ(trainer.slot(2, 0).data, nullptr);
  EXPECT_EQ(trainer.slot(0, 0).dims[0], 3);
}

TEST(Trainer, RefusesWrongCalls) {
  Trainer trainer = makeTrainer();
  Batch batch(4);
  std::vector<char> before = stateOf(trainer);
  expectFailure(trainer.trainStep(batch.inputs, 1, nullptr, 0),
                ONNX_AOT_INVALID_ARGUMENT, {"1 inputs", "2", "'x', 'target'"});
  expectFailure(trainer.trainStep(nullptr, 2, nullptr, 0),
                ONNX_AOT_INVALID_ARGUMENT, {"0 inputs"});
  OnnxAotTensor outputs[4] = {};
  expectFailure(trainer.trainStep(batch.inputs, 2, outputs, 4),
                ONNX_AOT_INVALID_ARGUMENT, {"4 outputs", "3"});
  expectFailure(trainer.optimizerStep(), ONNX_AOT_INVALID_ARGUMENT,
                {"no gradients"});
  outputs[1].type = ONNX_AOT_INT8;
  expectFailure(trainer.trainStep(batch.inputs, 2, outputs, 2),
                ONNX_AOT_INVALID_ARGUMENT, {"'y'", "int8", "float32"});
  OnnxAotTensor inputs[2] = {batch.inputs[0], batch.inputs[1]};
  inputs[1].type = ONNX_AOT_INT64;
  expectFailure(trainer.trainStep(inputs, 2, nullptr, 0),
                ONNX_AOT_INVALID_ARGUMENT, {"'target'", "int64", "float32"});
  inputs[1] = batch.inputs[1];
  inputs[1].dims[0] = 3;
  expectFailure(trainer.trainStep(inputs, 2, nullptr, 0),
                ONNX_AOT_INVALID_ARGUMENT, {"'N'"});
  // The trainer's own memory is no input and no output.
  inputs[1] = batch.inputs[1];
  inputs[1].data = trainer.parameter(0).data;
  expectFailure(trainer.trainStep(inputs, 2, nullptr, 0),
                ONNX_AOT_INVALID_ARGUMENT,
                {"'target'", "memory of the trainer"});
  outputs[1] = {trainer.gradient(0).data, 16, ONNX_AOT_FLOAT32, 0, {}};
  expectFailure(trainer.trainStep(batch.inputs, 2, outputs, 2),
                ONNX_AOT_INVALID_ARGUMENT, {"'y'", "memory of the trainer"});
  outputs[1] = {batch.x.data(), 16, ONNX_AOT_FLOAT32, 0, {}};
  expectFailure(trainer.trainStep(batch.inputs, 2, outputs, 2),
                ONNX_AOT_INVALID_ARGUMENT, {"overlaps"});
  Batch large(1001);
  expectFailure(trainer.trainStep(large.inputs, 2, nullptr, 0),
                ONNX_AOT_INVALID_ARGUMENT, {"N=1001"});
  EXPECT_EQ(stateOf(trainer), before);
  expectFailure(
      makeTrainer(fused_training).trainStep(batch.inputs, 2, nullptr, 0),
      ONNX_AOT_INVALID_ARGUMENT, {"use step"});
  ASSERT_TRUE(trainer.trainStep(batch.inputs, 2, nullptr, 0).ok());
  expectFailure(trainer.step(batch.inputs, 2, nullptr, 0),
                ONNX_AOT_INVALID_ARGUMENT, {"no update has used"});
}

TEST(Trainer, SaysWhatAStoppedStepLeaves) {
  Batch good(4), bad(4);
  bad.target[3] = -2000;
  Trainer trainer = makeTrainer();
  float before = weights(trainer)[0];
  expectFailure(trainer.trainStep(bad.inputs, 2, nullptr, 0),
                ONNX_AOT_EXECUTION_FAILED, {"below -1000"});
  expectFailure(trainer.optimizerStep(), ONNX_AOT_INVALID_ARGUMENT, {"reset"});
  expectFailure(trainer.trainStep(good.inputs, 2, nullptr, 0),
                ONNX_AOT_INVALID_ARGUMENT, {"reset"});
  EXPECT_EQ(weights(trainer)[0], before);
  ASSERT_TRUE(trainer.lazyResetGrad().ok());
  EXPECT_TRUE(trainer.step(good.inputs, 2, nullptr, 0).ok());
  // step resets by itself.
  EXPECT_FALSE(trainer.step(bad.inputs, 2, nullptr, 0).ok());
  EXPECT_TRUE(trainer.step(good.inputs, 2, nullptr, 0).ok());
  EXPECT_FALSE(trainer.evalStep(bad.inputs, 2, nullptr, 0).ok());
  EXPECT_TRUE(trainer.step(good.inputs, 2, nullptr, 0).ok());

  Trainer fused = makeTrainer(fused_training);
  EXPECT_FALSE(fused.step(bad.inputs, 2, nullptr, 0).ok());
  expectFailure(fused.step(good.inputs, 2, nullptr, 0),
                ONNX_AOT_INVALID_ARGUMENT, {"in the middle", "load"});
  Start start;
  ASSERT_TRUE(fused.load(start.checkpoint).ok());
  EXPECT_TRUE(fused.step(good.inputs, 2, nullptr, 0).ok());
}

} // namespace

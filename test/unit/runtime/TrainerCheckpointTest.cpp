//===- TrainerCheckpointTest.cpp - a training that is saved and resumed ---===//
#include "TrainerFixture.h"

using namespace onnx_aot::runtime;

namespace {

TEST(TrainerCheckpoint, ResumedTrainingsEndTheSame) {
  for (const OnnxAotTraining *training : {&linear_training, &fused_training}) {
    Folder folder;
    std::string path = folder.file("a.safetensors");
    Trainer whole = makeTrainer(*training);
    ASSERT_TRUE(whole.setSchedule("one-cycle:total_steps=30").ok());
    ASSERT_TRUE(whole.setLossScale(2, 7).ok());
    ASSERT_TRUE(whole.setSeed(77).ok());
    whole.properties()["epoch"] = int64_t(1);
    auto steps = [](Trainer &trainer, int from, int to) {
      for (int i = from; i < to; ++i) {
        Batch batch(3, i);
        OnnxAotTensor outputs[3] = {};
        ASSERT_TRUE(trainer.step(batch.inputs, 2, outputs, 3).ok());
        ASSERT_TRUE(trainer.schedulerStep().ok());
      }
    };
    steps(whole, 0, 11);
    ASSERT_TRUE(whole.save(path).ok());
    Trainer resumed = makeTrainer(*training);
    ASSERT_EQ(resumed.load(path).message(), "");
    EXPECT_EQ(resumed.properties()["epoch"], Property(int64_t(1)));
    EXPECT_EQ(stateOf(resumed), stateOf(whole));
    steps(whole, 11, 30);
    steps(resumed, 11, 30);
    EXPECT_EQ(stateOf(resumed), stateOf(whole));
  }
}

TEST(TrainerCheckpoint, KeepsAccumulatedGradients) {
  Trainer whole = makeTrainer(), resumed = makeTrainer();
  Batch first(4), second(4, 3);
  ASSERT_TRUE(whole.trainStep(first.inputs, 2, nullptr, 0).ok());
  Expected<Checkpoint> middle = whole.snapshot(Checkpoint::Training);
  ASSERT_TRUE(middle.ok());
  std::vector<char> bytes = *middle->toMemory();
  Expected<Checkpoint> read =
      Checkpoint::fromMemory(bytes.data(), bytes.size());
  ASSERT_TRUE(resumed.load(*read).ok());
  for (Trainer *trainer : {&whole, &resumed}) {
    ASSERT_TRUE(trainer->trainStep(second.inputs, 2, nullptr, 0).ok());
    ASSERT_TRUE(trainer->optimizerStep().ok());
  }
  EXPECT_EQ(stateOf(resumed), stateOf(whole));
  // A module without gradients cannot take them.
  expectFailure(makeTrainer(fused_training).load(*read),
                ONNX_AOT_INVALID_ARGUMENT, {"accumulated"});
}

TEST(TrainerCheckpoint, ParametersBeginATrainingAnew) {
  Trainer trainer = makeTrainer(), other = makeTrainer();
  Batch batch(4);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(trainer.step(batch.inputs, 2, nullptr, 0).ok());
    ASSERT_TRUE(other.step(batch.inputs, 2, nullptr, 0).ok());
  }
  Expected<Checkpoint> parameters = trainer.snapshot(Checkpoint::Parameters);
  ASSERT_TRUE(parameters.ok());
  EXPECT_TRUE(parameters->slots.empty());
  ASSERT_TRUE(other.load(*parameters).ok());
  EXPECT_EQ(other.progress().updates, 0);
  EXPECT_EQ(*static_cast<float *>(other.slot(0, 0).data), 0);
  EXPECT_EQ(lossOf(other, batch), lossOf(trainer, batch));
  // The same from a whole one.
  Expected<Checkpoint> all = trainer.snapshot(Checkpoint::Training);
  LoadOptions options;
  options.parametersOnly = true;
  Trainer third = makeTrainer();
  ASSERT_TRUE(third.load(*all, options).ok());
  EXPECT_EQ(stateOf(third), stateOf(other));
}

TEST(TrainerCheckpoint, NominalOnesHaveNoValues) {
  Trainer trainer = makeTrainer();
  Expected<Checkpoint> nominal = trainer.snapshot(Checkpoint::Nominal);
  ASSERT_TRUE(nominal.ok());
  Batch batch(4);
  ASSERT_TRUE(trainer.load(*nominal).ok());
  expectFailure(trainer.step(batch.inputs, 2, nullptr, 0),
                ONNX_AOT_INVALID_ARGUMENT, {"'w'", "no value", "checkpoint"});
  expectFailure(trainer.save("/nowhere"), ONNX_AOT_INVALID_ARGUMENT,
                {"no value"});
  std::vector<char> values(trainer.parameterBytes(false));
  ASSERT_TRUE(
      trainer.copyParametersFrom(values.data(), values.size(), false).ok());
  EXPECT_TRUE(trainer.step(batch.inputs, 2, nullptr, 0).ok());
}

TEST(TrainerCheckpoint, RefusedOnesChangeNothing) {
  Trainer trainer = makeTrainer();
  Batch batch(4);
  ASSERT_TRUE(trainer.step(batch.inputs, 2, nullptr, 0).ok());
  ASSERT_TRUE(trainer.setSchedule("cosine:T_max=9").ok());
  trainer.properties()["kept"] = 1.5f;
  std::vector<char> before = stateOf(trainer);
  Trainer source = makeTrainer();
  ASSERT_TRUE(source.step(batch.inputs, 2, nullptr, 0).ok());
  ASSERT_TRUE(source.setSchedule("step:step_size=4").ok());

  auto refused = [&](auto spoil, std::vector<std::string> parts) {
    Expected<Checkpoint> checkpoint = source.snapshot(Checkpoint::Training);
    ASSERT_TRUE(checkpoint.ok());
    spoil(*checkpoint);
    expectFailure(trainer.load(*checkpoint), ONNX_AOT_INVALID_ARGUMENT, parts);
    EXPECT_EQ(stateOf(trainer), before);
  };
  refused([](Checkpoint &c) { c.fingerprint[5] = 'f'; },
          {"another model", "0123456789abcdeffedcba9876543210"});
  refused([](Checkpoint &c) { c.parameters.erase(c.parameters.begin() + 1); },
          {"no parameter 'b'", "3 parameters", "4"});
  refused(
      [](Checkpoint &c) {
        c.parameters.push_back(c.parameters[0]);
        c.parameters.back().name = "extra";
      },
      {"'extra'", "has not"});
  refused([](Checkpoint &c) { c.parameters[0].dims = {1, 3}; },
          {"'w'", "[1, 3]", "[3]"});
  refused([](Checkpoint &c) { c.parameters[0].type = ONNX_AOT_INT32; },
          {"'w'", "int32", "float32"});
  refused([](Checkpoint &c) { c.optimizer = "adam:lr=1"; },
          {"'adam:lr=1'", "'sgd:momentum=0.5'", "only the parameters"});
  refused([](Checkpoint &c) { c.slots.pop_back(); },
          {"'velocity'", "parameter 'b'"});
  refused([](Checkpoint &c) { c.slots[0].dims = {4}; }, {"'velocity'", "[4]"});
  refused([](Checkpoint &c) { c.progress.accumulated = 1; }, {"gradient"});
  refused([](Checkpoint &c) { c.progress.schedule = "sine"; }, {"'sine'"});
  refused([](Checkpoint &c) { c.progress.learningRate = NAN; }, {"rate"});
  refused([](Checkpoint &c) { c.progress.lossScale = 0; }, {"loss scale"});
}

TEST(TrainerCheckpoint, PartialOnesTakeWhatFits) {
  Trainer trainer = makeTrainer();
  Expected<Checkpoint> checkpoint = trainer.snapshot(Checkpoint::Parameters);
  float bias[1] = {0};
  checkpoint->fingerprint = "another";
  checkpoint->parameters.resize(1);
  checkpoint->parameters.push_back(
      {"head", "", ONNX_AOT_FLOAT32, {1}, bias, 4});
  expectFailure(trainer.load(*checkpoint), ONNX_AOT_INVALID_ARGUMENT,
                {"another model"});
  LoadOptions options;
  options.partial = true;
  EXPECT_EQ(trainer.load(*checkpoint, options).message(), "");
  checkpoint->parameters.erase(checkpoint->parameters.begin());
  expectFailure(trainer.load(*checkpoint, options), ONNX_AOT_INVALID_ARGUMENT,
                {"none of the module's"});
}

TEST(TrainingModule, WrongDescriptorsAreRefused) {
  auto refused = [](auto spoil, std::vector<std::string> parts) {
    OnnxAotTraining training = linear_training;
    OnnxAotModule train = *training.train.module;
    std::vector<OnnxAotBinding> bindings(
        training.train.inputs, training.train.inputs + train.num_inputs);
    std::vector<OnnxAotParameterInfo> parameters(
        training.parameters, training.parameters + training.num_parameters);
    training.train.module = &train;
    training.train.inputs = bindings.data();
    training.parameters = parameters.data();
    spoil(training, bindings, parameters);
    expectFailure(TrainingModule::fromLinked(training).status(),
                  ONNX_AOT_INVALID_MODULE, parts);
  };
  using T = OnnxAotTraining;
  using B = std::vector<OnnxAotBinding>;
  using P = std::vector<OnnxAotParameterInfo>;
  refused([](T &t, B &, P &) { t.abi_version = 99; }, {"version 99"});
  refused([](T &t, B &, P &) { t.struct_bytes = 8; }, {"8 bytes"});
  refused([](T &t, B &, P &) { t.num_targets = 3; }, {"wrong number"});
  refused([](T &t, B &, P &) { t.loss = nullptr; }, {"lacks"});
  refused([](T &t, B &, P &) { t.train.module = nullptr; },
          {"no program that trains"});
  refused([](T &t, B &, P &) { t.train.inputs = nullptr; }, {"no bindings"});
  refused([](T &, B &b, P &) { b[0].role = 99; }, {"role 99"});
  refused([](T &, B &b, P &) { b[0].role = ONNX_AOT_ROLE_LOSS; }, {"role 10"});
  refused([](T &, B &b, P &) { b[0].role = ONNX_AOT_ROLE_STEP; },
          {"'seed'", "not of its type"});
  refused([](T &, B &b, P &) { b[1].index = 4; }, {"'w'", "parameter 4 of 4"});
  refused([](T &, B &b, P &) { b[1].index = 1; },
          {"'w'", "not the type and shape"});
  refused([](T &, B &b, P &) { b[5].index = 2; }, {"not trainable"});
  refused([](T &, B &b, P &) { b[8].index = 2; }, {"input 2 of 2"});
  refused([](T &, B &b, P &) { b[8].index = 0; }, {"bound like another"});
  refused([](T &, B &, P &p) { p[0].name = nullptr; }, {"no name"});
  refused([](T &, B &, P &p) { p[1].name = "w"; }, {"'w' is there twice"});
  refused([](T &, B &, P &p) { p[1].rank = 99; }, {"no valid shape"});
  refused([](T &, B &, P &p) { p[1].kind = 7; }, {"kind 7"});
}

TEST(TrainingModule, WrongInferenceProgramsAreRefused) {
  auto refused = [](auto spoil, std::vector<std::string> parts) {
    OnnxAotTraining training = linear_training;
    OnnxAotModule infer = *training.infer.module;
    std::vector<OnnxAotBinding> inputs(
        training.infer.inputs, training.infer.inputs + infer.num_inputs);
    std::vector<OnnxAotBinding> outputs(
        training.infer.outputs, training.infer.outputs + infer.num_outputs);
    training.infer = {&infer, inputs.data(), outputs.data()};
    spoil(infer, inputs, outputs);
    expectFailure(TrainingModule::fromLinked(training).status(),
                  ONNX_AOT_INVALID_MODULE, parts);
  };
  using M = OnnxAotModule;
  using B = std::vector<OnnxAotBinding>;
  refused([](M &, B &in, B &) { std::swap(in[0], in[3]); },
          {"infer", "not the type and shape"});
  refused([](M &, B &in, B &) { in[3].role = ONNX_AOT_ROLE_LEARNING_RATE; },
          {"infer", "'scale'", "wrong place"});
  refused([](M &, B &in, B &) { in[0].index = 1; },
          {"infer", "'x'", "wrong place"});
  refused([](M &, B &, B &out) { out[0].index = 1; }, {"infer", "no output 0"});
}

TEST(TrainingModule, InfersWithACheckpoint) {
  Trainer trainer = makeTrainer();
  Batch batch(4);
  OnnxAotTensor outputs[2] = {}, y = {};
  ASSERT_EQ(trainer.step(batch.inputs, 2, outputs, 1).message(), "");
  ASSERT_EQ(trainer.evalStep(batch.inputs, 2, outputs, 2).message(), "");
  std::vector<float> want(static_cast<float *>(outputs[1].data),
                          static_cast<float *>(outputs[1].data) + 4);

  Expected<Module> module = trainer.inferenceModule();
  ASSERT_TRUE(module.ok()) << module.status().message();
  EXPECT_EQ((*module)->num_inputs, 1);
  EXPECT_STREQ((*module)->inputs[0].name, "x");
  Expected<Session> session = Session::create(*module);
  ASSERT_TRUE(session.ok()) << session.status().message();
  // Later steps do not reach the copy.
  ASSERT_EQ(trainer.step(batch.inputs, 2, nullptr, 0).message(), "");
  ASSERT_EQ(session->run(batch.inputs, 1, &y, 1).message(), "");
  EXPECT_EQ(std::vector<float>(static_cast<float *>(y.data),
                               static_cast<float *>(y.data) + 4),
            want);
  expectFailure(session->run(batch.inputs, 2, &y, 1), ONNX_AOT_INVALID_ARGUMENT,
                {"2 inputs"});

  Folder folder;
  std::string path = folder.file("a.safetensors");
  ASSERT_EQ(trainer.save(path, Checkpoint::Parameters).message(), "");
  Expected<Module> loaded = trainer.module().inferenceModule(path);
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  session = Session::create(*loaded);
  y = {}; // what it had was the first session's
  ASSERT_EQ(session->run(batch.inputs, 1, &y, 1).message(), "");
  EXPECT_NE(static_cast<float *>(y.data)[0], want[0]);

  Expected<Checkpoint> other = trainer.snapshot(Checkpoint::Parameters);
  other->fingerprint[0] ^= 1;
  expectFailure(trainer.module().inferenceModule(*other).status(),
                ONNX_AOT_INVALID_ARGUMENT, {"another model"});
  Expected<Checkpoint> nominal = trainer.snapshot(Checkpoint::Nominal);
  expectFailure(trainer.module().inferenceModule(*nominal).status(),
                ONNX_AOT_INVALID_ARGUMENT, {"nominal"});
  OnnxAotTraining without = linear_training;
  without.infer.module = nullptr;
  Expected<TrainingModule> bare = TrainingModule::fromLinked(without);
  expectFailure(bare->inferenceModule(path).status(), ONNX_AOT_INVALID_ARGUMENT,
                {"no program for inference"});
}

TEST(TrainingModule, IsLoadedFromASharedObject) {
  Expected<TrainingModule> module =
      TrainingModule::load(FIXTURES "training-fixture.so");
  ASSERT_TRUE(module.ok()) << module.status().message();
  EXPECT_STREQ((*module)->optimizer, "sgd:momentum=0.5");
  EXPECT_EQ(module->findParameter("seen"), 3);
  EXPECT_EQ(module->findParameter("none"), -1);
  EXPECT_EQ(module->findInput("target"), 1);
  expectFailure(Module::load(FIXTURES "training-fixture.so").status(),
                ONNX_AOT_INVALID_MODULE, {"is a training module"});
  expectFailure(TrainingModule::load(FIXTURES "fixture-embedded.so").status(),
                ONNX_AOT_INVALID_MODULE, {"is no training module"});
}

} // namespace

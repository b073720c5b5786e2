//===- ModuleTest.cpp - loading modules and asking about them -------------===//
#include "Fixture.h"

#include <cstdlib>
#include <fstream>
#include <unistd.h>

using namespace onnx_aot::runtime;

namespace {

TEST(Module, AnswersQuestions) {
  Expected<Module> module = Module::load(FIXTURES "fixture-embedded.so");
  ASSERT_TRUE(module.ok()) << module.status().message();
  EXPECT_STREQ((*module)->name, "fixture");
  EXPECT_EQ((*module)->num_inputs, 2);
  EXPECT_EQ((*module)->weight_bytes, 16u);
  EXPECT_EQ(static_cast<const float *>(module->weights())[3], 4);
  EXPECT_EQ(module->findInput("scale"), 1);
  EXPECT_EQ(module->findInput("nonzero"), -1);
  EXPECT_EQ(module->findOutput("nonzero"), 1);
  EXPECT_EQ(module->findSymbol("N"), 0);
  EXPECT_EQ(module->findSymbol(""), -1);
}

TEST(Module, PlansAheadOfARun) {
  Module module = linkedFixture();
  Expected<Plan> plan = module.plan({5});
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(plan->arenaBytes, 40u);
  EXPECT_EQ(plan->outputDims,
            (std::vector<std::vector<int64_t>>{{5, 4}, {2, -1}}));
  expectFailure(module.plan({}).status(), ONNX_AOT_INVALID_ARGUMENT,
                {"0 symbol values", "1"});
  expectFailure(module.plan({-1}).status(), ONNX_AOT_INVALID_ARGUMENT,
                {"'N'", "-1"});
  expectFailure(module.plan({INT64_MAX}).status(), ONNX_AOT_INVALID_ARGUMENT,
                {"'N'", "9223372036854775807"});
  expectFailure(module.plan({1001}).status(), ONNX_AOT_INVALID_ARGUMENT,
                {"cannot run", "N=1001"});
}

TEST(Module, FindsTheModuleWhateverItsPrefix) {
  EXPECT_TRUE(Module::load(FIXTURES "fixture-prefixed.so").ok());
  EXPECT_TRUE(Module::load(FIXTURES "fixture-prefixed.so", "other").ok());
  expectFailure(
      Module::load(FIXTURES "fixture-prefixed.so", "fixture").status(),
      ONNX_AOT_INVALID_ARGUMENT, {"prefix 'fixture'", "it has: other"});
  expectFailure(Module::load(FIXTURES "fixture-two.so").status(),
                ONNX_AOT_INVALID_ARGUMENT,
                {"2 modules", "choose a prefix", "first", "second"});
  EXPECT_TRUE(Module::load(FIXTURES "fixture-two.so", "second").ok());
}

TEST(Module, RefusesOtherFiles) {
  expectFailure(Module::load(FIXTURES "missing.so").status(),
                ONNX_AOT_SYSTEM_ERROR, {"missing.so"});
  expectFailure(Module::load("").status(), ONNX_AOT_INVALID_ARGUMENT,
                {"path of the module is empty"});
  // Never from the library path.
  expectFailure(Module::load("libc.so.6").status(), ONNX_AOT_SYSTEM_ERROR,
                {"'libc.so.6'"});
  expectFailure(Module::load(FIXTURES "not-a-module.so").status(),
                ONNX_AOT_INVALID_MODULE, {"not-a-module.so", "is no module"});
  char path[] = "/tmp/onnx-aot-text-XXXXXX";
  int fd = mkstemp(path);
  ASSERT_GE(fd, 0);
  close(fd);
  std::ofstream(path) << "this is text, not a shared object";
  expectFailure(Module::load(path).status(), ONNX_AOT_SYSTEM_ERROR, {path});
  unlink(path);
}

TEST(Module, IsUnloadedWithItsLastUser) {
  for (int i = 0; i < 50; ++i) {
    Expected<Module> module = Module::load(FIXTURES "fixture-embedded.so");
    ASSERT_TRUE(module.ok());
    Expected<Session> session = Session::create(*module);
    ASSERT_TRUE(session.ok());
    Call call(4);
    ASSERT_TRUE(call.run(*session).ok());
  }
}

} // namespace

//===- CApiTest.cpp - the C interface -------------------------------------===//
#include "Fixture.h"

#include <cstring>

extern "C" int runFromC(const char *path);

namespace {

/// A module and a session that go away with the test.
class CApi : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_EQ(onnxAotModuleFromLinked(&first_module, nullptr, &module, &error),
              ONNX_AOT_OK);
    ASSERT_EQ(onnxAotSessionCreate(module, nullptr, &session, &error),
              ONNX_AOT_OK);
  }
  void TearDown() override {
    onnxAotSessionRelease(session);
    onnxAotModuleRelease(module);
  }
  void expectError(OnnxAotCode code, OnnxAotCode expected, const char *part) {
    EXPECT_EQ(code, expected);
    EXPECT_EQ(error.code, expected);
    EXPECT_TRUE(std::strstr(error.message, part)) << error.message;
  }

  OnnxAotError error;
  OnnxAotLoadedModule *module = nullptr;
  OnnxAotSession *session = nullptr;
};

TEST_F(CApi, RunsFromC99) {
  EXPECT_EQ(runFromC(nullptr), 0);
  EXPECT_EQ(runFromC(FIXTURES "fixture-embedded.so"), 0);
}

TEST_F(CApi, AnswersQuestions) {
  EXPECT_EQ(onnxAotModuleDescriptor(module), &first_module);
  EXPECT_EQ(onnxAotModuleFindInput(module, "x"), 0);
  EXPECT_EQ(onnxAotModuleFindOutput(module, "x"), -1);
  EXPECT_EQ(onnxAotModuleFindSymbol(module, "N"), 0);
  EXPECT_EQ(onnxAotModuleFindInput(module, nullptr), -1);
  EXPECT_EQ(onnxAotModuleFindInput(nullptr, "x"), -1);
  EXPECT_EQ(onnxAotModuleDescriptor(nullptr), nullptr);
  EXPECT_EQ(onnxAotTypeBytes(ONNX_AOT_FLOAT64), 8u);
  EXPECT_EQ(onnxAotTypeBytes(-1), 0u);
  EXPECT_STREQ(onnxAotTypeName(ONNX_AOT_BFLOAT16), "bfloat16");
  EXPECT_STREQ(onnxAotTypeName(1000), "unknown");
  EXPECT_GE(onnxAotUsableCores(), 1);
  EXPECT_STREQ(onnxAotVersion(), "0.1.0");
}

TEST_F(CApi, Plans) {
  int64_t symbols[] = {7}, dims[4] = {};
  uint64_t arena = 0;
  ASSERT_EQ(onnxAotModulePlan(module, symbols, 1, dims, &arena, &error),
            ONNX_AOT_OK);
  EXPECT_EQ(dims[0], 7);
  EXPECT_EQ(dims[3], -1);
  EXPECT_EQ(arena, 56u);
  EXPECT_EQ(onnxAotModulePlan(module, symbols, 1, nullptr, nullptr, nullptr),
            ONNX_AOT_OK);
  expectError(onnxAotModulePlan(module, symbols, 3, dims, &arena, &error),
              ONNX_AOT_INVALID_ARGUMENT, "3 symbol values");
  expectError(onnxAotModulePlan(module, nullptr, 1, dims, &arena, &error),
              ONNX_AOT_INVALID_ARGUMENT, "null");
  expectError(onnxAotModulePlan(module, symbols, -1, dims, &arena, &error),
              ONNX_AOT_INVALID_ARGUMENT, "-1");
}

TEST_F(CApi, RefusesNulls) {
  OnnxAotLoadedModule *other = nullptr;
  OnnxAotSession *otherSession = nullptr;
  const OnnxAotCode invalid = ONNX_AOT_INVALID_ARGUMENT;
  expectError(onnxAotModuleLoad(nullptr, nullptr, &other, &error), invalid,
              "'path' is null");
  expectError(onnxAotModuleLoad("x", nullptr, nullptr, &error), invalid,
              "'module' is null");
  expectError(onnxAotModuleFromLinked(nullptr, nullptr, &other, &error),
              invalid, "'descriptor' is null");
  expectError(onnxAotModulePlan(nullptr, nullptr, 0, nullptr, nullptr, &error),
              invalid, "'module' is null");
  expectError(onnxAotSessionCreate(nullptr, nullptr, &otherSession, &error),
              invalid, "'module' is null");
  expectError(onnxAotSessionCreate(module, nullptr, nullptr, &error), invalid,
              "'session' is null");
  expectError(onnxAotSessionRun(nullptr, nullptr, 0, nullptr, 0, &error),
              invalid, "'session' is null");
  expectError(onnxAotSessionRun(session, nullptr, -2, nullptr, 0, &error),
              invalid, "inputs is negative (-2)");
  EXPECT_EQ(onnxAotSessionRun(session, nullptr, 0, nullptr, 0, nullptr),
            invalid);
  EXPECT_EQ(other, nullptr);
  EXPECT_EQ(otherSession, nullptr);
  onnxAotModuleRelease(nullptr);
  onnxAotSessionRelease(nullptr);
  onnxAotSessionOptionsInit(nullptr);
  EXPECT_EQ(onnxAotSessionArenaBytes(nullptr), 0u);
}

TEST_F(CApi, ChecksOptions) {
  OnnxAotSession *other = nullptr;
  OnnxAotSessionOptions options = {};
  expectError(onnxAotSessionCreate(module, &options, &other, &error),
              ONNX_AOT_INVALID_ARGUMENT, "onnxAotSessionOptionsInit");
  onnxAotSessionOptionsInit(&options);
  EXPECT_EQ(options.threads, onnxAotUsableCores());
  options.threads = 0;
  expectError(onnxAotSessionCreate(module, &options, &other, &error),
              ONNX_AOT_INVALID_ARGUMENT, "threads is 0");
  EXPECT_EQ(other, nullptr);
}

TEST_F(CApi, CutsLongMessages) {
  std::string path(5000, 'a');
  EXPECT_NE(onnxAotModuleLoad(path.c_str(), nullptr, &module, &error),
            ONNX_AOT_OK);
  EXPECT_LT(std::strlen(error.message), sizeof(error.message));
}

TEST_F(CApi, ClearsTheErrorOnSuccess) {
  error.code = 5;
  std::strcpy(error.message, "old");
  int64_t symbols[] = {7};
  EXPECT_EQ(onnxAotModulePlan(module, symbols, 1, nullptr, nullptr, &error),
            ONNX_AOT_OK);
  EXPECT_EQ(error.code, ONNX_AOT_OK);
  EXPECT_STREQ(error.message, "");
}

} // namespace

//===- DescriptorTest.cpp - modules this runtime cannot run ---------------===//
#include "Fixture.h"

#include <functional>

using namespace onnx_aot::runtime;

namespace {

/// A copy of the fixture's descriptor whose tables can be changed.
struct Changed {
  Changed() {
    for (int i = 0; i < 2; ++i) {
      inputs[i] = first_module.inputs[i];
      outputs[i] = first_module.outputs[i];
    }
    module.inputs = inputs;
    module.outputs = outputs;
  }
  OnnxAotModule module = first_module;
  OnnxAotValueInfo inputs[2], outputs[2];
};

const int64_t strange[] = {-3, 4};
const int64_t fixedDims[] = {3, 4};
const char *const noName[] = {nullptr};

struct BadDescriptor {
  std::function<void(Changed &)> change;
  std::vector<std::string> message;
};

const BadDescriptor badDescriptors[] = {
    {[](Changed &c) { c.module.abi_version = 7; },
     {"version 7", "supports version " + std::to_string(ONNX_AOT_ABI_VERSION)}},
    {[](Changed &c) { c.module.struct_bytes = 8; }, {"has 8 bytes"}},
    {[](Changed &c) { c.module.target = "x86_64-linux future sse2,warp"; },
     {"another processor", "lacks", "warp", "--cpu="}},
    {[](Changed &c) { c.module.num_inputs = -1; }, {"negative number"}},
    {[](Changed &c) { c.module.run = nullptr; }, {"lacks"}},
    {[](Changed &c) { c.module.plan = nullptr; }, {"lacks"}},
    {[](Changed &c) { c.module.inputs = nullptr; }, {"lacks"}},
    {[](Changed &c) { c.module.symbols = noName; }, {"symbol 0 has no name"}},
    {[](Changed &c) { c.inputs[1].name = nullptr; }, {"no name"}},
    {[](Changed &c) { c.inputs[1].type = 0; },
     {"input 'scale'", "unknown type 0"}},
    {[](Changed &c) { c.inputs[0].rank = 17; },
     {"input 'x'", "rank 17", "0 to 16"}},
    {[](Changed &c) { c.inputs[0].dims = nullptr; },
     {"input 'x'", "no dimensions"}},
    {[](Changed &c) { c.inputs[0].flags = 64; }, {"input 'x'", "flags 64"}},
    {[](Changed &c) { c.outputs[0].flags = ONNX_AOT_VALUE_ELEMENTS; },
     {"value 'y'", "part of a sequence"}},
    {[](Changed &c) { c.outputs[0].flags = ONNX_AOT_VALUE_SHAPES; },
     {"value 'y'", "part of a sequence"}},
    {[](Changed &c) { c.outputs[0].flags = ONNX_AOT_VALUE_PRESENT; },
     {"value 'y'", "an optional"}},
    {[](Changed &c) { c.outputs[0].flags = ONNX_AOT_VALUE_IN_OUT; },
     {"output 'y'", "flags 1"}},
    {[](Changed &c) { c.inputs[0].dims = strange; },
     {"input 'x'", "dimension 0 is -3"}},
    {[](Changed &c) { c.inputs[0].dims = c.inputs[1].dims = fixedDims; },
     {"no input has the symbolic dimension 'N'"}},
    {[](Changed &c) { c.module.weights = nullptr; }, {"weights", "not where"}},
    {[](Changed &c) {
       c.module.weights = static_cast<const char *>(c.module.weights) + 4;
     },
     {"weights are not aligned to 64"}},
};

TEST(Descriptor, RefusesWhatItCannotRun) {
  for (const BadDescriptor &bad : badDescriptors) {
    Changed changed;
    bad.change(changed);
    Expected<Module> module = Module::fromLinked(changed.module);
    ASSERT_FALSE(module.ok()) << bad.message.front();
    expectFailure(module.status(), ONNX_AOT_INVALID_MODULE, bad.message);
  }
  Changed same;
  EXPECT_TRUE(Module::fromLinked(same.module).ok());
}

int32_t wrongPlan(const int64_t *, int64_t *dims, uint64_t *arena) {
  dims[1] = 5; // declared as 4
  *arena = 64;
  return ONNX_AOT_RUN_OK;
}

int32_t hugePlan(const int64_t *, int64_t *dims, uint64_t *arena) {
  dims[0] = INT64_MAX;
  dims[1] = 4;
  *arena = 64;
  return ONNX_AOT_RUN_OK;
}

int32_t greedyPlan(const int64_t *symbols, int64_t *dims, uint64_t *arena) {
  dims[0] = symbols[0];
  *arena = UINT64_MAX - 8;
  return ONNX_AOT_RUN_OK;
}

int32_t forgetfulRun(const OnnxAotRuntime *, const void *, const int64_t *,
                     const void *const *, void *const *, void *) {
  return ONNX_AOT_RUN_OK;
}

int32_t strangeRun(const OnnxAotRuntime *, const void *, const int64_t *,
                   const void *const *, void *const *, void *) {
  return 12;
}

TEST(Descriptor, DistrustsWhatTheModuleAnswers) {
  struct Case {
    std::function<void(Changed &)> change;
    OnnxAotCode code;
    std::vector<std::string> message;
  } cases[] = {
      {[](Changed &c) { c.module.plan = wrongPlan; },
       ONNX_AOT_INVALID_MODULE,
       {"output 'y'", "planned as 5", "declared as 4"}},
      {[](Changed &c) { c.module.plan = hugePlan; },
       ONNX_AOT_INVALID_ARGUMENT,
       {"output 'y'", "does not fit memory"}},
      {[](Changed &c) { c.module.plan = greedyPlan; },
       ONNX_AOT_OUT_OF_MEMORY,
       {"arena of 18446744073709551607 bytes"}},
      {[](Changed &c) { c.module.run = forgetfulRun; },
       ONNX_AOT_INVALID_MODULE,
       {"did not make output 'nonzero'"}},
      {[](Changed &c) { c.module.run = strangeRun; },
       ONNX_AOT_INVALID_MODULE,
       {"unknown status 12"}},
  };
  for (const auto &c : cases) {
    Changed changed;
    c.change(changed);
    Expected<Module> module = Module::fromLinked(changed.module);
    ASSERT_TRUE(module.ok()) << module.status().message();
    Expected<Session> session = Session::create(*module);
    ASSERT_TRUE(session.ok());
    Call call(2);
    call.outputs.assign(2, OnnxAotTensor{});
    expectFailure(call.run(*session), c.code, c.message);
  }
}

} // namespace

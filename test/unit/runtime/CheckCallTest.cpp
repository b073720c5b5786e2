//===- CheckCallTest.cpp - every wrong call is refused without effect -----===//
#include "CheckCall.h"
#include "Fixture.h"

#include <functional>

using namespace onnx_aot::runtime;

namespace {

struct BadCall {
  const char *name;
  std::function<void(Call &)> spoil;
  std::vector<std::string> message;
};

const BadCall badCalls[] = {
    {"missing input",
     [](Call &c) { c.inputs[1] = {}; },
     {"input 'scale' is missing", "float32 [N]"}},
    {"too few inputs", [](Call &c) { c.inputs.pop_back(); }, {"1 inputs", "2"}},
    {"too many inputs",
     [](Call &c) { c.inputs.push_back(c.inputs[0]); },
     {"3 inputs", "2"}},
    {"no outputs", [](Call &c) { c.outputs.clear(); }, {"0 outputs", "2"}},
    {"too many outputs",
     [](Call &c) { c.outputs.push_back({}); },
     {"3 outputs", "2"}},
    {"wrong type",
     [](Call &c) { c.inputs[0].type = ONNX_AOT_INT64; },
     {"input 'x'", "int64", "float32"}},
    {"unknown type",
     [](Call &c) { c.inputs[0].type = 99; },
     {"input 'x'", "unknown (99)", "float32"}},
    {"wrong rank",
     [](Call &c) { c.inputs[0].rank = 3; },
     {"input 'x'", "rank is 3", "rank 2", "[N, 4]"}},
    {"negative rank",
     [](Call &c) { c.inputs[1].rank = -1; },
     {"input 'scale'", "rank is -1", "rank 1"}},
    {"wrong fixed size",
     [](Call &c) { c.inputs[0].dims[1] = 5; },
     {"input 'x'", "dimension 1 is 5", "takes 4", "[N, 4]"}},
    {"negative size",
     [](Call &c) { c.inputs[0].dims[0] = -2; },
     {"input 'x'", "dimension 0", "negative (-2)"}},
    {"inconsistent symbols",
     [](Call &c) { c.inputs[1].dims[0] = 2; },
     {"input 'scale'", "dimension 0 ('N') is 2", "input 'x' dimension 0",
      "is 3"}},
    {"symbol value too large",
     [](Call &c) { c.inputs[0].dims[0] = INT64_MAX; },
     {"input 'x'", "9223372036854775807", "1099511627776"}},
    {"sizes that overflow",
     [](Call &c) { c.inputs[0].dims[0] = int64_t(1) << 40; },
     {"input 'x'", "has 48 bytes", "needs 17592186044416"}},
    {"size that the model refuses",
     [](Call &c) { c = Call(1001); },
     {"the model cannot run", "N=1001", "there are too many"}},
    {"null data",
     [](Call &c) { c.inputs[0].data = nullptr; },
     {"input 'x'", "null", "48"}},
    {"short input buffer",
     [](Call &c) { c.inputs[0].bytes = 47; },
     {"input 'x'", "has 47 bytes", "needs 48"}},
    {"misaligned input",
     [](Call &c) {
       c.inputs[1].data = reinterpret_cast<char *>(c.inputs[1].data) + 2;
     },
     {"input 'scale'", "not aligned to the 4 bytes", "float32"}},
    {"input past the end of memory",
     [](Call &c) {
       c.inputs[1].data = reinterpret_cast<void *>(UINTPTR_MAX - 3);
     },
     {"input 'scale'", "end of memory"}},
    {"wrong output type",
     [](Call &c) { c.outputs[1].type = ONNX_AOT_INT32; },
     {"output 'nonzero'", "int32", "int64"}},
    {"short output buffer",
     [](Call &c) { c.outputs[0].bytes = 44; },
     {"output 'y'", "has 44 bytes", "needs 48"}},
    {"misaligned output",
     [](Call &c) {
       c.outputs[0].data = reinterpret_cast<char *>(c.outputs[0].data) + 1;
     },
     {"output 'y'", "not aligned to the 4 bytes"}},
    {"output over input",
     [](Call &c) { c.outputs[0].data = c.x.data() + 3; },
     {"output 'y' overlaps input 'x'"}},
    {"output over output",
     [](Call &c) { c.outputs[0].data = c.nonzero.data() + 2; },
     {"output 'y' overlaps output 'nonzero'"}},
    {"input over the end of an output",
     [](Call &c) { c.inputs[1].data = c.y.data() + 11; },
     {"output 'y' overlaps input 'scale'"}},
};

TEST(CheckCall, RefusesEveryWrongCallAndTouchesNothing) {
  for (int threads : {1, 3}) {
    SessionOptions options;
    options.threads = threads;
    Expected<Session> session = Session::create(linkedFixture(), options);
    ASSERT_TRUE(session.ok());
    // A legal run first: its result must survive what follows.
    Call before(2);
    before.outputs.assign(2, OnnxAotTensor{});
    ASSERT_TRUE(before.run(*session).ok());
    for (const BadCall &bad : badCalls) {
      SCOPED_TRACE(bad.name);
      Call call(3);
      bad.spoil(call);
      expectFailure(call.run(*session), ONNX_AOT_INVALID_ARGUMENT, bad.message);
      EXPECT_TRUE(call.untouched());
      before.expectResult();
    }
    Call after(3);
    ASSERT_TRUE(after.run(*session).ok());
    after.expectResult();
  }
}

TEST(CheckCall, RefusesNullLists) {
  Expected<Session> session = Session::create(linkedFixture());
  ASSERT_TRUE(session.ok());
  Call call(2);
  expectFailure(session->run(nullptr, 2, call.outputs.data(), 2),
                ONNX_AOT_INVALID_ARGUMENT, {"inputs are null"});
  expectFailure(session->run(call.inputs.data(), 2, nullptr, 2),
                ONNX_AOT_INVALID_ARGUMENT, {"outputs are null"});
  EXPECT_TRUE(call.untouched());
}

TEST(CheckCall, AllowsInputsThatOverlapInputs) {
  Expected<Session> session = Session::create(linkedFixture());
  ASSERT_TRUE(session.ok());
  Call call(2);
  call.x.assign(8, 2); // scale is 2, too
  call.inputs[1].data = call.x.data();
  Status status = call.run(*session);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(call.y[0], 5);
}

TEST(CheckCall, FindsOverlapBehindALongerInput) {
  const OnnxAotModule &module = first_module;
  std::vector<MemoryUse> uses = {{0, 100, MemoryUse::Input, 0},
                                 {10, 20, MemoryUse::Input, 1},
                                 {50, 60, MemoryUse::Output, 0}};
  expectFailure(checkOverlap(module, uses), ONNX_AOT_INVALID_ARGUMENT,
                {"output 'y' overlaps input 'x'"});
  uses = {{0, 100, MemoryUse::Input, 0}, {50, 60, MemoryUse::InOut, 1}};
  EXPECT_FALSE(checkOverlap(first_module, uses).ok());
  uses = {{0, 100, MemoryUse::Output, 0},
          {10, 10, MemoryUse::Input, 0},
          {100, 200, MemoryUse::Arena, 0}};
  EXPECT_TRUE(checkOverlap(module, uses).ok());
}

} // namespace

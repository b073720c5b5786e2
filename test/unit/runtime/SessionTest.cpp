//===- SessionTest.cpp - running a module ---------------------------------===//
#include "Fixture.h"

#include <atomic>
#include <cmath>
#include <thread>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

using namespace onnx_aot::runtime;

namespace {

Session makeSession(int threads = 1) {
  SessionOptions options;
  options.threads = threads;
  Expected<Session> session = Session::create(linkedFixture(), options);
  EXPECT_TRUE(session.ok()) << session.status().message();
  return std::move(*session);
}

TEST(Session, WritesIntoTheCallersBuffers) {
  Session session = makeSession();
  Call call(3);
  Status status = call.run(session);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(call.outputs[0].data, call.y.data());
  EXPECT_EQ(call.outputs[0].bytes, 3u * 4 * 4);
  EXPECT_EQ(call.outputs[0].rank, 2);
  EXPECT_EQ(call.outputs[0].dims[0], 3);
  EXPECT_EQ(call.outputs[1].data, call.nonzero.data());
  EXPECT_EQ(call.outputs[1].bytes, 2u * 11 * 8);
  call.expectResult();
}

TEST(Session, OwnsOutputsWithNullDataAndReusesThem) {
  Session session = makeSession();
  std::vector<OnnxAotTensor> outputs(2);
  for (int64_t rows : {2, 5, 1, 100, 3}) {
    Call call(rows);
    call.outputs = outputs; // as the last run filled them in
    Status status = call.run(session);
    ASSERT_TRUE(status.ok()) << status.message();
    call.expectResult();
    outputs = call.outputs;
  }
}

TEST(Session, TakesSizesOfZero) {
  Session session = makeSession(2);
  std::vector<OnnxAotTensor> outputs(2);
  for (int64_t rows : {0, 2, 0}) {
    Call call(rows);
    call.outputs = outputs;
    Status status = call.run(session);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(call.outputs[0].dims[0], rows);
    call.expectResult();
    outputs = call.outputs;
  }
}

TEST(Session, TakesItsOwnOutputAsTheNextInput) {
  Session session = makeSession();
  Call call(2);
  call.outputs.assign(2, OnnxAotTensor{});
  ASSERT_TRUE(call.run(session).ok());
  std::vector<float> expected = call.x;
  for (int step = 0; step < 4; ++step) {
    for (size_t i = 0; i < expected.size(); ++i)
      expected[i] = expected[i] * 2 + static_cast<float>(i % 4 + 1);
    const float *y = static_cast<const float *>(call.outputs[0].data);
    for (size_t i = 0; i < expected.size(); ++i)
      ASSERT_EQ(y[i], expected[i]) << "step " << step;
    call.inputs[0].data = call.outputs[0].data;
    Status status = call.run(session);
    ASSERT_TRUE(status.ok()) << status.message();
  }
}

TEST(Session, UsesTheCallersArena) {
  alignas(ONNX_AOT_ALIGNMENT) char arena[64];
  SessionOptions options;
  options.threads = 1;
  options.arena = arena;
  options.arenaBytes = sizeof(arena);
  Expected<Session> session = Session::create(linkedFixture(), options);
  ASSERT_TRUE(session.ok()) << session.status().message();
  EXPECT_EQ(session->arenaBytes(), 64u);
  Call fits(8);
  ASSERT_TRUE(fits.run(*session).ok());
  fits.expectResult();
  Call larger(9);
  expectFailure(larger.run(*session), ONNX_AOT_INVALID_ARGUMENT,
                {"arena", "64", "72"});
  EXPECT_TRUE(larger.untouched());
  Call inArena(1);
  inArena.outputs[0].data = arena;
  inArena.outputs[0].bytes = sizeof(arena);
  expectFailure(inArena.run(*session), ONNX_AOT_INVALID_ARGUMENT,
                {"output 'y'", "the arena", "overlap"});
}

TEST(Session, ReturnsTensors) {
  Session session = makeSession();
  std::vector<Tensor> inputs;
  inputs.push_back(
      std::move(*Tensor::of<float>(ONNX_AOT_FLOAT32, {1, 4}, {0, 1, 0, 3})));
  inputs.push_back(std::move(*Tensor::of<float>(ONNX_AOT_FLOAT32, {1}, {10})));
  Expected<std::vector<Tensor>> outputs = session.run(inputs);
  ASSERT_TRUE(outputs.ok()) << outputs.status().message();
  EXPECT_EQ((*outputs)[0].dataAs<float>()[3], 34);
  EXPECT_EQ((*outputs)[1].dims(), (std::vector<int64_t>{2, 2}));
  EXPECT_EQ((*outputs)[1].dataAs<int64_t>()[3], 3);
}

TEST(Session, ReportsTheModelsOwnFailure) {
  Session session = makeSession();
  Call call(2);
  call.x[5] = NAN;
  expectFailure(call.run(session), ONNX_AOT_EXECUTION_FAILED,
                {"model 'fixture'", "node 'nonzero': x holds a NaN"});
  call.x[5] = 5;
  ASSERT_TRUE(call.run(session).ok());
  call.expectResult();
}

TEST(Session, ReportsAnOutputThatOutgrowsItsBuffer) {
  Session session = makeSession();
  Call call(2);
  call.outputs[1].bytes = 13 * 8;
  expectFailure(call.run(session), ONNX_AOT_INVALID_ARGUMENT,
                {"output 'nonzero'", "104", "112", "[2, 7]"});
}

TEST(Session, RefusesASecondRunAtOnce) {
  // One thread keeps the session busy; any refusal must leave its own output
  // buffers alone, any acceptance must be right.
  Session session = makeSession();
  std::atomic<int> refused{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        Call call(100);
        Status status = call.run(session);
        if (status.ok()) {
          call.expectResult();
          continue;
        }
        ++refused;
        expectFailure(status, ONNX_AOT_INVALID_ARGUMENT,
                      {"running in another thread"});
        EXPECT_TRUE(call.untouched());
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_LT(refused, 800);
}

TEST(Session, RunsConcurrentlyWithOthers) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t)
    threads.emplace_back([t] {
      Session session = makeSession(1 + t % 4);
      for (int i = 0; i < 300; ++i) {
        Call call(1 + (i * 7 + t) % 97);
        if (i % 2)
          call.outputs.assign(2, OnnxAotTensor{});
        Status status = call.run(session);
        ASSERT_TRUE(status.ok()) << status.message();
        call.expectResult();
      }
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST(Session, OutlivesItsModuleHandle) {
  Expected<Session> session = [] {
    Expected<Module> module = Module::load(FIXTURES "fixture-embedded.so");
    EXPECT_TRUE(module.ok()) << module.status().message();
    return Session::create(*module);
  }();
  ASSERT_TRUE(session.ok());
  Call call(3);
  ASSERT_TRUE(call.run(*session).ok());
  call.expectResult();
}

TEST(Session, RefusesWrongOptions) {
  struct Case {
    int threads;
    uintptr_t arena;
    uint64_t bytes;
    std::vector<std::string> message;
  } cases[] = {
      {0, 0, 0, {"threads is 0", "1 to 256"}},
      {-3, 0, 0, {"threads is -3"}},
      {257, 0, 0, {"threads is 257"}},
      {1, 0, 64, {"arena is null", "64"}},
      {1, 4096 + 32, 64, {"arena", "aligned to 64"}},
      {1, 4096, UINT64_MAX, {"arena", "end of memory"}},
  };
  for (const Case &c : cases) {
    SessionOptions options;
    options.threads = c.threads;
    options.arena = reinterpret_cast<void *>(c.arena);
    options.arenaBytes = c.bytes;
    Expected<Session> session = Session::create(linkedFixture(), options);
    ASSERT_FALSE(session.ok());
    expectFailure(session.status(), ONNX_AOT_INVALID_ARGUMENT, c.message);
  }
}

#if defined(__x86_64__)
TEST(Session, LeavesFloatingPointControlToTheCaller) {
  const unsigned flushToZero = 0x8040; // FTZ and DAZ
  const unsigned before = _mm_getcsr();
  Session session = makeSession(4);
  for (int i = 0; i < 50; ++i) {
    bool flush = i % 2;
    Call call(64);
    for (float &value : call.x)
      value = 1e-40f; // a denormal number, or 0 when flushed
    _mm_setcsr(flush ? before | flushToZero : before);
    Status status = call.run(session);
    unsigned after = _mm_getcsr();
    _mm_setcsr(before);
    ASSERT_TRUE(status.ok());
    EXPECT_EQ(after & flushToZero, flush ? flushToZero : 0u);
    // The workers counted under the same setting as the caller.
    EXPECT_EQ(call.outputs[1].dims[1], flush ? 0 : 256);
  }
}
#endif

} // namespace

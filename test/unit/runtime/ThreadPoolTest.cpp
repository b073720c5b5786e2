//===- ThreadPoolTest.cpp - the pool under stress -------------------------===//
#include "ThreadPool.h"
#include "Fixture.h"
#include "FloatControl.h"

#include <chrono>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace onnx_aot::runtime;

namespace {

/// Counts how often each index was computed.
struct Counter {
  explicit Counter(int64_t count) : counts(count) {}
  std::vector<std::atomic<int>> counts;

  static void task(void *context, int64_t begin, int64_t end) {
    auto &self = *static_cast<Counter *>(context);
    for (int64_t i = begin; i < end; ++i)
      ++self.counts[i];
  }

  void expectOnce() const {
    for (const std::atomic<int> &count : counts)
      ASSERT_EQ(count, 1);
  }
};

std::shared_ptr<ThreadPool> poolWith(int workers) {
  auto pool = std::make_shared<ThreadPool>();
  Status status = pool->reserve(workers);
  EXPECT_TRUE(status.ok()) << status.message();
  return pool;
}

TEST(ThreadPool, ComputesEachIndexOnce) {
  auto pool = poolWith(7);
  for (int64_t count : {0, 1, 2, 3, 7, 8, 31, 100, 1000, 4097})
    for (int threads : {1, 2, 3, 8, 100})
      for (int round = 0; round < 20; ++round) {
        Counter counter(count);
        pool->parallelFor(Counter::task, &counter, count, threads);
        counter.expectOnce();
      }
}

TEST(ThreadPool, IgnoresNegativeCounts) {
  auto pool = poolWith(2);
  pool->parallelFor([](void *, int64_t, int64_t) { ADD_FAILURE() << "called"; },
                    nullptr, -5, 3);
}

TEST(ThreadPool, ServesManyCallersAtOnce) {
  auto pool = poolWith(5);
  std::vector<std::thread> callers;
  for (int c = 0; c < 8; ++c)
    callers.emplace_back([&, c] {
      for (int round = 0; round < 2000; ++round) {
        Counter counter(1 + (round * 13 + c) % 61);
        pool->parallelFor(Counter::task, &counter,
                          static_cast<int64_t>(counter.counts.size()),
                          2 + c % 4);
        counter.expectOnce();
      }
    });
  for (std::thread &caller : callers)
    caller.join();
}

TEST(ThreadPool, RunsNestedLoopsOnTheirCaller) {
  auto pool = poolWith(3);
  struct Outer {
    ThreadPool *pool;
    std::atomic<int> inner{0};
    std::atomic<bool> moved{false};
  } outer{pool.get()};
  auto innerTask = [](void *context, int64_t begin, int64_t end) {
    auto &[outer, owner] =
        *static_cast<std::pair<Outer *, std::thread::id> *>(context);
    outer->inner += static_cast<int>(end - begin);
    if (std::this_thread::get_id() != owner)
      outer->moved = true;
  };
  static void (*const inner)(void *, int64_t, int64_t) = innerTask;
  auto outerTask = [](void *context, int64_t begin, int64_t end) {
    auto &self = *static_cast<Outer *>(context);
    for (int64_t i = begin; i < end; ++i) {
      std::pair<Outer *, std::thread::id> job(&self,
                                              std::this_thread::get_id());
      self.pool->parallelFor(inner, &job, 10, 4);
    }
  };
  for (int round = 0; round < 200; ++round) {
    outer.inner = 0;
    pool->parallelFor(outerTask, &outer, 16, 4);
    ASSERT_EQ(outer.inner, 160);
  }
  EXPECT_FALSE(outer.moved);
}

TEST(ThreadPool, WakesParkedWorkersAndUsesThem) {
  auto pool = poolWith(1);
  std::this_thread::sleep_for(std::chrono::milliseconds(20)); // now parked
  struct Meeting {
    std::atomic<int> arrived{0};
    bool met = true;
  } meeting;
  // Two tasks that wait for each other: only two threads can finish them.
  auto task = [](void *context, int64_t begin, int64_t end) {
    auto &self = *static_cast<Meeting *>(context);
    for (int64_t i = begin; i < end; ++i) {
      ++self.arrived;
      auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
      while (self.arrived < 2)
        if (std::chrono::steady_clock::now() > limit) {
          self.met = false;
          return;
        }
    }
  };
  pool->parallelFor(task, &meeting, 2, 2);
  EXPECT_TRUE(meeting.met);
}

TEST(ThreadPool, GrowsWhileInUse) {
  auto pool = poolWith(1);
  std::atomic<bool> stop{false};
  std::thread user([&] {
    while (!stop) {
      Counter counter(50);
      pool->parallelFor(Counter::task, &counter, 50, 16);
      counter.expectOnce();
    }
  });
  for (int workers = 2; workers <= 12; ++workers)
    EXPECT_TRUE(pool->reserve(workers).ok());
  stop = true;
  user.join();
}

TEST(ThreadPool, StopsAtOnceWhetherSpinningOrParked) {
  for (int round = 0; round < 50; ++round) {
    auto pool = poolWith(4);
    Counter counter(100);
    pool->parallelFor(Counter::task, &counter, 100, 5);
    if (round % 2)
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

TEST(ThreadPool, IsSharedWhileHeld) {
  auto first = ThreadPool::shared();
  EXPECT_EQ(first, ThreadPool::shared());
}

// A forked child has none of the workers: its loops must still finish.
TEST(ThreadPool, SurvivesFork) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer does not follow forks of threaded programs";
#endif
  auto pool = poolWith(3);
  Counter before(100);
  pool->parallelFor(Counter::task, &before, 100, 4);
  pid_t child = fork();
  ASSERT_GE(child, 0);
  if (!child) {
    for (int round = 0; round < 100; ++round) {
      Counter counter(100);
      pool->parallelFor(Counter::task, &counter, 100, 4);
      for (const std::atomic<int> &count : counter.counts)
        if (count != 1)
          _exit(1);
    }
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

#if defined(__x86_64__)
TEST(ThreadPool, WorkersTakeOverTheCallersFloatControl) {
  auto pool = poolWith(3);
  const unsigned before = _mm_getcsr(), flushToZero = 0x8040;
  struct Seen {
    std::atomic<int> wrong{0};
    unsigned expected;
  } seen;
  auto task = [](void *context, int64_t, int64_t) {
    auto &self = *static_cast<Seen *>(context);
    self.wrong += (_mm_getcsr() & 0xffc0) != self.expected;
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  };
  for (int round = 0; round < 40; ++round) {
    _mm_setcsr(round % 2 ? before | flushToZero : before);
    seen.expected = _mm_getcsr() & 0xffc0;
    pool->parallelFor(task, &seen, 16, 4);
  }
  _mm_setcsr(before);
  EXPECT_EQ(seen.wrong, 0);
}
#endif

} // namespace

//===- ThreadPool.cpp - worker threads of the process ---------------------===//
#include "ThreadPool.h"

#include "FloatControl.h"
#include "Text.h"
#include "onnx-aot/runtime/Session.h"

#include <algorithm>
#include <chrono>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <system_error>
#include <thread>
#include <unistd.h>

namespace onnx_aot::runtime {

/// A loop in progress; lives on its caller's stack.
struct alignas(128) ThreadPool::Job {
  OnnxAotTask task;
  void *context;
  uint64_t count;
  uint64_t threads;
  FloatControl floatControl;
  alignas(128) std::atomic<uint64_t> next{0};

  /// Claims chunks until none is left: half of a thread's part of what is left,
  /// so that few are claimed and all threads end at almost the same time.
  void drain() {
    uint64_t begin = next.load(std::memory_order_relaxed);
    while (begin < count) {
      uint64_t size = std::max<uint64_t>(1, (count - begin) / (2 * threads));
      if (!next.compare_exchange_weak(begin, begin + size,
                                      std::memory_order_relaxed))
        continue;
      task(context, static_cast<int64_t>(begin),
           static_cast<int64_t>(begin + size));
      begin = next.load(std::memory_order_relaxed);
    }
  }
};

/// A thread and the job it is given. `job` is 0 (idle), the address of a posted
/// job, or that address | 1 while the worker runs it. Only the job's caller
/// takes it back; only the worker sets the bit and, when done, the 0.
struct alignas(128) ThreadPool::Worker {
  std::atomic<uintptr_t> job{0};
  std::atomic<uint32_t> parked{0}; ///< futex: 1 while the thread may sleep
  std::thread thread;
};

namespace {

/// True while this thread runs tasks: a nested loop stays on its caller.
thread_local bool insideTask = false;

void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#else
  asm volatile("" ::: "memory");
#endif
}

int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void futexWait(std::atomic<uint32_t> &word, uint32_t expected) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
}

/// Wakes the thread parked on `word`, if any.
void unpark(std::atomic<uint32_t> &word) {
  if (word.exchange(0))
    syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

} // namespace

std::shared_ptr<ThreadPool> ThreadPool::shared() {
  static std::mutex mutex;
  // Never destroyed: a session in a static object may outlive this function's
  // statics.
  static auto *pool = new std::weak_ptr<ThreadPool>;
  std::lock_guard<std::mutex> lock(mutex);
  std::shared_ptr<ThreadPool> alive = pool->lock();
  if (!alive) {
    alive = std::make_shared<ThreadPool>();
    *pool = alive;
  }
  return alive;
}

ThreadPool::ThreadPool() = default;

ThreadPool::~ThreadPool() {
  stopping.store(true);
  int count = numWorkers.load();
  for (int i = 0; i < count; ++i)
    unpark(workers[i]->parked);
  for (int i = 0; i < count; ++i)
    workers[i]->thread.join();
}

Status ThreadPool::reserve(int wanted) {
  std::lock_guard<std::mutex> lock(growing);
  int count = numWorkers.load(std::memory_order_relaxed);
  // Spinning bridges the gaps between the kernels of a run. It only helps while
  // every thread has a core.
  constexpr int64_t spin = 100'000;
  spinNanoseconds.store(std::max(count, wanted) < usableCores() ? spin : 0);
  for (; count < std::min(wanted, maxWorkers); ++count) {
    auto worker = std::make_unique<Worker>();
    try {
      worker->thread = std::thread([this, w = worker.get()] { work(*w); });
    } catch (const std::system_error &error) {
      return systemError(concat("cannot start thread ", count + 1),
                         error.code().value());
    }
    workers[count] = std::move(worker);
    numWorkers.store(count + 1, std::memory_order_release);
  }
  return Status();
}

uintptr_t ThreadPool::waitForJob(Worker &worker) {
  auto posted = [&]() -> uintptr_t {
    return worker.job.load(std::memory_order_acquire);
  };
  int64_t limit = spinNanoseconds.load(std::memory_order_relaxed);
  int64_t start = limit ? now() : 0;
  for (uint32_t round = 1;; ++round) {
    if (uintptr_t job = posted())
      return job;
    if (stopping.load(std::memory_order_relaxed))
      return 0;
    relax();
    if (round % 64 == 0 && (!limit || now() - start >= limit))
      break;
  }
  for (;;) {
    // Sequentially consistent with the poster, which stores the job and then
    // reads `parked`: one of the two sees the other.
    worker.parked.store(1);
    if (uintptr_t job = worker.job.load()) {
      worker.parked.store(0);
      return job;
    }
    if (stopping.load())
      return 0;
    futexWait(worker.parked, 1);
    if (worker.parked.load())
      continue;
    if (uintptr_t job = posted())
      return job;
  }
}

void ThreadPool::work(Worker &worker) {
  insideTask = true;
  for (;;) {
    uintptr_t posted = waitForJob(worker);
    if (!posted)
      return;
    // Fails when the caller finished alone and took the job back.
    if (!worker.job.compare_exchange_strong(posted, posted | 1))
      continue;
    Job &job = *reinterpret_cast<Job *>(posted);
    job.floatControl.apply();
    job.drain();
    worker.job.store(0, std::memory_order_release);
  }
}

int ThreadPool::claim(Job &job, int wanted,
                      std::array<uint8_t, maxWorkers> &claimed) {
  uintptr_t address = reinterpret_cast<uintptr_t>(&job);
  int available = numWorkers.load(std::memory_order_acquire);
  int count = 0;
  // Threads that are still spinning first: they start at once.
  for (bool sleepers : {false, true}) {
    for (int i = 0; i < available && count < wanted; ++i) {
      Worker &worker = *workers[i];
      if (!sleepers && worker.parked.load(std::memory_order_relaxed))
        continue;
      uintptr_t idle = 0;
      if (worker.job.load(std::memory_order_relaxed) ||
          !worker.job.compare_exchange_strong(idle, address))
        continue;
      unpark(worker.parked);
      claimed[count++] = static_cast<uint8_t>(i);
    }
  }
  return count;
}

void ThreadPool::parallelFor(OnnxAotTask task, void *context, int64_t count,
                             int threads) {
  if (count <= 0)
    return;
  int helpers = static_cast<int>(std::min<int64_t>(threads - 1, count - 1));
  if (helpers <= 0 || insideTask)
    return task(context, 0, count);

  Job job{task, context, static_cast<uint64_t>(count),
          static_cast<uint64_t>(helpers) + 1, FloatControl::current()};
  std::array<uint8_t, maxWorkers> claimed;
  int numClaimed = claim(job, helpers, claimed);

  insideTask = true;
  job.drain();
  insideTask = false;

  uintptr_t address = reinterpret_cast<uintptr_t>(&job);
  for (int i = 0; i < numClaimed; ++i) {
    std::atomic<uintptr_t> &state = workers[claimed[i]]->job;
    uintptr_t posted = address;
    if (state.compare_exchange_strong(posted, 0))
      continue; // it never began: do not wait for it
    for (int round = 0; state.load(std::memory_order_acquire) == (address | 1);
         ++round) {
      relax();
      if (round > 10'000)
        std::this_thread::yield();
    }
  }
}

} // namespace onnx_aot::runtime

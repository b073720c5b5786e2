//===- ThreadPool.h - worker threads of the process ------------*- C++ -*-===//
//
// One pool serves all sessions. A parallel loop borrows workers that are idle
// right now, works along, and at the end takes back those that have not begun:
// it never waits for a sleeping thread, so a loop is never slower than running
// it alone by more than the posting. Loops of concurrent sessions share out the
// workers; a loop that finds none, or is nested in a task, runs on its caller.
//
// The pool decides who computes a task, never how the work is cut into tasks:
// results do not depend on it.
//
//===----------------------------------------------------------------------===//
#ifndef ONNX_AOT_RUNTIME_SRC_THREADPOOL_H
#define ONNX_AOT_RUNTIME_SRC_THREADPOOL_H

#include "onnx-aot/runtime/Status.h"

#include <array>
#include <atomic>
#include <memory>
#include <mutex>

namespace onnx_aot::runtime {

/// Worker threads that any number of callers borrow; see above.
class ThreadPool {
public:
  /// The pool of the process; it and its threads end with the last holder.
  static std::shared_ptr<ThreadPool> shared();

  ThreadPool();
  ~ThreadPool();
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;

  /// Starts threads until there are `workers`.
  Status reserve(int workers);

  /// Runs `task` over 0 <= i < count on the caller and at most `threads` - 1
  /// workers. Returns when all of it is done.
  void parallelFor(OnnxAotTask task, void *context, int64_t count, int threads);

private:
  struct Job;
  struct Worker;
  static constexpr int maxWorkers = ONNX_AOT_MAX_THREADS - 1;

  int claim(Job &job, int wanted, std::array<uint8_t, maxWorkers> &claimed);
  void work(Worker &worker);
  uintptr_t waitForJob(Worker &worker);

  std::array<std::unique_ptr<Worker>, maxWorkers> workers;
  std::atomic<int> numWorkers{0};
  std::atomic<bool> stopping{false};
  std::atomic<int64_t> spinNanoseconds{0};
  std::mutex growing;
};

} // namespace onnx_aot::runtime

#endif // ONNX_AOT_RUNTIME_SRC_THREADPOOL_H

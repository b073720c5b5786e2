//===- Progress.h - tell a waiting user what is going on --------*- C++ -*-===//
#ifndef ONNX_AOT_LIB_DRIVER_PROGRESS_H
#define ONNX_AOT_LIB_DRIVER_PROGRESS_H

#include "onnx-aot/Driver/Phases.h"

#include "llvm/Support/PrettyStackTrace.h"

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace onnx_aot {

/// Times the phases. If standard error is a terminal and the work takes more
/// than a second, shows one line there that is removed at the end. In a crash,
/// says in which phase it happened and how to find out more.
class Progress : llvm::PrettyStackTraceEntry {
public:
  explicit Progress(llvm::StringRef input);
  ~Progress() override;

  /// Ends the phase before and begins `phase`.
  void begin(Phase phase);

  /// Ends the last phase and removes the line.
  void end();

  /// Counts what the phase at work has taken so far.
  void lap() { endPhase(); }

  /// Seconds spent in a phase.
  double getSeconds(Phase phase) const { return seconds[unsigned(phase)]; }

  /// Prints the hint after a crash.
  void print(llvm::raw_ostream &os) const override;

private:
  using Clock = std::chrono::steady_clock;

  void endPhase();
  /// Redraws the line until the end.
  void show();

  std::string input;
  Clock::time_point start = Clock::now(), phaseStart = start;
  std::atomic<int> current{-1};
  std::array<double, numPhases> seconds = {};
  std::thread thread;
  std::mutex mutex;
  std::condition_variable wakeUp;
  bool isDone = false;
};

} // namespace onnx_aot

#endif // ONNX_AOT_LIB_DRIVER_PROGRESS_H

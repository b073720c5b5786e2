//===- Progress.cpp - tell a waiting user what is going on ----------------===//

#include "Progress.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"

using namespace onnx_aot;

Progress::Progress(llvm::StringRef input) : input(input) {
  if (llvm::sys::Process::StandardErrIsDisplayed())
    thread = std::thread([this] { show(); });
}

Progress::~Progress() { end(); }

void Progress::endPhase() {
  auto now = Clock::now();
  if (current >= 0)
    seconds[current] += std::chrono::duration<double>(now - phaseStart).count();
  phaseStart = now;
}

void Progress::begin(Phase phase) {
  endPhase();
  current = int(phase);
}

void Progress::end() {
  endPhase();
  current = -1;
  {
    std::lock_guard<std::mutex> lock(mutex);
    isDone = true;
  }
  wakeUp.notify_all();
  if (thread.joinable())
    thread.join();
}

void Progress::show() {
  auto isOver = [this] { return isDone; };
  std::unique_lock<std::mutex> lock(mutex);
  if (wakeUp.wait_for(lock, std::chrono::seconds(1), isOver))
    return;
  do {
    int phase = current;
    double elapsed =
        std::chrono::duration<double>(Clock::now() - start).count();
    if (phase >= 0)
      llvm::errs() << "\r\033[K[" << phase + 1 << "/" << numPhases << "] "
                   << llvm::sys::path::filename(input) << ": "
                   << getPhaseDescription(Phase(phase))
                   << llvm::format(" (%.0f s)", elapsed);
  } while (!wakeUp.wait_for(lock, std::chrono::milliseconds(200), isOver));
  llvm::errs() << "\r\033[K";
}

void Progress::print(llvm::raw_ostream &os) const {
  os << "the compiler failed while ";
  os << (current >= 0 ? getPhaseDescription(Phase(current.load()))
                      : llvm::StringRef("starting"));
  os << " (" << input
     << ")\nto find the cause, run the command again with\n"
        "  --dump-phases=DIR                              the program before "
        "each phase\n"
        "  --mlir-pass-pipeline-crash-reproducer=FILE     a file that repeats "
        "the failure in onnx-aot-opt\n";
}

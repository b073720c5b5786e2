//===- Fiber.h - a stack to run on -----------------------------*- C++ -*-===//
#ifndef ONNX_AOT_EMULATOR_FIBER_H
#define ONNX_AOT_EMULATOR_FIBER_H

#include <cstddef>

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace onnx_aot::emulator {

/// A flow of control with its own stack, entered and left by hand.
class Fiber {
public:
  Fiber() = default;
  Fiber(const Fiber &) = delete;
  Fiber &operator=(const Fiber &) = delete;
  ~Fiber();

  /// Makes the fiber begin `entry` when it is next entered; false without
  /// memory.
  bool prepare(void (*entry)());
  /// Leaves `from` and goes on where `to` was left.
  static void switchTo(Fiber &from, Fiber &to);
  bool holds(const void *address) const {
    auto *byte = static_cast<const char *>(address);
    return stack && byte >= stack && byte < stack + kStackBytes;
  }

private:
  static constexpr size_t kStackBytes = 64 * 1024, kGuardBytes = 4096;
  char *stack = nullptr;
#if defined(__x86_64__)
  void *pointer = nullptr;
#else
  ucontext_t context;
#endif
};

} // namespace onnx_aot::emulator

#endif // ONNX_AOT_EMULATOR_FIBER_H

//===- FloatControl.h - floating-point control of a thread -----*- C++ -*-===//
//
// A run computes under its caller's rounding and flush-to-zero setting. Workers
// take it over, so that results do not depend on who computes a task.
//
//===----------------------------------------------------------------------===//
#ifndef ONNX_AOT_RUNTIME_SRC_FLOATCONTROL_H
#define ONNX_AOT_RUNTIME_SRC_FLOATCONTROL_H

#include <cstdint>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace onnx_aot::runtime {

/// The rounding and flush-to-zero setting of a thread.
struct FloatControl {
  uint64_t bits = 0;

  /// The setting of this thread, without its sticky exception flags.
  static FloatControl current() {
    FloatControl control;
#if defined(__x86_64__)
    control.bits = _mm_getcsr() & ~uint32_t(0x3f);
#elif defined(__aarch64__)
    asm volatile("mrs %0, fpcr" : "=r"(control.bits));
#elif defined(__riscv_flen)
    asm volatile("frrm %0" : "=r"(control.bits));
#endif
    return control;
  }

  /// Makes it the setting of this thread.
  void apply() const {
    if (current().bits == bits) // reading is cheap, writing is not
      return;
#if defined(__x86_64__)
    _mm_setcsr(static_cast<uint32_t>(bits));
#elif defined(__aarch64__)
    asm volatile("msr fpcr, %0" : : "r"(bits));
#elif defined(__riscv_flen)
    asm volatile("fsrm %0" : : "r"(bits));
#endif
  }
};

} // namespace onnx_aot::runtime

#endif // ONNX_AOT_RUNTIME_SRC_FLOATCONTROL_H

//===- Schedule.h - learning rate as a function of the step ----*- C++ -*-===//
//
// A schedule is written as `name:key=value,...`, with PyTorch's names where it
// has the schedule. b is the base rate (`lr`, for one-cycle `max_lr`), t the
// number of scheduler steps made, T the length (`total_steps`, or as PyTorch
// calls it), and all but one-cycle take `warmup_steps=W`: for t < W the rate is
// b * t / W, after that t and T below count from W.
//
//   constant     b
//   linear       b * (1 + (end_factor - 1) * min(t, T) / T); end_factor=0
//   cosine       eta_min + (b - eta_min) * (1 + cos(pi * min(t, T) / T)) / 2
//                T_max=T, eta_min=0
//   step         b * gamma ^ floor(t / step_size); gamma=0.1
//   exponential  b * gamma ^ t
//   polynomial   b * (1 - min(t, T) / T) ^ power; total_iters=T, power=1
//   one-cycle    from max_lr / div_factor up to max_lr until pct_start * T - 1,
//                down to max_lr / div_factor / final_div_factor at T - 1, along
//                a cosine or a line (anneal_strategy=cos|linear);
//                pct_start=0.3, div_factor=25, final_div_factor=10000
//
//===----------------------------------------------------------------------===//
#ifndef ONNX_AOT_RUNTIME_SCHEDULE_H
#define ONNX_AOT_RUNTIME_SCHEDULE_H

#include "onnx-aot/runtime/Status.h"

#include <cstdint>

namespace onnx_aot::runtime {

/// A learning-rate schedule; see above.
struct Schedule {
  enum Kind {
    Constant,
    Linear,
    Cosine,
    Step,
    Exponential,
    Polynomial,
    OneCycle
  };

  Kind kind = Constant;
  double lr = 0; ///< base rate; max_lr of one-cycle
  int64_t warmupSteps = 0;
  int64_t totalSteps = 0; ///< with the warm-up
  int64_t stepSize = 0;
  double endFactor = 0, etaMin = 0, gamma = 0.1, power = 1;
  double pctStart = 0.3, divFactor = 25, finalDivFactor = 1e4;
  bool annealLinear = false;

  /// Reads a schedule. `lr` and `totalSteps` stand in for what the text does
  /// not say; a length of 0 means that the text must.
  ONNX_AOT_API static Expected<Schedule>
  parse(const std::string &text, double lr, int64_t totalSteps = 0);

  /// Text that `parse` reads back as the same schedule.
  ONNX_AOT_API std::string text() const;

  /// The learning rate after `step` scheduler steps; 0 is before the first
  /// update.
  ONNX_AOT_API double at(int64_t step) const;
};

} // namespace onnx_aot::runtime

#endif // ONNX_AOT_RUNTIME_SCHEDULE_H

//===- Metrics.h - what a training tells about itself ----------*- C++ -*-===//
#ifndef ONNX_AOT_TOOLS_RUN_METRICS_H
#define ONNX_AOT_TOOLS_RUN_METRICS_H

#include "Npy.h"

#include <chrono>
#include <cstdio>
#include <memory>

namespace onnx_aot::run {

/// One optimizer step.
struct MetricsRow {
  int64_t step = 0;  ///< updates made, with this one
  int64_t epoch = 0; ///< counted from 1
  double loss = 0, lr = 0, gradNorm = 0, ms = 0;
};

/// The rows of a training; written to a file as they come, if there is one.
class Metrics {
public:
  /// Begins a file, or continues one: then rows after `step` are dropped.
  /// An empty path keeps the rows in memory only.
  static Expected<Metrics> open(const std::string &path, bool continues,
                                int64_t step);

  Status add(const MetricsRow &row);
  /// Hands what was written to the system.
  Status flush();
  const std::vector<MetricsRow> &rows() const { return theRows; }

private:
  struct Close {
    void operator()(FILE *file) const { std::fclose(file); }
  };
  Status write(const MetricsRow &row);
  std::string path;
  std::vector<MetricsRow> theRows;
  std::unique_ptr<FILE, Close> file;
};

/// Whether a picture can have this name: it ends with .svg or .png.
Status checkPlot(const std::string &path);

/// Draws the loss over the steps.
Status plotLoss(const std::string &path, const std::vector<MetricsRow> &rows,
                const std::string &title);

/// One line on a terminal that tells how far a training is.
class ProgressBar {
public:
  ProgressBar();
  /// After `done` of `total` steps, of which `before` were not made here.
  void show(int64_t epoch, int64_t epochs, int64_t done, int64_t total,
            double loss, double samplesPerSecond);
  /// Removes the line, for other text.
  void clear();

private:
  using Clock = std::chrono::steady_clock;
  bool terminal, shown = false;
  Clock::time_point start = Clock::now(), last;
  int64_t first = -1;
};

} // namespace onnx_aot::run

#endif // ONNX_AOT_TOOLS_RUN_METRICS_H

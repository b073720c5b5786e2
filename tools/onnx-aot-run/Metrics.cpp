//===- Metrics.cpp - what a training tells about itself -------------------===//
#include "Metrics.h"

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cmath>
#include <cstring>
#include <unistd.h>

namespace onnx_aot::run {

namespace {

constexpr char header[] = "step,epoch,loss,lr,grad_norm,ms\n";

Status writeError(const std::string &path) {
  return userError("cannot write '" + path + "': " + std::strerror(errno));
}

/// Text of a number; empty where there is none, as tables have it.
std::string cell(double value, const char *form) {
  if (std::isnan(value))
    return "";
  char text[64];
  std::snprintf(text, sizeof(text), form, value);
  return text;
}

bool parseRow(const char *line, MetricsRow &row) {
  char *end = nullptr;
  row.step = std::strtoll(line, &end, 10);
  if (end == line || *end != ',')
    return false;
  row.epoch = std::strtoll(end + 1, &end, 10);
  for (double *field : {&row.loss, &row.lr, &row.gradNorm, &row.ms}) {
    if (*end != ',')
      return false;
    const char *begin = end + 1;
    *field = std::strtod(begin, &end);
    if (end == begin)
      *field = NAN;
  }
  return *end == '\n';
}

} // namespace

Expected<Metrics> Metrics::open(const std::string &path, bool continues,
                                int64_t step) {
  Metrics metrics;
  metrics.path = path;
  if (path.empty())
    return metrics;
  if (continues) {
    std::unique_ptr<FILE, Close> old(std::fopen(path.c_str(), "r"));
    char line[512];
    MetricsRow row;
    bool first = true;
    while (old && std::fgets(line, sizeof(line), old.get())) {
      if (first && std::strcmp(line, header))
        return userError("'" + path + "' is no metrics file to continue");
      first = false;
      if (parseRow(line, row) && row.step <= step)
        metrics.theRows.push_back(row);
    }
  }
  metrics.file.reset(std::fopen(path.c_str(), "w"));
  if (!metrics.file || std::fputs(header, metrics.file.get()) < 0)
    return writeError(path);
  for (const MetricsRow &row : metrics.theRows)
    if (Status status = metrics.write(row); !status.ok())
      return status;
  return metrics;
}

Status Metrics::write(const MetricsRow &row) {
  std::string norm = cell(row.gradNorm, "%.9g");
  if (std::fprintf(file.get(), "%" PRId64 ",%" PRId64 ",%s,%s,%s,%s\n",
                   row.step, row.epoch, cell(row.loss, "%.9g").c_str(),
                   cell(row.lr, "%.9g").c_str(), norm.c_str(),
                   cell(row.ms, "%.3f").c_str()) < 0)
    return writeError(path);
  return Status();
}

Status Metrics::add(const MetricsRow &row) {
  theRows.push_back(row);
  return file ? write(row) : Status();
}

Status Metrics::flush() {
  return file && std::fflush(file.get()) ? writeError(path) : Status();
}

//===--- The progress bar -------------------------------------------------===//

ProgressBar::ProgressBar() : terminal(isatty(STDERR_FILENO)) {}

void ProgressBar::show(int64_t epoch, int64_t epochs, int64_t done,
                       int64_t total, double loss, double samplesPerSecond) {
  if (!terminal)
    return;
  Clock::time_point now = Clock::now();
  if (first < 0) {
    first = done - 1;
    start = now;
  }
  if (shown && done < total && now - last < std::chrono::milliseconds(100))
    return;
  last = now;
  shown = true;
  double part = static_cast<double>(done) /
                static_cast<double>(std::max<int64_t>(1, total));
  double spent = std::chrono::duration<double>(now - start).count();
  double left = done > first + 1
                    ? spent / static_cast<double>(done - first - 1) *
                          static_cast<double>(total - done)
                    : 0;
  std::string bar(30, '.');
  std::fill_n(bar.begin(), static_cast<int>(part * 30), '#');
  auto seconds = static_cast<long long>(left);
  std::fprintf(
      stderr, "\r\033[Kepoch %lld/%lld [%s] %3.0f%%  loss %.4f  %.0f samples/s",
      static_cast<long long>(epoch), static_cast<long long>(epochs),
      bar.c_str(), part * 100, loss, samplesPerSecond);
  if (done > first + 1) // else there is nothing to tell it from
    std::fprintf(stderr, "  %lld:%02lld left", seconds / 60, seconds % 60);
  std::fflush(stderr);
}

void ProgressBar::clear() {
  if (shown)
    std::fputs("\r\033[K", stderr);
  shown = false;
}

} // namespace onnx_aot::run

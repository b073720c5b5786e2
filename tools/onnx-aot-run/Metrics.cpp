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

//===--- The picture ------------------------------------------------------===//

namespace {

/// More lines than `niceStep` ever asks for.
constexpr int maxLines = 12;

/// A step of 1, 2 or 5 times a power of ten, so that about five fit `range`.
double niceStep(double range) {
  double power = std::pow(10, std::floor(std::log10(range / 5)));
  for (double factor : {1.0, 2.0, 5.0})
    if (range / (factor * power) <= 6)
      return factor * power;
  return 10 * power;
}

std::string escaped(const std::string &text) {
  std::string out;
  for (char c : text)
    out += c == '<' ? "&lt;" : c == '&' ? "&amp;" : std::string(1, c);
  return out;
}

/// The picture's frame, and how numbers become places in it.
struct Frame {
  double left = 70, right = 780, top = 40, bottom = 400;
  double lowX, highX, lowY, highY;
  double x(double value) const {
    return left + (value - lowX) / (highX - lowX) * (right - left);
  }
  double y(double value) const {
    return bottom - (value - lowY) / (highY - lowY) * (bottom - top);
  }
};

std::string point(const Frame &frame, double x, double y) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.1f,%.1f ", frame.x(x), frame.y(y));
  return text;
}

/// Grid lines with their numbers.
std::string axes(const Frame &frame) {
  std::string svg;
  char text[256];
  double step = niceStep(frame.highY - frame.lowY);
  double first = std::ceil(frame.lowY / step) * step;
  for (int i = 0; i < maxLines && first + i * step <= frame.highY; ++i) {
    double v = first + i * step;
    std::snprintf(text, sizeof(text),
                  "<line x1='%.0f' x2='%.0f' y1='%.1f' y2='%.1f' "
                  "stroke='#ddd'/><text x='%.0f' y='%.1f' "
                  "text-anchor='end'>%g</text>\n",
                  frame.left, frame.right, frame.y(v), frame.y(v),
                  frame.left - 6, frame.y(v) + 4, v);
    svg += text;
  }
  step = std::max(1.0, niceStep(frame.highX - frame.lowX));
  first = std::ceil(frame.lowX / step) * step;
  for (int i = 0; i < maxLines && first + i * step <= frame.highX; ++i) {
    double v = first + i * step;
    std::snprintf(text, sizeof(text),
                  "<text x='%.1f' y='%.0f' text-anchor='middle'>%g</text>\n",
                  frame.x(v), frame.bottom + 18, v);
    svg += text;
  }
  return svg;
}

} // namespace

Status plotLoss(const std::string &path, const std::vector<MetricsRow> &rows,
                const std::string &title) {
  std::vector<MetricsRow> shown;
  for (const MetricsRow &row : rows)
    if (std::isfinite(row.loss))
      shown.push_back(row);
  Frame frame;
  frame.lowX = shown.empty() ? 0 : static_cast<double>(shown.front().step);
  frame.highX = shown.empty() ? 1 : static_cast<double>(shown.back().step);
  frame.lowY = frame.highY = shown.empty() ? 0 : shown.front().loss;
  for (const MetricsRow &row : shown) {
    frame.lowY = std::min(frame.lowY, row.loss);
    frame.highY = std::max(frame.highY, row.loss);
  }
  frame.highX = std::max(frame.highX, frame.lowX + 1);
  if (frame.highY <= frame.lowY)
    frame.highY = frame.lowY + 1;
  // At most as many points as the picture has columns: the mean of each group,
  // with its extremes behind it.
  size_t group = shown.size() / 710 + 1;
  std::string line, above, below;
  for (size_t i = 0; i < shown.size(); i += group) {
    size_t end = std::min(i + group, shown.size());
    double sum = 0, low = INFINITY, high = -INFINITY;
    for (size_t j = i; j < end; ++j) {
      sum += shown[j].loss;
      low = std::min(low, shown[j].loss);
      high = std::max(high, shown[j].loss);
    }
    auto x = static_cast<double>(shown[i].step);
    line += point(frame, x, sum / static_cast<double>(end - i));
    above += point(frame, x, high);
    below = point(frame, x, low) + below;
  }
  std::string svg =
      "<svg xmlns='http://www.w3.org/2000/svg' width='820' height='450' "
      "font-family='sans-serif' font-size='12'>\n"
      "<rect width='820' height='450' fill='white'/>\n"
      "<text x='70' y='24' font-size='15'>" +
      escaped(title) + "</text>\n" + axes(frame) +
      "<text x='425' y='440' text-anchor='middle'>optimizer step</text>\n"
      "<polygon points='" +
      above + below + "' fill='#1f77b4' fill-opacity='0.25'/>\n" +
      "<polyline points='" + line +
      "' fill='none' stroke='#1f77b4' stroke-width='1.5'/>\n</svg>\n";
  std::unique_ptr<FILE, int (*)(FILE *)> file(std::fopen(path.c_str(), "w"),
                                              std::fclose);
  if (!file || std::fputs(svg.c_str(), file.get()) < 0 ||
      std::fflush(file.get()))
    return writeError(path);
  return Status();
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
  std::fprintf(stderr,
               "\r\033[Kepoch %lld/%lld [%s] %3.0f%%  loss %.4f  %.0f samples/s"
               "  %lld:%02lld left",
               static_cast<long long>(epoch), static_cast<long long>(epochs),
               bar.c_str(), part * 100, loss, samplesPerSecond, seconds / 60,
               seconds % 60);
  std::fflush(stderr);
}

void ProgressBar::clear() {
  if (shown)
    std::fputs("\r\033[K", stderr);
  shown = false;
}

} // namespace onnx_aot::run

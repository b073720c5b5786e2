//===- Plot.cpp - the loss as a picture -----------------------------------===//
#include "Metrics.h"
#include "Picture.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

namespace onnx_aot::run {

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

std::string numberText(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%g", value);
  return text;
}

/// Grid lines with their numbers.
void drawAxes(Picture &picture, const Frame &frame) {
  double step = niceStep(frame.highY - frame.lowY);
  double first = std::ceil(frame.lowY / step) * step;
  for (int i = 0; i < maxLines && first + i * step <= frame.highY; ++i) {
    double value = first + i * step, y = frame.y(value);
    picture.polyline({{frame.left, y}, {frame.right, y}}, 0xdddddd, 1);
    picture.text({frame.left - 6, y + 4}, Picture::Right, 12,
                 numberText(std::abs(value) < step / 1e6 ? 0 : value));
  }
  step = std::max(1.0, niceStep(frame.highX - frame.lowX));
  first = std::ceil(frame.lowX / step) * step;
  for (int i = 0; i < maxLines && first + i * step <= frame.highX; ++i) {
    double value = first + i * step;
    picture.text({frame.x(value), frame.bottom + 18}, Picture::Middle, 12,
                 numberText(value));
  }
}

/// The frame of the rows that have a loss.
Frame frameOf(const std::vector<MetricsRow> &shown) {
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
  return frame;
}

/// At most as many points as the picture has columns: the mean of each group,
/// with its extremes behind it.
void drawLoss(Picture &picture, const Frame &frame,
              const std::vector<MetricsRow> &shown) {
  size_t group = shown.size() / 710 + 1;
  std::vector<Point> line, around, below;
  for (size_t i = 0; i < shown.size(); i += group) {
    size_t end = std::min(i + group, shown.size());
    double sum = 0, low = INFINITY, high = -INFINITY;
    for (size_t j = i; j < end; ++j) {
      sum += shown[j].loss;
      low = std::min(low, shown[j].loss);
      high = std::max(high, shown[j].loss);
    }
    double x = frame.x(static_cast<double>(shown[i].step));
    line.push_back({x, frame.y(sum / static_cast<double>(end - i))});
    around.push_back({x, frame.y(high)});
    below.push_back({x, frame.y(low)});
  }
  around.insert(around.end(), below.rbegin(), below.rend());
  picture.polygon(around, 0x1f77b4, 0.25);
  picture.polyline(line, 0x1f77b4, 1.5);
}

bool endsWith(const std::string &text, const std::string &end) {
  return text.size() >= end.size() &&
         !text.compare(text.size() - end.size(), end.size(), end);
}

} // namespace

Status checkPlot(const std::string &path) {
  if (endsWith(path, ".svg") || endsWith(path, ".png"))
    return Status();
  return userError("--plot '" + path + "': only .svg and .png can be drawn");
}

Status plotLoss(const std::string &path, const std::vector<MetricsRow> &rows,
                const std::string &title) {
  std::vector<MetricsRow> shown;
  for (const MetricsRow &row : rows)
    if (std::isfinite(row.loss))
      shown.push_back(row);
  constexpr int width = 820, height = 450;
  auto picture =
      endsWith(path, ".png") ? makePng(width, height) : makeSvg(width, height);
  Frame frame = frameOf(shown);
  drawAxes(*picture, frame);
  drawLoss(*picture, frame, shown);
  picture->text({frame.left, 24}, Picture::Left, 15, title);
  picture->text({425, 440}, Picture::Middle, 12, "optimizer step");
  Expected<std::string> bytes = picture->finish();
  if (!bytes)
    return bytes.status();
  std::unique_ptr<FILE, int (*)(FILE *)> file(std::fopen(path.c_str(), "wb"),
                                              std::fclose);
  if (!file ||
      std::fwrite(bytes->data(), 1, bytes->size(), file.get()) !=
          bytes->size() ||
      std::fflush(file.get()))
    return userError("cannot write '" + path + "': " + std::strerror(errno));
  return Status();
}

} // namespace onnx_aot::run

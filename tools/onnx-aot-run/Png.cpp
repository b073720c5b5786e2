//===- Png.cpp - pictures as PNG ------------------------------------------===//
//
// Drawn with twice the width and height, then averaged: edges are smooth.
//
//===----------------------------------------------------------------------===//
#include "Picture.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <string_view>
#include <zlib.h>

namespace onnx_aot::run {

namespace {

constexpr int fine = 2; ///< drawn points of a pixel's side

/// Letters of five by seven points: rows from above, the highest bit is left.
constexpr std::string_view letters =
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ.-+:=,/_()";
constexpr int letterWidth = 5, letterHeight = 7;
constexpr std::array<uint8_t, letterHeight> shapes[] = {
    {0x0e, 0x11, 0x13, 0x15, 0x19, 0x11, 0x0e},
    {0x04, 0x0c, 0x04, 0x04, 0x04, 0x04, 0x0e},
    {0x0e, 0x11, 0x01, 0x02, 0x04, 0x08, 0x1f},
    {0x1f, 0x02, 0x04, 0x02, 0x01, 0x11, 0x0e},
    {0x02, 0x06, 0x0a, 0x12, 0x1f, 0x02, 0x02},
    {0x1f, 0x10, 0x1e, 0x01, 0x01, 0x11, 0x0e},
    {0x06, 0x08, 0x10, 0x1e, 0x11, 0x11, 0x0e},
    {0x1f, 0x01, 0x02, 0x04, 0x08, 0x08, 0x08},
    {0x0e, 0x11, 0x11, 0x0e, 0x11, 0x11, 0x0e},
    {0x0e, 0x11, 0x11, 0x0f, 0x01, 0x02, 0x0c},
    {0x0e, 0x11, 0x11, 0x1f, 0x11, 0x11, 0x11},
    {0x1e, 0x11, 0x11, 0x1e, 0x11, 0x11, 0x1e},
    {0x0e, 0x11, 0x10, 0x10, 0x10, 0x11, 0x0e},
    {0x1c, 0x12, 0x11, 0x11, 0x11, 0x12, 0x1c},
    {0x1f, 0x10, 0x10, 0x1e, 0x10, 0x10, 0x1f},
    {0x1f, 0x10, 0x10, 0x1e, 0x10, 0x10, 0x10},
    {0x0e, 0x11, 0x10, 0x17, 0x11, 0x11, 0x0f},
    {0x11, 0x11, 0x11, 0x1f, 0x11, 0x11, 0x11},
    {0x0e, 0x04, 0x04, 0x04, 0x04, 0x04, 0x0e},
    {0x07, 0x02, 0x02, 0x02, 0x02, 0x12, 0x0c},
    {0x11, 0x12, 0x14, 0x18, 0x14, 0x12, 0x11},
    {0x10, 0x10, 0x10, 0x10, 0x10, 0x10, 0x1f},
    {0x11, 0x1b, 0x15, 0x15, 0x11, 0x11, 0x11},
    {0x11, 0x19, 0x15, 0x13, 0x11, 0x11, 0x11},
    {0x0e, 0x11, 0x11, 0x11, 0x11, 0x11, 0x0e},
    {0x1e, 0x11, 0x11, 0x1e, 0x10, 0x10, 0x10},
    {0x0e, 0x11, 0x11, 0x11, 0x15, 0x12, 0x0d},
    {0x1e, 0x11, 0x11, 0x1e, 0x14, 0x12, 0x11},
    {0x0f, 0x10, 0x10, 0x0e, 0x01, 0x01, 0x1e},
    {0x1f, 0x04, 0x04, 0x04, 0x04, 0x04, 0x04},
    {0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x0e},
    {0x11, 0x11, 0x11, 0x11, 0x11, 0x0a, 0x04},
    {0x11, 0x11, 0x11, 0x15, 0x15, 0x1b, 0x11},
    {0x11, 0x11, 0x0a, 0x04, 0x0a, 0x11, 0x11},
    {0x11, 0x11, 0x0a, 0x04, 0x04, 0x04, 0x04},
    {0x1f, 0x01, 0x02, 0x04, 0x08, 0x10, 0x1f},
    {0x00, 0x00, 0x00, 0x00, 0x00, 0x0c, 0x0c},
    {0x00, 0x00, 0x00, 0x1f, 0x00, 0x00, 0x00},
    {0x00, 0x04, 0x04, 0x1f, 0x04, 0x04, 0x00},
    {0x00, 0x0c, 0x0c, 0x00, 0x0c, 0x0c, 0x00},
    {0x00, 0x00, 0x1f, 0x00, 0x1f, 0x00, 0x00},
    {0x00, 0x00, 0x00, 0x00, 0x0c, 0x04, 0x08},
    {0x01, 0x01, 0x02, 0x04, 0x08, 0x10, 0x10},
    {0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x1f},
    {0x02, 0x04, 0x08, 0x08, 0x08, 0x04, 0x02},
    {0x08, 0x04, 0x02, 0x02, 0x02, 0x04, 0x08}};
static_assert(sizeof(shapes) / sizeof(shapes[0]) == letters.size());

std::string bigEndian(uint32_t number) {
  std::string text;
  for (int shift = 24; shift >= 0; shift -= 8)
    text += static_cast<char>(number >> shift);
  return text;
}

/// Length, type, data and checksum.
std::string chunk(const std::string &type, const std::string &data) {
  std::string body = type + data;
  uLong sum = crc32(0, reinterpret_cast<const Bytef *>(body.data()),
                    static_cast<uInt>(body.size()));
  return bigEndian(static_cast<uint32_t>(data.size())) + body +
         bigEndian(static_cast<uint32_t>(sum));
}

class Png : public Picture {
public:
  Png(int width, int height)
      : width(width), height(height),
        pixels(size_t(width) * size_t(height) * fine * fine * 3, 255) {}

  void polyline(const std::vector<Point> &points, Color color,
                double thickness) override {
    for (size_t i = 0; i + 1 < points.size(); ++i)
      line(points[i], points[i + 1], color, thickness * fine / 2);
  }

  void polygon(const std::vector<Point> &points, Color color,
               double opacity) override;
  void text(Point at, Anchor anchor, double size,
            const std::string &text) override;
  Expected<std::string> finish() override;

private:
  void blend(int x, int y, Color color, double opacity) {
    if (x < 0 || y < 0 || x >= width * fine || y >= height * fine)
      return;
    uint8_t *pixel =
        &pixels[3 * (size_t(y) * size_t(width * fine) + size_t(x))];
    for (int c = 0; c < 3; ++c) {
      double own = color >> (16 - 8 * c) & 255;
      pixel[c] = static_cast<uint8_t>(pixel[c] + (own - pixel[c]) * opacity);
    }
  }
  void line(Point from, Point to, Color color, double radius);

  int width, height;
  std::vector<uint8_t> pixels;
};

/// All points that are not further than `radius` from the line.
void Png::line(Point from, Point to, Color color, double radius) {
  double ax = from.x * fine, ay = from.y * fine, dx = to.x * fine - ax,
         dy = to.y * fine - ay, square = dx * dx + dy * dy;
  radius = std::max(radius, 0.6);
  auto low = [&](double a, double d) {
    return static_cast<int>(std::floor(std::min(a, a + d) - radius));
  };
  auto high = [&](double a, double d) {
    return static_cast<int>(std::ceil(std::max(a, a + d) + radius));
  };
  for (int y = low(ay, dy); y <= high(ay, dy); ++y)
    for (int x = low(ax, dx); x <= high(ax, dx); ++x) {
      double part = square ? ((x - ax) * dx + (y - ay) * dy) / square : 0;
      part = std::clamp(part, 0.0, 1.0);
      if (std::hypot(x - ax - part * dx, y - ay - part * dy) <= radius)
        blend(x, y, color, 1);
    }
}

/// Row by row between the edges that cross it.
void Png::polygon(const std::vector<Point> &points, Color color,
                  double opacity) {
  std::vector<double> crossings;
  for (int y = 0; y < height * fine; ++y) {
    crossings.clear();
    double at = (y + 0.5) / fine;
    for (size_t i = 0; i < points.size(); ++i) {
      const Point &a = points[i], &b = points[(i + 1) % points.size()];
      if ((a.y <= at) != (b.y <= at))
        crossings.push_back((a.x + (at - a.y) / (b.y - a.y) * (b.x - a.x)) *
                            fine);
    }
    std::sort(crossings.begin(), crossings.end());
    for (size_t i = 0; i + 1 < crossings.size(); i += 2)
      for (int x = static_cast<int>(std::lround(crossings[i]));
           x < static_cast<int>(std::lround(crossings[i + 1])); ++x)
        blend(x, y, color, opacity);
  }
}

void Png::text(Point at, Anchor anchor, double size, const std::string &text) {
  int scale = std::max(1, static_cast<int>(size * fine / 8));
  int advance = (letterWidth + 1) * scale;
  int total = static_cast<int>(text.size()) * advance;
  int left = static_cast<int>(at.x * fine) - (anchor == Left     ? 0
                                              : anchor == Middle ? total / 2
                                                                 : total);
  int top = static_cast<int>(at.y * fine) - letterHeight * scale;
  for (size_t i = 0; i < text.size(); ++i) {
    size_t index = letters.find(
        static_cast<char>(std::toupper(static_cast<unsigned char>(text[i]))));
    if (index == letters.npos)
      continue; // a blank, or a letter that is not known
    for (int y = 0; y < letterHeight * scale; ++y)
      for (int x = 0; x < letterWidth * scale; ++x)
        if (shapes[index][size_t(y / scale)] >> (letterWidth - 1 - x / scale) &
            1)
          blend(left + static_cast<int>(i) * advance + x, top + y, 0x333333, 1);
  }
}

Expected<std::string> Png::finish() {
  std::string rows;
  for (int y = 0; y < height; ++y) {
    rows += '\0'; // no filter
    for (int x = 0; x < width; ++x)
      for (int c = 0; c < 3; ++c) {
        int sum = 0;
        for (int i = 0; i < fine * fine; ++i)
          sum +=
              pixels[3 * (size_t(y * fine + i / fine) * size_t(width * fine) +
                          size_t(x * fine + i % fine)) +
                     size_t(c)];
        rows += static_cast<char>(sum / (fine * fine));
      }
  }
  uLongf count = compressBound(rows.size());
  std::string packed(count, '\0');
  if (compress2(reinterpret_cast<Bytef *>(packed.data()), &count,
                reinterpret_cast<const Bytef *>(rows.data()), rows.size(),
                Z_BEST_COMPRESSION) != Z_OK)
    return userError("the picture could not be compressed");
  packed.resize(count);
  constexpr char trueColor[] = {8, 2, 0, 0, 0}; // 8 bits of red, green, blue
  return "\x89PNG\r\n\x1a\n" +
         chunk("IHDR", bigEndian(static_cast<uint32_t>(width)) +
                           bigEndian(static_cast<uint32_t>(height)) +
                           std::string(trueColor, sizeof(trueColor))) +
         chunk("IDAT", packed) + chunk("IEND", "");
}

} // namespace

std::unique_ptr<Picture> makePng(int width, int height) {
  return std::make_unique<Png>(width, height);
}

} // namespace onnx_aot::run

//===- Svg.cpp - pictures as SVG ------------------------------------------===//
#include "Picture.h"

#include <cstdio>

namespace onnx_aot::run {

namespace {

std::string escaped(const std::string &text) {
  std::string out;
  for (char c : text)
    out += c == '<' ? "&lt;" : c == '&' ? "&amp;" : std::string(1, c);
  return out;
}

template <typename... Values>
std::string format(const char *form, Values... values) {
  char text[160];
  std::snprintf(text, sizeof(text), form, values...);
  return text;
}

std::string places(const std::vector<Point> &points) {
  std::string text;
  for (const Point &point : points)
    text += format("%.1f,%.1f ", point.x, point.y);
  return text;
}

class Svg : public Picture {
public:
  Svg(int width, int height)
      : text_(format("<svg xmlns='http://www.w3.org/2000/svg' width='%d' "
                     "height='%d' ",
                     width, height) +
              "font-family='sans-serif'>\n" +
              format("<rect width='%d' height='%d' fill='white'/>\n", width,
                     height)) {}

  void polyline(const std::vector<Point> &points, Color color,
                double width) override {
    text_ += "<polyline points='" + places(points) +
             format("' fill='none' stroke='#%06x' stroke-width='%g'/>\n", color,
                    width);
  }

  void polygon(const std::vector<Point> &points, Color color,
               double opacity) override {
    text_ += "<polygon points='" + places(points) +
             format("' fill='#%06x' fill-opacity='%g'/>\n", color, opacity);
  }

  void text(Point at, Anchor anchor, double size,
            const std::string &text) override {
    static const char *const anchors[] = {"start", "middle", "end"};
    text_ += format("<text x='%.1f' y='%.1f' text-anchor='%s' font-size='%g'>",
                    at.x, at.y, anchors[anchor], size) +
             escaped(text) + "</text>\n";
  }

  Expected<std::string> finish() override { return text_ + "</svg>\n"; }

private:
  std::string text_;
};

} // namespace

std::unique_ptr<Picture> makeSvg(int width, int height) {
  return std::make_unique<Svg>(width, height);
}

} // namespace onnx_aot::run

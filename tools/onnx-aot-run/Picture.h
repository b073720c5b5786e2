//===- Picture.h - what a plot is drawn on ---------------------*- C++ -*-===//
#ifndef ONNX_AOT_TOOLS_RUN_PICTURE_H
#define ONNX_AOT_TOOLS_RUN_PICTURE_H

#include "Npy.h"

#include <memory>

namespace onnx_aot::run {

/// A place in a picture, in pixels from the top left.
struct Point {
  double x, y;
};

/// A colour as 0xRRGGBB.
using Color = uint32_t;

/// Something to draw on, as wide and high as it was made.
class Picture {
public:
  enum Anchor { Left, Middle, Right };

  virtual ~Picture() = default;
  virtual void polyline(const std::vector<Point> &points, Color color,
                        double width) = 0;
  virtual void polygon(const std::vector<Point> &points, Color color,
                       double opacity) = 0;
  /// A line of text whose base line is at `at`.
  virtual void text(Point at, Anchor anchor, double size,
                    const std::string &text) = 0;
  /// The bytes of the file.
  virtual Expected<std::string> finish() = 0;
};

/// An SVG file, and a PNG file.
std::unique_ptr<Picture> makeSvg(int width, int height);
std::unique_ptr<Picture> makePng(int width, int height);

} // namespace onnx_aot::run

#endif // ONNX_AOT_TOOLS_RUN_PICTURE_H

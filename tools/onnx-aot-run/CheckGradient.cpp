//===- CheckGradient.cpp - a gradient against differences -----------------===//
#include "CheckGradient.h"

#include "Compare.h"

#include <cfloat>
#include <cmath>
#include <cstring>
#include <random>

namespace onnx_aot::run {

namespace {

/// How the differences of a type are taken.
struct Precision {
  double epsilon, bound;
  /// Steps relative to the parameter's size, largest first: a smaller one
  /// avoids kinks, a larger one rounding.
  double steps[3];
};

std::optional<Precision> precisionOf(int32_t type) {
  if (type == ONNX_AOT_FLOAT64)
    return Precision{DBL_EPSILON, 1e-6, {1e-4, 1e-6, 1e-8}};
  if (type == ONNX_AOT_FLOAT32)
    return Precision{FLT_EPSILON, 5e-2, {3e-2, 1e-2, 3e-3}};
  return std::nullopt;
}

constexpr int numDirections = 3;
/// Along a direction the loss may be computed so many roundings wrong.
constexpr double roundings = 16;
/// Above this bound a check says nothing.
constexpr double usefulBound = 0.2;

/// A parameter that is moved and put back.
class Moved {
public:
  Moved(const OnnxAotTensor &parameter, const std::vector<double> &gradient,
        const std::function<Expected<double>()> &loss)
      : parameter(parameter), gradient(gradient), loss(loss) {
    for (size_t i = 0; i < gradient.size(); ++i)
      values.push_back(elementAsDouble(parameter.type, parameter.data,
                                       static_cast<int64_t>(i)));
  }
  ~Moved() { move({}, 0); }

  const std::vector<double> &start() const { return values; }

  /// The change of the loss from -h to h along a direction, and what the
  /// gradient says of it: the parameter is rounded to its type.
  Expected<std::pair<double, double>>
  change(const std::vector<double> &direction, double h) {
    double measured = 0, predicted = 0;
    for (int sign : {1, -1}) {
      predicted += sign * move(direction, sign * h);
      Expected<double> value = loss();
      if (!value)
        return value.status();
      measured += sign * *value;
    }
    return std::pair(measured, predicted);
  }

private:
  /// Moves the parameter; gives the product of gradient and movement.
  double move(const std::vector<double> &direction, double h) {
    double product = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      double value = values[i] + (direction.empty() ? 0 : h * direction[i]);
      if (parameter.type == ONNX_AOT_FLOAT32) {
        float rounded = static_cast<float>(value);
        static_cast<float *>(parameter.data)[i] = rounded;
        value = rounded;
      } else {
        static_cast<double *>(parameter.data)[i] = value;
      }
      product += gradient[i] * (value - values[i]);
    }
    return product;
  }

  const OnnxAotTensor &parameter;
  const std::vector<double> &gradient;
  const std::function<Expected<double>()> &loss;
  std::vector<double> values;
};

double normOf(const std::vector<double> &values) {
  double sum = 0;
  for (double value : values)
    sum += value * value;
  return std::sqrt(sum);
}

/// Error and bound along one direction with one step.
Expected<GradientCheck> checkStep(Moved &moved,
                                  const std::vector<double> &direction,
                                  double size, double norm, double step,
                                  const Precision &precision, double loss) {
  auto far = moved.change(direction, step);
  if (!far)
    return far.status();
  auto near = moved.change(direction, step / 2);
  if (!near)
    return near.status();
  // Both together have no error of the third order.
  double measured = (8 * near->first - far->first) / (6 * step);
  double predicted = (8 * near->second - far->second) / (6 * step);
  double noise = roundings * precision.epsilon * std::fabs(loss) / step;
  double scale = norm * size;
  GradientCheck check;
  check.norm = norm;
  check.error = std::fabs(measured - predicted);
  check.bound = precision.bound * scale + noise;
  if (!(check.error <= check.bound)) // also where it is no number
    check.verdict = GradientCheck::Wrong;
  else if (scale > 0 && check.bound > usefulBound * scale)
    check.verdict = GradientCheck::Unsure;
  if (scale > 0) {
    check.error /= scale;
    check.bound /= scale;
  }
  return check;
}

} // namespace

std::optional<double> gradientBound(int32_t type) {
  if (std::optional<Precision> precision = precisionOf(type))
    return precision->bound;
  return std::nullopt;
}

Expected<GradientCheck>
checkGradient(const OnnxAotTensor &parameter,
              const std::vector<double> &gradient, uint64_t seed,
              const std::function<Expected<double>()> &loss) {
  std::optional<Precision> precision = precisionOf(parameter.type);
  if (!precision)
    return userError("parameters of this type cannot be moved by small steps");
  Moved moved(parameter, gradient, loss);
  Expected<double> start = loss();
  if (!start)
    return start.status();
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  double count = static_cast<double>(std::max<size_t>(1, gradient.size()));
  double size = std::max(normOf(moved.start()) / std::sqrt(count), 1e-2);
  double norm = normOf(gradient);
  GradientCheck worst;
  worst.norm = norm;
  for (int i = 0; i < numDirections; ++i) {
    std::vector<double> direction(gradient.size());
    for (double &element : direction)
      element = size * normal(random);
    // A wrong gradient is wrong with every step, a kink is not met by all.
    std::optional<GradientCheck> best;
    for (double step : precision->steps) {
      Expected<GradientCheck> check =
          checkStep(moved, direction, size, norm, step, *precision, *start);
      if (!check)
        return check.status();
      bool isBetter = !best || (best->verdict != GradientCheck::Right &&
                                (check->verdict == GradientCheck::Right ||
                                 (best->verdict == GradientCheck::Wrong &&
                                  check->error < best->error)));
      // What is hidden by rounding does not excuse what was seen to be wrong.
      if (best && best->verdict == GradientCheck::Wrong &&
          check->verdict == GradientCheck::Unsure)
        isBetter = false;
      if (isBetter)
        best = *check;
      if (best->verdict == GradientCheck::Right)
        break;
    }
    auto rank = [](GradientCheck::Verdict verdict) {
      return verdict == GradientCheck::Wrong    ? 2
             : verdict == GradientCheck::Unsure ? 1
                                                : 0;
    };
    int rankBest = rank(best->verdict), rankWorst = rank(worst.verdict);
    if (i == 0 || rankBest > rankWorst ||
        (rankBest == rankWorst && !(best->error <= worst.error)))
      worst = *best;
  }
  return worst;
}

} // namespace onnx_aot::run

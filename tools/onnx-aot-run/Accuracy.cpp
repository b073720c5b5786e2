//===- Accuracy.cpp - how often a classifier is right ---------------------===//
#include "Accuracy.h"

#include "Compare.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

namespace onnx_aot::run {

namespace {

int64_t sizeOf(const OnnxAotTensor &tensor) {
  int64_t size = 1;
  for (int32_t d = 0; d < tensor.rank; ++d)
    size *= tensor.dims[d];
  return size;
}

/// The integer value of `key` in "name:key=value,...".
std::optional<int64_t> specValue(const std::string &spec,
                                 const std::string &key) {
  for (char before : {':', ','}) {
    size_t at = spec.find(before + key + "=");
    if (at != spec.npos)
      return std::strtoll(spec.c_str() + at + key.size() + 2, nullptr, 10);
  }
  return std::nullopt;
}

int64_t labelAt(const OnnxAotTensor &labels, int64_t index) {
  if (labels.type == ONNX_AOT_INT32)
    return static_cast<const int32_t *>(labels.data)[index];
  return static_cast<const int64_t *>(labels.data)[index];
}

/// True if `scores` is `labels` with the axis of the classes put in.
bool fits(const OnnxAotTensor &scores, const OnnxAotTensor &labels,
          int32_t axis) {
  if (scores.rank != labels.rank + 1 || axis < 0 || axis >= scores.rank ||
      !scores.dims[axis])
    return false;
  for (int32_t d = 0; d < labels.rank; ++d)
    if (labels.dims[d] != scores.dims[d + (d >= axis)])
      return false;
  return true;
}

} // namespace

Accuracy::Accuracy(const OnnxAotTraining &training) {
  std::string loss = training.loss;
  std::string name = loss.substr(0, loss.find(':'));
  isClassLoss =
      training.num_targets == 1 && (name == "cross-entropy" || name == "nll");
  classAxis = specValue(loss, "class_axis").value_or(1);
  ignored = specValue(loss, "ignore_index");
}

std::optional<int64_t>
Accuracy::countLabels(const OnnxAotTensor &labels) const {
  if (!isClassLoss ||
      (labels.type != ONNX_AOT_INT32 && labels.type != ONNX_AOT_INT64))
    return std::nullopt;
  int64_t size = sizeOf(labels), count = 0;
  for (int64_t i = 0; i < size; ++i)
    count += !ignored || labelAt(labels, i) != *ignored;
  return count;
}

std::string Accuracy::labelRange(const OnnxAotTensor &labels) const {
  if (!countLabels(labels).value_or(0))
    return "";
  int64_t low = INT64_MAX, high = INT64_MIN;
  for (int64_t i = 0; i < sizeOf(labels); ++i) {
    low = std::min(low, labelAt(labels, i));
    high = std::max(high, labelAt(labels, i));
  }
  return "; its labels are " + std::to_string(low) + " to " +
         std::to_string(high);
}

void Accuracy::add(const std::vector<OnnxAotTensor> &outputs,
                   const OnnxAotTensor &labels) {
  if (!countLabels(labels))
    return;
  for (size_t i = 1; i < outputs.size(); ++i) {
    const OnnxAotTensor &scores = outputs[i];
    auto axis = static_cast<int32_t>(classAxis < 0 ? scores.rank + classAxis
                                                   : classAxis);
    if (!fits(scores, labels, axis))
      continue;
    int64_t inner = 1, classes = scores.dims[axis];
    for (int32_t d = axis + 1; d < scores.rank; ++d)
      inner *= scores.dims[d];
    int64_t size = sizeOf(labels);
    for (int64_t l = 0; l < size; ++l) {
      if (ignored && labelAt(labels, l) == *ignored)
        continue;
      // Label l is at [outer, inner]; its scores are `inner` apart.
      int64_t first = l / inner * classes * inner + l % inner, best = 0;
      double highest = -INFINITY;
      for (int64_t c = 0; c < classes; ++c) {
        double score =
            elementAsDouble(scores.type, scores.data, first + c * inner);
        if (score > highest) {
          highest = score;
          best = c;
        }
      }
      ++total;
      right += best == labelAt(labels, l);
    }
    return;
  }
}

std::optional<double> Accuracy::value() const {
  if (!total)
    return std::nullopt;
  return static_cast<double>(right) / static_cast<double>(total);
}

double meanOf(const OnnxAotTensor &tensor) {
  int64_t size = sizeOf(tensor);
  double sum = 0;
  for (int64_t i = 0; i < size; ++i)
    sum += elementAsDouble(tensor.type, tensor.data, i);
  return sum / static_cast<double>(size);
}

} // namespace onnx_aot::run

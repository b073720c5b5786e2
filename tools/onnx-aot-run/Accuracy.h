//===- Accuracy.h - how often a classifier is right ------------*- C++ -*-===//
#ifndef ONNX_AOT_TOOLS_RUN_ACCURACY_H
#define ONNX_AOT_TOOLS_RUN_ACCURACY_H

#include "Npy.h"

#include "onnx-aot/abi/Training.h"

#include <optional>

namespace onnx_aot::run {

/// Counts right answers. Only a loss over classes (cross-entropy, nll) has any:
/// its labels are the only target.
class Accuracy {
public:
  explicit Accuracy(const OnnxAotTraining &training);

  /// Adds a batch: the outputs of an evaluation step (the loss first) and its
  /// labels. Does nothing where no output fits the labels.
  void add(const std::vector<OnnxAotTensor> &outputs,
           const OnnxAotTensor &labels);

  /// Labels counted, of which right.
  int64_t labels() const { return total; }
  std::optional<double> value() const;

  /// Labels of a batch that count for a mean; nothing for other losses.
  std::optional<int64_t> countLabels(const OnnxAotTensor &labels) const;

  /// "; its labels are 0 to 9", for messages; empty for other losses.
  std::string labelRange(const OnnxAotTensor &labels) const;

private:
  bool isClassLoss = false;
  int64_t classAxis = 1;
  std::optional<int64_t> ignored;
  int64_t total = 0, right = 0;
};

/// Mean of a tensor's elements, which is itself for a scalar.
double meanOf(const OnnxAotTensor &tensor);

} // namespace onnx_aot::run

#endif // ONNX_AOT_TOOLS_RUN_ACCURACY_H

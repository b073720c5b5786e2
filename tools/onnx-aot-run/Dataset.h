//===- Dataset.h - samples and the order they come in ----------*- C++ -*-===//
#ifndef ONNX_AOT_TOOLS_RUN_DATASET_H
#define ONNX_AOT_TOOLS_RUN_DATASET_H

#include "Npy.h"

#include "onnx-aot/runtime/TrainingModule.h"

#include <memory>

namespace onnx_aot::run {

/// The order of `count` samples in an epoch: a permutation that depends on seed
/// and epoch and on nothing else.
std::vector<int64_t> shuffledOrder(int64_t count, uint64_t seed,
                                   uint64_t epoch);

/// Samples for all inputs of a training, along their first axis.
class Dataset {
public:
  /// Reads an .npz or a safetensors file that has an array for each input and
  /// checks it against the module.
  static Expected<Dataset> load(const std::string &path,
                                const runtime::TrainingModule &module);

  int64_t size() const { return count; }
  const std::string &path() const { return thePath; }

  /// The batch of samples order[begin], order[begin + 1], ...; without an order
  /// those at `begin`, `begin` + 1, .... Its tensors are valid until the next.
  const std::vector<OnnxAotTensor> &batch(const std::vector<int64_t> *order,
                                          int64_t begin, int64_t rows);

private:
  /// The values of one input.
  struct Column {
    OnnxAotTensor all; ///< every sample
    uint64_t rowBytes = 0;
    std::vector<char> staged; ///< a batch that is not in order
    std::vector<double> wide; ///< float32 for a module that takes float64
  };

  std::string thePath;
  int64_t count = 0;
  std::vector<Column> columns;
  std::vector<OnnxAotTensor> views;
  std::shared_ptr<void> memory;
};

/// The batch size that the module demands of every input, or 0 if it takes
/// any.
Expected<int64_t> fixedBatch(const runtime::TrainingModule &module);

/// How a program of the module declares input number `index`; null if no
/// program takes it.
const OnnxAotValueInfo *findInputInfo(const OnnxAotTraining &training,
                                      int32_t index);

} // namespace onnx_aot::run

#endif // ONNX_AOT_TOOLS_RUN_DATASET_H

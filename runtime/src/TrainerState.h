//===- TrainerState.h - the inside of a trainer ----------------*- C++ -*-===//
#ifndef ONNX_AOT_RUNTIME_SRC_TRAINERSTATE_H
#define ONNX_AOT_RUNTIME_SRC_TRAINERSTATE_H

#include "Program.h"

#include "onnx-aot/runtime/Trainer.h"

#include <cmath>

namespace onnx_aot::runtime {

/// Everything a trainer holds.
class TrainerState {
public:
  explicit TrainerState(std::shared_ptr<const LoadedTraining> loaded)
      : loaded(std::move(loaded)) {}

  const OnnxAotTraining &training() const { return loaded->descriptor; }
  bool isTrainable(int32_t index) const {
    return training().parameters[index].kind == ONNX_AOT_PARAMETER_TRAINABLE;
  }
  uint64_t parameterBytes(int32_t index) const;
  /// A piece of state as a tensor.
  OnnxAotTensor view(void *data, int32_t type, int32_t rank,
                     const int64_t *dims) const;

  /// Fails while a parameter has no value or the state is broken.
  Status checkReady() const;
  /// Marks parameter `index`, or all of them, as having a value.
  void setKnown(int32_t index) { known[size_t(index)] = true; }

  Status runTraining(Program &program, const OnnxAotTensor *inputs,
                     size_t numInputs, OnnxAotTensor *outputs,
                     size_t numOutputs, bool accumulates);
  Status update(bool *updated);
  static Status noOptimizer();
  /// Whether a step is one run of the fused program.
  bool usesFused() const;
  /// Counts an update, or adapts the loss scale to one that was left out.
  void finishUpdate(bool *updated);
  /// Gives the numbers of this step to the programs.
  void setNumbers(int64_t accumulatedAfter);
  double computeNorm() const;

  /// A parameter, its gradient, or its optimizer state. The host may have other
  /// values than the device.
  OnnxAotTensor parameter(int32_t index) const;
  OnnxAotTensor gradient(int32_t index) const;
  OnnxAotTensor slot(int32_t index, int32_t slot) const;
  /// Brings all state to the host. Before the host reads it, or writes parts.
  Status fetch() const;
  /// After the host has written: its values hold.
  void noteWritten() const;
  /// The same tensor for a caller who may write to it; null where that fails.
  OnnxAotTensor lend(OnnxAotTensor tensor);

  std::shared_ptr<const LoadedTraining> loaded;
  ProgramMemory memory;
  std::unique_ptr<Program> train, eval, updater, fused;
  Progress progress;
  std::map<std::string, Property> properties;
  std::optional<Schedule> schedule;
  ReduceFunction reduce;
  bool meanAccumulation = false, keepGradients = false;
  double norm = NAN, normScale = 1;
  bool normKnown = true;   ///< else it is computed when asked for
  std::vector<bool> known; ///< which parameters have a value
  /// Why no step is possible until state is loaded; empty if it is.
  std::string broken;
  /// Why no update is possible until the gradients are reset.
  std::string gradientsBroken;
  std::atomic<int> running{0};
};

/// The data of an initializer in an ONNX file.
struct ExportedTensor {
  int32_t type;
  std::vector<int64_t> dims;
  const void *data; ///< what replaces it
  uint64_t bytes;
  /// Or null, and what is added to it: scale * b a, transposed where the
  /// initializer is in x out.
  const void *a = nullptr, *b = nullptr;
  int64_t rank = 0;
  bool isTransposed = false;
  double scale = 1;
};
Status exportOnnx(const void *model, uint64_t bytes,
                  const std::map<std::string, ExportedTensor> &tensors,
                  const std::string *path, const std::string &what);

} // namespace onnx_aot::runtime

#endif // ONNX_AOT_RUNTIME_SRC_TRAINERSTATE_H

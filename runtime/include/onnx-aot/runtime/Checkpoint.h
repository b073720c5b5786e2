//===- Checkpoint.h - the state of a training on disk ----------*- C++ -*-===//
//
// A checkpoint is a safetensors file; docs/CheckpointFormat.md has its rules.
// Reading takes three kinds: those written here, plain safetensors files (only
// parameters), and the checkpoints of ONNX Runtime Training.
//
//===----------------------------------------------------------------------===//
#ifndef ONNX_AOT_RUNTIME_CHECKPOINT_H
#define ONNX_AOT_RUNTIME_CHECKPOINT_H

#include "onnx-aot/runtime/Status.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace onnx_aot::runtime {

/// What the user keeps in a checkpoint under a name: the epoch, the best loss.
using Property = std::variant<int64_t, float, std::string>;

/// Where a training stands, apart from its tensors.
struct Progress {
  int64_t updates = 0; ///< optimizer updates made
  int64_t steps = 0;   ///< training steps made; random operators depend on it
  int64_t accumulated = 0; ///< training steps since the gradients were reset
  int64_t seed = 0;
  float learningRate = 0.001f;
  std::string schedule;         ///< as Schedule::parse takes it; may be empty
  int64_t schedulePosition = 0; ///< steps of the schedule made
  float lossScale = 1;
  int64_t lossScaleInterval = 0; ///< see Trainer::setLossScale
  int64_t stepsAtLossScale = 0;
};

/// A tensor in a checkpoint; its memory is the checkpoint's.
struct CheckpointTensor {
  std::string name; ///< of the parameter
  std::string slot; ///< optimizer state: which; else empty
  int32_t type = 0; ///< OnnxAotType
  std::vector<int64_t> dims;
  const void *data = nullptr; ///< null in a nominal checkpoint
  uint64_t bytes = 0;
};

/// The contents of a checkpoint.
struct Checkpoint {
  enum Contents {
    Parameters, ///< parameters and running statistics
    Training,   ///< and all that the training needs to go on
    Nominal     ///< names, types and shapes of the parameters, no values
  };

  Contents contents = Parameters;
  /// Hexadecimal, of OnnxAotTraining::fingerprint; empty in files of others.
  std::string fingerprint;
  std::string optimizer; ///< as OnnxAotTraining::optimizer
  std::vector<CheckpointTensor> parameters, slots, gradients;
  Progress progress; ///< meaningful with contents Training
  std::map<std::string, Property> properties;
  /// What keeps the tensors' memory.
  std::shared_ptr<const void> memory;

  /// Reads a file and verifies its hash. The file is mapped: it may be replaced
  /// meanwhile, but must not be overwritten in place.
  ONNX_AOT_API static Expected<Checkpoint> load(const std::string &path);

  /// Reads a checkpoint in memory, which must stay there.
  ONNX_AOT_API static Expected<Checkpoint> fromMemory(const void *data,
                                                      uint64_t bytes);

  /// Writes a file; see writeFileAtomically's rule in CheckpointFormat.md.
  ONNX_AOT_API Status save(const std::string &path) const;

  /// The bytes that `save` would write.
  ONNX_AOT_API Expected<std::vector<char>> toMemory() const;

  /// Null if there is none with this name.
  ONNX_AOT_API const CheckpointTensor *
  findParameter(const std::string &name) const;
};

} // namespace onnx_aot::runtime

#endif // ONNX_AOT_RUNTIME_CHECKPOINT_H

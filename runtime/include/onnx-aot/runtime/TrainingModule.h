//===- TrainingModule.h - a compiled training module -----------*- C++ -*-===//
#ifndef ONNX_AOT_RUNTIME_TRAININGMODULE_H
#define ONNX_AOT_RUNTIME_TRAININGMODULE_H

#include "onnx-aot/abi/Training.h"
#include "onnx-aot/runtime/Checkpoint.h"
#include "onnx-aot/runtime/Module.h"

#include <memory>
#include <string>

namespace onnx_aot::runtime {

class LoadedTraining;

/// The programs that train a model. Immutable; copies share it. Any number of
/// trainers may use one at once.
class TrainingModule {
public:
  /// Loads a shared object made with --train; see onnxAotTrainingModuleLoad.
  ONNX_AOT_API static Expected<TrainingModule>
  load(const std::string &path, const std::string &prefix = "");

  /// Uses a training module linked into the program.
  ONNX_AOT_API static Expected<TrainingModule>
  fromLinked(const OnnxAotTraining &descriptor,
             const std::string &weightsFolder = "");

  /// Parameters, inputs, loss, optimizer, programs; see Training.h.
  ONNX_AOT_API const OnnxAotTraining &descriptor() const;
  const OnnxAotTraining *operator->() const { return &descriptor(); }

  /// Index of a parameter or input by its name, or -1.
  ONNX_AOT_API int32_t findParameter(const std::string &name) const;
  ONNX_AOT_API int32_t findInput(const std::string &name) const;

  /// The model with the parameters of a checkpoint (they are copied), for
  /// sessions: no loss, no targets, nothing that trains.
  ONNX_AOT_API Expected<Module>
  inferenceModule(const Checkpoint &checkpoint) const;
  ONNX_AOT_API Expected<Module>
  inferenceModule(const std::string &checkpointPath) const;

private:
  friend class Trainer;
  explicit TrainingModule(std::shared_ptr<const LoadedTraining> loaded)
      : loaded(std::move(loaded)) {}
  std::shared_ptr<const LoadedTraining> loaded;
};

} // namespace onnx_aot::runtime

#endif // ONNX_AOT_RUNTIME_TRAININGMODULE_H

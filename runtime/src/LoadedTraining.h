//===- LoadedTraining.h - what keeps a training module alive ---*- C++ -*-===//
#ifndef ONNX_AOT_RUNTIME_SRC_LOADEDTRAINING_H
#define ONNX_AOT_RUNTIME_SRC_LOADEDTRAINING_H

#include "LoadedModule.h"

#include "onnx-aot/runtime/Checkpoint.h"

#include <vector>

namespace onnx_aot::runtime {

/// Type and shape of the optimizer state: slot s of parameter p at index
/// p * num_slots + s; null where there is none.
using SlotTable = std::vector<const OnnxAotValueInfo *>;

/// A checked descriptor and its programs with their weights.
class LoadedTraining {
public:
  /// Checks the descriptor and its programs. `library` is null for a linked
  /// module.
  static Expected<std::shared_ptr<const LoadedTraining>>
  make(std::shared_ptr<const SharedObject> library,
       const OnnxAotTraining &descriptor, const std::string &where,
       const std::string &weightsFolder);

  explicit LoadedTraining(const OnnxAotTraining &descriptor)
      : descriptor(descriptor) {}

  const OnnxAotTraining &descriptor;
  /// Null where the module has no such program.
  std::shared_ptr<const LoadedModule> train, eval, update, fused, infer;
  SlotTable slots;

  /// True if a program runs on a device.
  bool hasDeviceCode() const {
    for (const auto *program : {&train, &eval, &update, &fused})
      if (*program && (*program)->get().device_code)
        return true;
    return false;
  }
};

/// Checks that this runtime can train with `training`: version, tables,
/// parameters, and every binding of every program. Fills in `slots`.
Status checkTraining(const OnnxAotTraining &training, SlotTable &slots);

/// "0123...": how a checkpoint names a module's fingerprint.
std::string fingerprintText(const OnnxAotTraining &training);

/// For each parameter of the module the checkpoint's tensor of it; null only
/// with `partial`. Fails where the checkpoint is not of this model.
Expected<std::vector<const CheckpointTensor *>>
matchParameters(const OnnxAotTraining &training, const Checkpoint &checkpoint,
                bool partial);

} // namespace onnx_aot::runtime

#endif // ONNX_AOT_RUNTIME_SRC_LOADEDTRAINING_H

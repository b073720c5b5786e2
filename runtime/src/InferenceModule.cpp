//===- InferenceModule.cpp - a trained model to be run --------------------===//
#include "LoadedTraining.h"
#include "Text.h"
#include "Types.h"

#include "onnx-aot/runtime/Trainer.h"

#include <cstring>

namespace onnx_aot::runtime {

namespace {

uint64_t alignedUp(uint64_t bytes) {
  return (bytes + ONNX_AOT_ALIGNMENT - 1) / ONNX_AOT_ALIGNMENT *
         ONNX_AOT_ALIGNMENT;
}

/// Copies the parameters to where the program's last inputs point.
Expected<std::shared_ptr<const BoundModule>>
bindParameters(const LoadedTraining &training,
               const std::vector<const CheckpointTensor *> &parameters) {
  auto bound = std::make_shared<BoundModule>();
  bound->program = training.infer;
  bound->descriptor = training.infer->get();
  bound->descriptor.weights = training.infer->weights();
  const OnnxAotBinding *bindings = training.descriptor.infer.inputs;
  std::vector<const CheckpointTensor *> tensors;
  uint64_t bytes = 0;
  for (int32_t i = 0; i < training.infer->get().num_inputs; ++i)
    if (bindings[i].role == ONNX_AOT_ROLE_PARAMETER) {
      tensors.push_back(parameters[size_t(bindings[i].index)]);
      if (!tensors.back()->data && tensors.back()->bytes)
        return invalidArgument("the checkpoint has no values");
      bytes += alignedUp(tensors.back()->bytes);
    }
  bound->descriptor.num_inputs -= static_cast<int32_t>(tensors.size());
  if (!bound->memory.reserve(bytes))
    return Status(ONNX_AOT_OUT_OF_MEMORY,
                  concat("no memory for parameters of ", bytes, " bytes"));
  char *next = static_cast<char *>(bound->memory.data());
  for (const CheckpointTensor *tensor : tensors) {
    bound->inputs.push_back(tensor->bytes ? next : emptyTensorAddress());
    if (tensor->bytes)
      std::memcpy(next, tensor->data, tensor->bytes);
    next += alignedUp(tensor->bytes);
  }
  return std::shared_ptr<const BoundModule>(std::move(bound));
}

} // namespace

Expected<Module>
TrainingModule::inferenceModule(const Checkpoint &checkpoint) const {
  if (!loaded->infer)
    return invalidArgument("the training module has no program for inference");
  if (loaded->infer->get().device_code)
    return invalidArgument("the training module was compiled for a device: "
                           "export the trained model and compile it");
  if (checkpoint.contents == Checkpoint::Nominal)
    return invalidArgument("a nominal checkpoint has no values to infer with");
  auto matched = matchParameters(descriptor(), checkpoint, false);
  if (!matched)
    return matched.status();
  auto bound = bindParameters(*loaded, *matched);
  if (!bound)
    return bound.status();
  return Module(std::make_shared<LoadedModule>(std::move(*bound)));
}

Expected<Module>
TrainingModule::inferenceModule(const std::string &checkpointPath) const {
  Expected<Checkpoint> checkpoint = Checkpoint::load(checkpointPath);
  if (!checkpoint)
    return checkpoint.status();
  Expected<Module> module = inferenceModule(*checkpoint);
  if (!module)
    return Status(module.status().code(),
                  concat("cannot use ", quoted(checkpointPath), ": ",
                         module.status().message()));
  return module;
}

Expected<Module> Trainer::inferenceModule() {
  Expected<Checkpoint> checkpoint = snapshot(Checkpoint::Parameters);
  if (!checkpoint)
    return checkpoint.status();
  return theModule.inferenceModule(*checkpoint);
}

} // namespace onnx_aot::runtime

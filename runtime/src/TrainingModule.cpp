//===- TrainingModule.cpp - a compiled training module --------------------===//
#include "onnx-aot/runtime/TrainingModule.h"

#include "LoadedTraining.h"
#include "Text.h"

namespace onnx_aot::runtime {

Expected<std::shared_ptr<const LoadedTraining>>
LoadedTraining::make(std::shared_ptr<const SharedObject> library,
                     const OnnxAotTraining &descriptor,
                     const std::string &where,
                     const std::string &weightsFolder) {
  auto loaded = std::make_shared<LoadedTraining>(descriptor);
  // The version comes first: another one may have other fields.
  if (descriptor.abi_version == ONNX_AOT_ABI_VERSION &&
      descriptor.struct_bytes == sizeof(OnnxAotTraining)) {
    const std::pair<const OnnxAotProgram *,
                    std::shared_ptr<const LoadedModule> *>
        programs[] = {{&descriptor.train, &loaded->train},
                      {&descriptor.eval, &loaded->eval},
                      {&descriptor.update, &loaded->update},
                      {&descriptor.fused, &loaded->fused},
                      {&descriptor.infer, &loaded->infer}};
    for (auto [program, place] : programs) {
      if (!program->module)
        continue;
      auto module =
          finishModule(library, *program->module, where, weightsFolder);
      if (!module)
        return module.status();
      *place = std::move(*module);
    }
  }
  if (Status status = checkTraining(descriptor, loaded->slots); !status.ok())
    return Status(status.code(), concat("training module ", where,
                                        " cannot be used: ", status.message()));
  return std::shared_ptr<const LoadedTraining>(std::move(loaded));
}

Expected<TrainingModule> TrainingModule::load(const std::string &path,
                                              const std::string &prefix) {
  Expected<SharedObject> library = SharedObject::open(path);
  if (!library)
    return library.status();
  Expected<const OnnxAotTraining *> descriptor = library->findTraining(prefix);
  if (!descriptor)
    return descriptor.status();
  auto loaded =
      LoadedTraining::make(std::make_shared<SharedObject>(std::move(*library)),
                           **descriptor, quoted(path), folderOf(path));
  if (!loaded)
    return loaded.status();
  return TrainingModule(std::move(*loaded));
}

Expected<TrainingModule>
TrainingModule::fromLinked(const OnnxAotTraining &descriptor,
                           const std::string &weightsFolder) {
  auto loaded = LoadedTraining::make(nullptr, descriptor,
                                     "linked into the program", weightsFolder);
  if (!loaded)
    return loaded.status();
  return TrainingModule(std::move(*loaded));
}

const OnnxAotTraining &TrainingModule::descriptor() const {
  return loaded->descriptor;
}

int32_t TrainingModule::findParameter(const std::string &name) const {
  for (int32_t i = 0; i < descriptor().num_parameters; ++i)
    if (name == descriptor().parameters[i].name)
      return i;
  return -1;
}

int32_t TrainingModule::findInput(const std::string &name) const {
  for (int32_t i = 0; i < descriptor().num_inputs; ++i)
    if (name == descriptor().inputs[i])
      return i;
  return -1;
}

} // namespace onnx_aot::runtime

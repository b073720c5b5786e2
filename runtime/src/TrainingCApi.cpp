//===- TrainingCApi.cpp - C interface of training -------------------------===//
#include "onnx-aot/runtime/training_c_api.h"

#include "CApiSupport.h"
#include "Safetensors.h"

#include "onnx-aot/runtime/Trainer.h"

#include <cmath>
#include <cstdlib>
#include <cstring>

using namespace onnx_aot::runtime;

struct OnnxAotTrainingModule {
  TrainingModule module;
};

struct OnnxAotTrainer {
  Trainer trainer;
  std::vector<std::string> outputNames[2]; ///< of evaluation, of training
};

namespace {

/// Calls `body` on the trainer if no pointer among `needed` is null.
template <typename Body>
OnnxAotCode
withTrainer(OnnxAotTrainer *trainer, OnnxAotError *error,
            std::initializer_list<std::pair<const void *, const char *>> needed,
            Body body) {
  return guarded(error, [&]() -> Status {
    if (!trainer)
      return nullArgument("trainer");
    for (auto [pointer, name] : needed)
      if (!pointer)
        return nullArgument(name);
    return body(trainer->trainer);
  });
}

Status checkCounts(int32_t numInputs, int32_t numOutputs) {
  if (numInputs < 0 || numOutputs < 0)
    return invalidArgument(
        "the number of ", numInputs < 0 ? "inputs" : "outputs",
        " is negative (", numInputs < 0 ? numInputs : numOutputs, ")");
  return Status();
}

Expected<LoadOptions> loadOptions(uint32_t flags) {
  constexpr uint32_t known =
      ONNX_AOT_LOAD_PARAMETERS_ONLY | ONNX_AOT_LOAD_PARTIAL;
  if (flags & ~known)
    return invalidArgument("unknown flags ", flags, " for loading");
  LoadOptions options;
  options.parametersOnly = flags & ONNX_AOT_LOAD_PARAMETERS_ONLY;
  options.partial = flags & ONNX_AOT_LOAD_PARTIAL;
  return options;
}

Expected<Checkpoint::Contents> contentsOf(int32_t contents) {
  if (contents < ONNX_AOT_CHECKPOINT_PARAMETERS ||
      contents > ONNX_AOT_CHECKPOINT_NOMINAL)
    return invalidArgument("unknown contents ", contents, " of a checkpoint");
  return static_cast<Checkpoint::Contents>(contents);
}

/// A tensor of the trainer, if there is one.
Status giveTensor(const OnnxAotTensor &found, OnnxAotTensor *tensor,
                  const char *what, int32_t index) {
  if (!found.type || !found.data)
    return invalidArgument("there is no ", what, " ", index);
  *tensor = found;
  return Status();
}

template <typename T>
Status getProperty(Trainer &trainer, const char *name, const T *&value) {
  auto found = trainer.properties().find(name);
  if (found == trainer.properties().end())
    return invalidArgument("there is no property ", quoted(name));
  value = std::get_if<T>(&found->second);
  if (!value)
    return invalidArgument("property ", quoted(name), " has another type");
  return Status();
}

/// Refuses at once what no checkpoint could keep.
Status setProperty(Trainer &trainer, const char *name, Property value) {
  const auto *text = std::get_if<std::string>(&value);
  if (!isUtf8(name) || (text && !isUtf8(*text)))
    return invalidArgument("property ", quoted(name), " is not UTF-8");
  trainer.properties()[name] = std::move(value);
  return Status();
}

} // namespace

extern "C" {

OnnxAotCode onnxAotTrainingModuleLoad(const char *path, const char *prefix,
                                      OnnxAotTrainingModule **module,
                                      OnnxAotError *error) {
  return guarded(error, [&] {
    if (!path || !module)
      return nullArgument(path ? "module" : "path");
    return publish(TrainingModule::load(path, prefix ? prefix : ""), module);
  });
}

OnnxAotCode onnxAotTrainingModuleFromLinked(const OnnxAotTraining *descriptor,
                                            const char *weights_folder,
                                            OnnxAotTrainingModule **module,
                                            OnnxAotError *error) {
  return guarded(error, [&] {
    if (!descriptor || !module)
      return nullArgument(descriptor ? "module" : "descriptor");
    return publish(TrainingModule::fromLinked(
                       *descriptor, weights_folder ? weights_folder : ""),
                   module);
  });
}

void onnxAotTrainingModuleRelease(OnnxAotTrainingModule *module) {
  delete module;
}

const OnnxAotTraining *
onnxAotTrainingModuleDescriptor(const OnnxAotTrainingModule *module) {
  return module ? &module->module.descriptor() : nullptr;
}

int32_t onnxAotTrainingModuleFindParameter(const OnnxAotTrainingModule *module,
                                           const char *name) {
  return findByName(module, name, &TrainingModule::findParameter);
}

int32_t onnxAotTrainingModuleFindInput(const OnnxAotTrainingModule *module,
                                       const char *name) {
  return findByName(module, name, &TrainingModule::findInput);
}

void onnxAotTrainerOptionsInit(OnnxAotTrainerOptions *options) {
  if (!options)
    return;
  TrainerOptions defaults;
  *options = {};
  options->struct_bytes = sizeof(OnnxAotTrainerOptions);
  options->threads = defaults.threads;
  options->learning_rate = defaults.learningRate;
}

OnnxAotCode onnxAotTrainerCreate(OnnxAotTrainingModule *module,
                                 const OnnxAotTrainerOptions *options,
                                 OnnxAotTrainer **trainer,
                                 OnnxAotError *error) {
  return guarded(error, [&] {
    if (!module || !trainer)
      return nullArgument(module ? "trainer" : "module");
    TrainerOptions chosen;
    if (options) {
      if (options->struct_bytes != sizeof(OnnxAotTrainerOptions))
        return invalidArgument("the trainer options have ",
                               options->struct_bytes, " bytes instead of ",
                               sizeof(OnnxAotTrainerOptions),
                               ": start from onnxAotTrainerOptionsInit");
      chosen.threads = options->threads;
      chosen.seed = options->seed;
      chosen.learningRate = options->learning_rate;
      chosen.meanAccumulation = options->mean_accumulation != 0;
      chosen.keepGradients = options->keep_gradients != 0;
      chosen.stream = options->stream;
    }
    Expected<Trainer> created = Trainer::create(module->module, chosen);
    if (!created)
      return created.status();
    *trainer = new OnnxAotTrainer{std::move(*created), {}};
    for (int training = 0; training < 2; ++training)
      (*trainer)->outputNames[training] =
          (*trainer)->trainer.outputNames(training);
    return Status();
  });
}

void onnxAotTrainerRelease(OnnxAotTrainer *trainer) { delete trainer; }

OnnxAotCode onnxAotTrainerTrainStep(OnnxAotTrainer *trainer,
                                    const OnnxAotTensor *inputs,
                                    int32_t num_inputs, OnnxAotTensor *outputs,
                                    int32_t num_outputs, OnnxAotError *error) {
  return withTrainer(trainer, error, {}, [&](Trainer &t) {
    if (Status status = checkCounts(num_inputs, num_outputs); !status.ok())
      return status;
    return t.trainStep(inputs, size_t(num_inputs), outputs,
                       size_t(num_outputs));
  });
}

OnnxAotCode onnxAotTrainerEvalStep(OnnxAotTrainer *trainer,
                                   const OnnxAotTensor *inputs,
                                   int32_t num_inputs, OnnxAotTensor *outputs,
                                   int32_t num_outputs, OnnxAotError *error) {
  return withTrainer(trainer, error, {}, [&](Trainer &t) {
    if (Status status = checkCounts(num_inputs, num_outputs); !status.ok())
      return status;
    return t.evalStep(inputs, size_t(num_inputs), outputs, size_t(num_outputs));
  });
}

OnnxAotCode onnxAotTrainerOptimizerStep(OnnxAotTrainer *trainer,
                                        int32_t *updated, OnnxAotError *error) {
  return withTrainer(trainer, error, {}, [&](Trainer &t) {
    bool done = false;
    Status status = t.optimizerStep(&done);
    if (updated && status.ok())
      *updated = done;
    return status;
  });
}

OnnxAotCode onnxAotTrainerLazyResetGrad(OnnxAotTrainer *trainer,
                                        OnnxAotError *error) {
  return withTrainer(trainer, error, {},
                     [&](Trainer &t) { return t.lazyResetGrad(); });
}

OnnxAotCode onnxAotTrainerStep(OnnxAotTrainer *trainer,
                               const OnnxAotTensor *inputs, int32_t num_inputs,
                               OnnxAotTensor *outputs, int32_t num_outputs,
                               int32_t *updated, OnnxAotError *error) {
  return withTrainer(trainer, error, {}, [&](Trainer &t) {
    if (Status status = checkCounts(num_inputs, num_outputs); !status.ok())
      return status;
    bool done = false;
    Status status =
        t.step(inputs, size_t(num_inputs), outputs, size_t(num_outputs), &done);
    if (updated && status.ok())
      *updated = done;
    return status;
  });
}

int32_t onnxAotTrainerNumOutputs(OnnxAotTrainer *trainer, int32_t training) {
  return trainer
             ? static_cast<int32_t>(trainer->outputNames[training != 0].size())
             : 0;
}

const char *onnxAotTrainerOutputName(OnnxAotTrainer *trainer, int32_t training,
                                     int32_t index) {
  return index >= 0 && index < onnxAotTrainerNumOutputs(trainer, training)
             ? trainer->outputNames[training != 0][size_t(index)].c_str()
             : nullptr;
}

float onnxAotTrainerGetLearningRate(const OnnxAotTrainer *trainer) {
  return trainer ? trainer->trainer.learningRate() : NAN;
}

OnnxAotCode onnxAotTrainerSetLearningRate(OnnxAotTrainer *trainer,
                                          float learning_rate,
                                          OnnxAotError *error) {
  return withTrainer(trainer, error, {}, [&](Trainer &t) {
    return t.setLearningRate(learning_rate);
  });
}

OnnxAotCode onnxAotTrainerSetSchedule(OnnxAotTrainer *trainer,
                                      const char *schedule,
                                      OnnxAotError *error) {
  return withTrainer(trainer, error, {{schedule, "schedule"}}, [&](Trainer &t) {
    return t.setSchedule(std::string(schedule));
  });
}

OnnxAotCode onnxAotTrainerSchedulerStep(OnnxAotTrainer *trainer,
                                        OnnxAotError *error) {
  return withTrainer(trainer, error, {},
                     [&](Trainer &t) { return t.schedulerStep(); });
}

OnnxAotCode onnxAotTrainerSetSeed(OnnxAotTrainer *trainer, int64_t seed,
                                  OnnxAotError *error) {
  return withTrainer(trainer, error, {},
                     [&](Trainer &t) { return t.setSeed(seed); });
}

OnnxAotCode onnxAotTrainerSetLossScale(OnnxAotTrainer *trainer, float scale,
                                       int64_t interval, OnnxAotError *error) {
  return withTrainer(trainer, error, {}, [&](Trainer &t) {
    return t.setLossScale(scale, interval);
  });
}

OnnxAotCode onnxAotTrainerSetReduce(OnnxAotTrainer *trainer,
                                    OnnxAotReduce reduce, void *user,
                                    OnnxAotError *error) {
  return withTrainer(trainer, error, {}, [&](Trainer &t) {
    if (!reduce)
      return t.setReduce(nullptr);
    return t.setReduce([reduce, user](void *data, uint64_t count,
                                      int32_t type) {
      int32_t failed = reduce(user, data, count, type);
      return failed ? concat("the callback returned ", failed) : std::string();
    });
  });
}

OnnxAotCode onnxAotTrainerGetParameter(OnnxAotTrainer *trainer, int32_t index,
                                       OnnxAotTensor *tensor,
                                       OnnxAotError *error) {
  return withTrainer(trainer, error, {{tensor, "tensor"}}, [&](Trainer &t) {
    return giveTensor(t.parameter(index), tensor, "parameter", index);
  });
}

OnnxAotCode onnxAotTrainerGetGradient(OnnxAotTrainer *trainer, int32_t index,
                                      OnnxAotTensor *tensor,
                                      OnnxAotError *error) {
  return withTrainer(trainer, error, {{tensor, "tensor"}}, [&](Trainer &t) {
    return giveTensor(t.gradient(index), tensor, "gradient of parameter",
                      index);
  });
}

OnnxAotCode onnxAotTrainerGetSlot(OnnxAotTrainer *trainer, int32_t index,
                                  int32_t slot, OnnxAotTensor *tensor,
                                  OnnxAotError *error) {
  return withTrainer(trainer, error, {{tensor, "tensor"}}, [&](Trainer &t) {
    return giveTensor(t.slot(index, slot), tensor,
                      "such optimizer state of parameter", index);
  });
}

OnnxAotCode onnxAotTrainerSetParameter(OnnxAotTrainer *trainer,
                                       const char *name,
                                       const OnnxAotTensor *value,
                                       OnnxAotError *error) {
  return withTrainer(trainer, error, {{name, "name"}, {value, "value"}},
                     [&](Trainer &t) { return t.setParameter(name, *value); });
}

uint64_t onnxAotTrainerParameterBytes(const OnnxAotTrainer *trainer,
                                      int32_t trainable_only) {
  return trainer ? trainer->trainer.parameterBytes(trainable_only) : 0;
}

OnnxAotCode onnxAotTrainerCopyParametersToBuffer(const OnnxAotTrainer *trainer,
                                                 void *buffer, uint64_t bytes,
                                                 int32_t trainable_only,
                                                 OnnxAotError *error) {
  return guarded(error, [&] {
    if (!trainer)
      return nullArgument("trainer");
    return trainer->trainer.copyParametersTo(buffer, bytes, trainable_only);
  });
}

OnnxAotCode onnxAotTrainerCopyBufferToParameters(OnnxAotTrainer *trainer,
                                                 const void *buffer,
                                                 uint64_t bytes,
                                                 int32_t trainable_only,
                                                 OnnxAotError *error) {
  return withTrainer(trainer, error, {}, [&](Trainer &t) {
    return t.copyParametersFrom(buffer, bytes, trainable_only);
  });
}

int64_t onnxAotTrainerUpdates(const OnnxAotTrainer *trainer) {
  return trainer ? trainer->trainer.progress().updates : 0;
}

int64_t onnxAotTrainerSteps(const OnnxAotTrainer *trainer) {
  return trainer ? trainer->trainer.progress().steps : 0;
}

uint64_t onnxAotTrainerStateBytes(const OnnxAotTrainer *trainer) {
  return trainer ? trainer->trainer.stateBytes() : 0;
}

uint64_t onnxAotTrainerArenaBytes(const OnnxAotTrainer *trainer) {
  return trainer ? trainer->trainer.arenaBytes() : 0;
}

double onnxAotTrainerGradientNorm(const OnnxAotTrainer *trainer) {
  return trainer ? trainer->trainer.gradientNorm() : NAN;
}

OnnxAotCode onnxAotTrainerSetIntProperty(OnnxAotTrainer *trainer,
                                         const char *name, int64_t value,
                                         OnnxAotError *error) {
  return withTrainer(trainer, error, {{name, "name"}},
                     [&](Trainer &t) { return setProperty(t, name, value); });
}

OnnxAotCode onnxAotTrainerSetFloatProperty(OnnxAotTrainer *trainer,
                                           const char *name, float value,
                                           OnnxAotError *error) {
  return withTrainer(trainer, error, {{name, "name"}},
                     [&](Trainer &t) { return setProperty(t, name, value); });
}

OnnxAotCode onnxAotTrainerSetStringProperty(OnnxAotTrainer *trainer,
                                            const char *name, const char *value,
                                            OnnxAotError *error) {
  return withTrainer(
      trainer, error, {{name, "name"}, {value, "value"}},
      [&](Trainer &t) { return setProperty(t, name, std::string(value)); });
}

OnnxAotPropertyType onnxAotTrainerPropertyType(OnnxAotTrainer *trainer,
                                               const char *name) {
  OnnxAotPropertyType type = ONNX_AOT_PROPERTY_NONE;
  withTrainer(trainer, nullptr, {{name, "name"}}, [&](Trainer &t) {
    auto found = t.properties().find(name);
    if (found != t.properties().end())
      type = static_cast<OnnxAotPropertyType>(found->second.index());
    return Status();
  });
  return type;
}

OnnxAotCode onnxAotTrainerGetIntProperty(OnnxAotTrainer *trainer,
                                         const char *name, int64_t *value,
                                         OnnxAotError *error) {
  return withTrainer(trainer, error, {{name, "name"}, {value, "value"}},
                     [&](Trainer &t) {
                       const int64_t *found = nullptr;
                       Status status = getProperty(t, name, found);
                       if (status.ok())
                         *value = *found;
                       return status;
                     });
}

OnnxAotCode onnxAotTrainerGetFloatProperty(OnnxAotTrainer *trainer,
                                           const char *name, float *value,
                                           OnnxAotError *error) {
  return withTrainer(trainer, error, {{name, "name"}, {value, "value"}},
                     [&](Trainer &t) {
                       const float *found = nullptr;
                       Status status = getProperty(t, name, found);
                       if (status.ok())
                         *value = *found;
                       return status;
                     });
}

OnnxAotCode onnxAotTrainerGetStringProperty(OnnxAotTrainer *trainer,
                                            const char *name,
                                            const char **value,
                                            OnnxAotError *error) {
  return withTrainer(trainer, error, {{name, "name"}, {value, "value"}},
                     [&](Trainer &t) {
                       const std::string *found = nullptr;
                       Status status = getProperty(t, name, found);
                       if (status.ok())
                         *value = found->c_str();
                       return status;
                     });
}

OnnxAotCode onnxAotTrainerLoadCheckpoint(OnnxAotTrainer *trainer,
                                         const char *path, uint32_t flags,
                                         OnnxAotError *error) {
  return withTrainer(trainer, error, {{path, "path"}}, [&](Trainer &t) {
    Expected<LoadOptions> options = loadOptions(flags);
    return options ? t.load(path, *options) : options.status();
  });
}

OnnxAotCode onnxAotTrainerLoadCheckpointFromBuffer(OnnxAotTrainer *trainer,
                                                   const void *buffer,
                                                   uint64_t bytes,
                                                   uint32_t flags,
                                                   OnnxAotError *error) {
  return withTrainer(trainer, error, {{buffer, "buffer"}}, [&](Trainer &t) {
    Expected<LoadOptions> options = loadOptions(flags);
    if (!options)
      return options.status();
    Expected<Checkpoint> checkpoint = Checkpoint::fromMemory(buffer, bytes);
    return checkpoint ? t.load(*checkpoint, *options) : checkpoint.status();
  });
}

OnnxAotCode onnxAotTrainerSaveCheckpoint(OnnxAotTrainer *trainer,
                                         const char *path,
                                         OnnxAotCheckpointContents contents,
                                         OnnxAotError *error) {
  return withTrainer(trainer, error, {{path, "path"}}, [&](Trainer &t) {
    Expected<Checkpoint::Contents> chosen = contentsOf(contents);
    return chosen ? t.save(path, *chosen) : chosen.status();
  });
}

OnnxAotCode onnxAotTrainerSaveCheckpointToBuffer(
    OnnxAotTrainer *trainer, OnnxAotCheckpointContents contents, void **buffer,
    uint64_t *bytes, OnnxAotError *error) {
  return withTrainer(trainer, error, {{buffer, "buffer"}, {bytes, "bytes"}},
                     [&](Trainer &t) -> Status {
                       Expected<Checkpoint::Contents> chosen =
                           contentsOf(contents);
                       if (!chosen)
                         return chosen.status();
                       Expected<Checkpoint> checkpoint = t.snapshot(*chosen);
                       if (!checkpoint)
                         return checkpoint.status();
                       Expected<std::vector<char>> image =
                           checkpoint->toMemory();
                       if (!image)
                         return image.status();
                       void *memory = std::malloc(image->size());
                       if (!memory)
                         return Status(ONNX_AOT_OUT_OF_MEMORY, "out of memory");
                       std::memcpy(memory, image->data(), image->size());
                       *buffer = memory;
                       *bytes = image->size();
                       return Status();
                     });
}

void onnxAotTrainerFreeBuffer(void *buffer) { std::free(buffer); }

OnnxAotCode onnxAotTrainingModuleInfer(const OnnxAotTrainingModule *module,
                                       const char *checkpoint_path,
                                       OnnxAotLoadedModule **inference,
                                       OnnxAotError *error) {
  return guarded(error, [&] {
    if (!module || !checkpoint_path || !inference)
      return nullArgument(!module            ? "module"
                          : !checkpoint_path ? "checkpoint_path"
                                             : "inference");
    return publish(module->module.inferenceModule(std::string(checkpoint_path)),
                   inference);
  });
}

OnnxAotCode onnxAotTrainerInfer(OnnxAotTrainer *trainer,
                                OnnxAotLoadedModule **inference,
                                OnnxAotError *error) {
  return withTrainer(
      trainer, error, {{inference, "inference"}},
      [&](Trainer &t) { return publish(t.inferenceModule(), inference); });
}

OnnxAotCode onnxAotTrainerExportModelForInferencing(OnnxAotTrainer *trainer,
                                                    const char *path,
                                                    const char *source,
                                                    OnnxAotError *error) {
  return withTrainer(trainer, error, {{path, "path"}}, [&](Trainer &t) {
    return t.exportModel(path, source ? source : "");
  });
}

} // extern "C"

/*===- training_c_api.h - C interface of training -----------------*- C -*-===//
//
// Trains models compiled with --train. Errors, threads and tensors are as in
// c_api.h; this header is the manual of the rest. C99, C++17.
//
//   OnnxAotTrainingModule *module;
//   OnnxAotTrainer *trainer;
//   if (onnxAotTrainingModuleLoad("net.so", NULL, &module, &error) ||
//       onnxAotTrainerCreate(module, NULL, &trainer, &error) ||
//       onnxAotTrainerLoadCheckpoint(trainer, "net.safetensors", 0, &error) ||
//       onnxAotTrainerSetSchedule(trainer, "cosine:T_max=1000", &error))
//     return fprintf(stderr, "%s\n", error.message), 1;
//   for (...) {
//     OnnxAotTensor loss = {0};             // the trainer owns the memory
//     if (onnxAotTrainerTrainStep(trainer, inputs, 2, &loss, 1, &error) ||
//         onnxAotTrainerOptimizerStep(trainer, NULL, &error) ||
//         onnxAotTrainerLazyResetGrad(trainer, &error) ||
//         onnxAotTrainerSchedulerStep(trainer, &error))
//       ...
//   }
//   onnxAotTrainerSaveCheckpoint(trainer, "net.safetensors",
//                                ONNX_AOT_CHECKPOINT_TRAINING, &error);
//
// Whoever comes from OrtTrainingApi: docs/MigrationFromOnnxRuntimeTraining.md.
//
//===----------------------------------------------------------------------===*/
#ifndef ONNX_AOT_RUNTIME_TRAINING_C_API_H
#define ONNX_AOT_RUNTIME_TRAINING_C_API_H

#include "onnx-aot/abi/Training.h"
#include "onnx-aot/runtime/c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

/*===--- Training modules -------------------------------------------------===*/

/** The programs that train a model. Immutable, may be used by any number of
 *  trainers and threads. */
typedef struct OnnxAotTrainingModule OnnxAotTrainingModule;

/** Loads a shared object; arguments as of onnxAotModuleLoad. */
ONNX_AOT_API OnnxAotCode
onnxAotTrainingModuleLoad(const char *path, const char *prefix,
                          OnnxAotTrainingModule **module, OnnxAotError *error);

/** Uses a training module that is linked into the program:
 *  `&<prefix>_training`. */
ONNX_AOT_API OnnxAotCode onnxAotTrainingModuleFromLinked(
    const OnnxAotTraining *descriptor, const char *weights_folder,
    OnnxAotTrainingModule **module, OnnxAotError *error);

/** Frees the handle; null is allowed. A trainer keeps its module loaded. */
ONNX_AOT_API void onnxAotTrainingModuleRelease(OnnxAotTrainingModule *module);

/** Names, types and shapes of parameters, names of inputs, loss, optimizer; see
 *  Training.h. Valid while the module is. */
ONNX_AOT_API const OnnxAotTraining *
onnxAotTrainingModuleDescriptor(const OnnxAotTrainingModule *module);

/** Index of a parameter or input by its name; -1 if there is none. */
ONNX_AOT_API int32_t onnxAotTrainingModuleFindParameter(
    const OnnxAotTrainingModule *module, const char *name);
ONNX_AOT_API int32_t onnxAotTrainingModuleFindInput(
    const OnnxAotTrainingModule *module, const char *name);

/*===--- Trainers ---------------------------------------------------------===*/

/** A training: parameters, gradients, optimizer state. One call at a time. */
typedef struct OnnxAotTrainer OnnxAotTrainer;

typedef struct OnnxAotTrainerOptions {
  uint32_t struct_bytes; /**< set by onnxAotTrainerOptionsInit */
  int32_t threads;       /**< 1 to ONNX_AOT_MAX_THREADS; usable cores */
  int64_t seed;          /**< of random operators; 0 */
  float learning_rate;   /**< 0.001 */
  /** 1: gradients of several steps are averaged; 0: summed. */
  int32_t mean_accumulation;
  /** 1: onnxAotTrainerStep keeps the gradients, and with them their norm, also
   *  where the module can do without. 0: not. */
  int32_t keep_gradients;
  /** For modules with device code: the CUstream, of the device's primary
   *  context, that all work goes to. It must outlive the trainer. Null: one of
   *  the trainer's own. */
  void *stream;
} OnnxAotTrainerOptions;

/** Fills in the defaults: always start from them. */
ONNX_AOT_API void onnxAotTrainerOptionsInit(OnnxAotTrainerOptions *options);

/** Makes a trainer; `options` null means the defaults. Its parameters have no
 *  values yet: load a checkpoint, such as the one beside the module. */
ONNX_AOT_API OnnxAotCode onnxAotTrainerCreate(
    OnnxAotTrainingModule *module, const OnnxAotTrainerOptions *options,
    OnnxAotTrainer **trainer, OnnxAotError *error);

/** Frees a trainer and the outputs it owns; null is allowed. */
ONNX_AOT_API void onnxAotTrainerRelease(OnnxAotTrainer *trainer);

/*===--- Steps ------------------------------------------------------------===*/

/** Loss and gradients of a batch. `inputs` in the order of the descriptor.
 *  `outputs` receives the loss, then the model's outputs, as many as are asked
 *  for (see onnxAotTrainerOutputName); memory as of onnxAotSessionRun, valid
 *  until the trainer's next step of any kind. Gradients are added to those of
 *  the steps before, until they are reset. */
ONNX_AOT_API OnnxAotCode onnxAotTrainerTrainStep(
    OnnxAotTrainer *trainer, const OnnxAotTensor *inputs, int32_t num_inputs,
    OnnxAotTensor *outputs, int32_t num_outputs, OnnxAotError *error);

/** Loss and outputs as in inference. Changes nothing. */
ONNX_AOT_API OnnxAotCode onnxAotTrainerEvalStep(
    OnnxAotTrainer *trainer, const OnnxAotTensor *inputs, int32_t num_inputs,
    OnnxAotTensor *outputs, int32_t num_outputs, OnnxAotError *error);

/** Updates the parameters. `updated` (may be null) is 0 when a gradient was not
 *  finite: then everything is as before. */
ONNX_AOT_API OnnxAotCode onnxAotTrainerOptimizerStep(OnnxAotTrainer *trainer,
                                                     int32_t *updated,
                                                     OnnxAotError *error);

/** The next training step overwrites the gradients. */
ONNX_AOT_API OnnxAotCode onnxAotTrainerLazyResetGrad(OnnxAotTrainer *trainer,
                                                     OnnxAotError *error);

/** The three above in one, by the module's fused program if it has one and
 *  nothing needs the gradients: none is then kept in memory. */
ONNX_AOT_API OnnxAotCode
onnxAotTrainerStep(OnnxAotTrainer *trainer, const OnnxAotTensor *inputs,
                   int32_t num_inputs, OnnxAotTensor *outputs,
                   int32_t num_outputs, int32_t *updated, OnnxAotError *error);

/** Number and names of the outputs; null past the end. `training` 0 asks about
 *  EvalStep. The text is valid until the next call. */
ONNX_AOT_API int32_t onnxAotTrainerNumOutputs(OnnxAotTrainer *trainer,
                                              int32_t training);
ONNX_AOT_API const char *onnxAotTrainerOutputName(OnnxAotTrainer *trainer,
                                                  int32_t training,
                                                  int32_t index);

/*===--- Learning rate, seed, loss scale ----------------------------------===*/

/** The rate of the next update. */
ONNX_AOT_API float onnxAotTrainerGetLearningRate(const OnnxAotTrainer *trainer);
ONNX_AOT_API OnnxAotCode onnxAotTrainerSetLearningRate(OnnxAotTrainer *trainer,
                                                       float learning_rate,
                                                       OnnxAotError *error);

/** Begins a schedule: `name:key=value,...` of constant, linear, cosine, step,
 *  exponential, polynomial, one-cycle (formulas in Schedule.h). The base rate
 * is the current one unless the text says `lr=`. The learning rate is at once
 *  that of step 0. */
ONNX_AOT_API OnnxAotCode onnxAotTrainerSetSchedule(OnnxAotTrainer *trainer,
                                                   const char *schedule,
                                                   OnnxAotError *error);

/** Sets the learning rate to that of the schedule's next step. */
ONNX_AOT_API OnnxAotCode onnxAotTrainerSchedulerStep(OnnxAotTrainer *trainer,
                                                     OnnxAotError *error);

/** Of random operators; their numbers depend on it and on the number of the
 *  training step. */
ONNX_AOT_API OnnxAotCode onnxAotTrainerSetSeed(OnnxAotTrainer *trainer,
                                               int64_t seed,
                                               OnnxAotError *error);

/** Factor of the loss before the backward pass. With `interval` above 0 it is
 *  halved when an update is left out and doubled after so many that are not. */
ONNX_AOT_API OnnxAotCode onnxAotTrainerSetLossScale(OnnxAotTrainer *trainer,
                                                    float scale,
                                                    int64_t interval,
                                                    OnnxAotError *error);

/** Sums or averages `count` numbers of `type` over all processes, in place.
 *  Not 0: the update is refused. */
typedef int32_t (*OnnxAotReduce)(void *user, void *data, uint64_t count,
                                 int32_t type);

/** Called by each update before anything is changed, once for each element type
 *  of the gradients: each is one run of memory (padded with zeros), for
 *  MPI_Allreduce or ncclAllReduce. Null: no longer. */
ONNX_AOT_API OnnxAotCode onnxAotTrainerSetReduce(OnnxAotTrainer *trainer,
                                                 OnnxAotReduce reduce,
                                                 void *user,
                                                 OnnxAotError *error);

/*===--- State ------------------------------------------------------------===*/

/** A parameter, its gradient or its optimizer state in the trainer's own
 *  memory: to be read, and written between steps. Fails where there is none. */
ONNX_AOT_API OnnxAotCode onnxAotTrainerGetParameter(OnnxAotTrainer *trainer,
                                                    int32_t index,
                                                    OnnxAotTensor *tensor,
                                                    OnnxAotError *error);
ONNX_AOT_API OnnxAotCode onnxAotTrainerGetGradient(OnnxAotTrainer *trainer,
                                                   int32_t index,
                                                   OnnxAotTensor *tensor,
                                                   OnnxAotError *error);
ONNX_AOT_API OnnxAotCode onnxAotTrainerGetSlot(OnnxAotTrainer *trainer,
                                               int32_t index, int32_t slot,
                                               OnnxAotTensor *tensor,
                                               OnnxAotError *error);

/** Copies a value of the parameter's type and shape. */
ONNX_AOT_API OnnxAotCode onnxAotTrainerSetParameter(OnnxAotTrainer *trainer,
                                                    const char *name,
                                                    const OnnxAotTensor *value,
                                                    OnnxAotError *error);

/** All parameters, or the trainable ones, one after the other in their order
 *  and without padding: what federated learning exchanges. */
ONNX_AOT_API uint64_t onnxAotTrainerParameterBytes(
    const OnnxAotTrainer *trainer, int32_t trainable_only);
ONNX_AOT_API OnnxAotCode onnxAotTrainerCopyParametersToBuffer(
    const OnnxAotTrainer *trainer, void *buffer, uint64_t bytes,
    int32_t trainable_only, OnnxAotError *error);
ONNX_AOT_API OnnxAotCode onnxAotTrainerCopyBufferToParameters(
    OnnxAotTrainer *trainer, const void *buffer, uint64_t bytes,
    int32_t trainable_only, OnnxAotError *error);

/** Optimizer updates and training steps made so far. */
ONNX_AOT_API int64_t onnxAotTrainerUpdates(const OnnxAotTrainer *trainer);
ONNX_AOT_API int64_t onnxAotTrainerSteps(const OnnxAotTrainer *trainer);

/** Norm of all gradients at the last update, before clipping; NaN if unknown.
 */
ONNX_AOT_API double onnxAotTrainerGradientNorm(const OnnxAotTrainer *trainer);

/*===--- Properties: what the user keeps in checkpoints -------------------===*/

typedef enum OnnxAotPropertyType {
  ONNX_AOT_PROPERTY_NONE = -1,
  ONNX_AOT_PROPERTY_INT = 0,
  ONNX_AOT_PROPERTY_FLOAT = 1,
  ONNX_AOT_PROPERTY_STRING = 2
} OnnxAotPropertyType;

/** Adds a property or changes it, also its type. */
ONNX_AOT_API OnnxAotCode onnxAotTrainerSetIntProperty(OnnxAotTrainer *trainer,
                                                      const char *name,
                                                      int64_t value,
                                                      OnnxAotError *error);
ONNX_AOT_API OnnxAotCode onnxAotTrainerSetFloatProperty(OnnxAotTrainer *trainer,
                                                        const char *name,
                                                        float value,
                                                        OnnxAotError *error);
ONNX_AOT_API OnnxAotCode
onnxAotTrainerSetStringProperty(OnnxAotTrainer *trainer, const char *name,
                                const char *value, OnnxAotError *error);

/** The type of a property; NONE if there is none of this name. */
ONNX_AOT_API OnnxAotPropertyType
onnxAotTrainerPropertyType(OnnxAotTrainer *trainer, const char *name);

/** The value of a property of that type. The string is valid until the property
 *  is changed. */
ONNX_AOT_API OnnxAotCode onnxAotTrainerGetIntProperty(OnnxAotTrainer *trainer,
                                                      const char *name,
                                                      int64_t *value,
                                                      OnnxAotError *error);
ONNX_AOT_API OnnxAotCode onnxAotTrainerGetFloatProperty(OnnxAotTrainer *trainer,
                                                        const char *name,
                                                        float *value,
                                                        OnnxAotError *error);
ONNX_AOT_API OnnxAotCode
onnxAotTrainerGetStringProperty(OnnxAotTrainer *trainer, const char *name,
                                const char **value, OnnxAotError *error);

/*===--- Checkpoints ------------------------------------------------------===*/

/** What a checkpoint contains. */
typedef enum OnnxAotCheckpointContents {
  ONNX_AOT_CHECKPOINT_PARAMETERS = 0,
  /** And all that the training needs to go on bit for bit. */
  ONNX_AOT_CHECKPOINT_TRAINING = 1,
  ONNX_AOT_CHECKPOINT_NOMINAL = 2 /**< names, types and shapes only */
} OnnxAotCheckpointContents;

/** Bits of `flags` of the loading functions. */
typedef enum OnnxAotLoadFlag {
  /** Take only the parameters; the training begins anew with them. */
  ONNX_AOT_LOAD_PARAMETERS_ONLY = 1,
  /** Parameters may be missing or too many, the model may be another. */
  ONNX_AOT_LOAD_PARTIAL = 2
} OnnxAotLoadFlag;

/** Takes over a checkpoint (ours, plain safetensors, ONNX Runtime's), all of it
 *  or nothing. The rules are in docs/CheckpointFormat.md. */
ONNX_AOT_API OnnxAotCode onnxAotTrainerLoadCheckpoint(OnnxAotTrainer *trainer,
                                                      const char *path,
                                                      uint32_t flags,
                                                      OnnxAotError *error);
ONNX_AOT_API OnnxAotCode onnxAotTrainerLoadCheckpointFromBuffer(
    OnnxAotTrainer *trainer, const void *buffer, uint64_t bytes, uint32_t flags,
    OnnxAotError *error);

/** Writes a checkpoint: under this name is the old or the new file, whatever
 *  happens. */
ONNX_AOT_API OnnxAotCode onnxAotTrainerSaveCheckpoint(
    OnnxAotTrainer *trainer, const char *path,
    OnnxAotCheckpointContents contents, OnnxAotError *error);

/** The same bytes in memory that onnxAotTrainerFreeBuffer frees. */
ONNX_AOT_API OnnxAotCode onnxAotTrainerSaveCheckpointToBuffer(
    OnnxAotTrainer *trainer, OnnxAotCheckpointContents contents, void **buffer,
    uint64_t *bytes, OnnxAotError *error);
ONNX_AOT_API void onnxAotTrainerFreeBuffer(void *buffer);

/** The trained model as a module for sessions, without loss and targets; the
 *  parameters are copied. Of a checkpoint, and of a trainer as it is. */
ONNX_AOT_API OnnxAotCode onnxAotTrainingModuleInfer(
    const OnnxAotTrainingModule *module, const char *checkpoint_path,
    OnnxAotLoadedModule **inference, OnnxAotError *error);
ONNX_AOT_API OnnxAotCode onnxAotTrainerInfer(OnnxAotTrainer *trainer,
                                             OnnxAotLoadedModule **inference,
                                             OnnxAotError *error);

/** Writes the trained model as an ONNX file, for inference anywhere. `source`
 *  is the file that was compiled; null if the module keeps it. */
ONNX_AOT_API OnnxAotCode onnxAotTrainerExportModelForInferencing(
    OnnxAotTrainer *trainer, const char *path, const char *source,
    OnnxAotError *error);

#ifdef __cplusplus
}
#endif

#endif /* ONNX_AOT_RUNTIME_TRAINING_C_API_H */

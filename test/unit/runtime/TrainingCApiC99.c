/*===- TrainingCApiC99.c - the C interface of training, used from C99 -----===*/
#include "onnx-aot/runtime/training_c_api.h"

#include <stdio.h>
#include <string.h>

extern const OnnxAotTraining linear_training;

/* Sums over "processes": there is one. Counts its calls. */
static int32_t reduce(void *user, void *data, uint64_t count, int32_t type) {
  (void)data, (void)type;
  *(uint64_t *)user += count;
  return 0;
}

#define TRY(call)                                                              \
  do {                                                                         \
    if (call) {                                                                \
      printf("%s: %s\n", #call, error.message);                                \
      return __LINE__;                                                         \
    }                                                                          \
  } while (0)
#define EXPECT(condition)                                                      \
  do {                                                                         \
    if (!(condition)) {                                                        \
      printf("not true: %s\n", #condition);                                    \
      return __LINE__;                                                         \
    }                                                                          \
  } while (0)

/* A whole training as the header shows it; 0, or the line that went wrong. */
int trainFromC(const char *checkpoint) {
  OnnxAotError error;
  OnnxAotTrainingModule *module = 0;
  OnnxAotTrainer *trainer = 0, *resumed = 0;
  OnnxAotTrainerOptions options;
  OnnxAotLoadedModule *inference = 0;
  OnnxAotSession *session = 0;
  OnnxAotTensor inputs[2], outputs[3], tensor;
  float x[6] = {1, 0, 2, -1, .5f, 0}, target[2] = {1, -1}, first, last;
  float w[3] = {.5f, .25f, -.125f}, scale = 2, value;
  double b = .75;
  int64_t seen = 100, integer = 0;
  uint64_t reduced = 0, bytes = 0;
  int32_t updated = 0, i;
  const char *text = 0;
  void *buffer = 0;
  char packed[32], again[32];

  memset(inputs, 0, sizeof(inputs));
  memset(outputs, 0, sizeof(outputs));
  inputs[0].data = x, inputs[0].bytes = sizeof(x);
  inputs[0].type = ONNX_AOT_FLOAT32, inputs[0].rank = 2;
  inputs[0].dims[0] = 2, inputs[0].dims[1] = 3;
  inputs[1].data = target, inputs[1].bytes = sizeof(target);
  inputs[1].type = ONNX_AOT_FLOAT32, inputs[1].rank = 1;
  inputs[1].dims[0] = 2;

  TRY(onnxAotTrainingModuleFromLinked(&linear_training, 0, &module, &error));
  EXPECT(onnxAotTrainingModuleDescriptor(module) == &linear_training);
  EXPECT(onnxAotTrainingModuleFindParameter(module, "seen") == 3);
  EXPECT(onnxAotTrainingModuleFindInput(module, "none") == -1);
  onnxAotTrainerOptionsInit(&options);
  options.seed = 3;
  TRY(onnxAotTrainerCreate(module, &options, &trainer, &error));
  onnxAotTrainingModuleRelease(module); /* the trainer keeps what it needs */

  /* Values by name, without a checkpoint. */
  EXPECT(onnxAotTrainerTrainStep(trainer, inputs, 2, outputs, 1, &error) ==
         ONNX_AOT_INVALID_ARGUMENT);
  for (i = 0; i < 4; ++i) {
    void *values[4];
    values[0] = w, values[1] = &b, values[2] = &scale, values[3] = &seen;
    TRY(onnxAotTrainerGetParameter(trainer, i, &tensor, &error));
    tensor.data = values[i];
    TRY(onnxAotTrainerSetParameter(trainer, linear_training.parameters[i].name,
                                   &tensor, &error));
  }
  EXPECT(onnxAotTrainerNumOutputs(trainer, 1) == 3);
  EXPECT(!strcmp(onnxAotTrainerOutputName(trainer, 1, 2), "noise"));
  EXPECT(!onnxAotTrainerOutputName(trainer, 0, 2));

  TRY(onnxAotTrainerSetLearningRate(trainer, .01f, &error));
  TRY(onnxAotTrainerSetSchedule(trainer, "exponential:gamma=0.5", &error));
  TRY(onnxAotTrainerSetReduce(trainer, reduce, &reduced, &error));
  TRY(onnxAotTrainerSetLossScale(trainer, 4, 0, &error));
  TRY(onnxAotTrainerEvalStep(trainer, inputs, 2, outputs, 2, &error));
  first = *(const float *)outputs[0].data;
  for (i = 0; i < 3; ++i) {
    TRY(onnxAotTrainerTrainStep(trainer, inputs, 2, outputs, 3, &error));
    EXPECT(((const int64_t *)outputs[2].data)[0] == 3);
    TRY(onnxAotTrainerOptimizerStep(trainer, &updated, &error));
    EXPECT(updated == 1);
    TRY(onnxAotTrainerLazyResetGrad(trainer, &error));
    TRY(onnxAotTrainerSchedulerStep(trainer, &error));
  }
  TRY(onnxAotTrainerStep(trainer, inputs, 2, outputs, 1, &updated, &error));
  last = *(const float *)outputs[0].data;
  EXPECT(last < first);
  EXPECT(reduced == 4 * (16 + 8)); /* two runs, padded */
  EXPECT(onnxAotTrainerUpdates(trainer) == 4);
  EXPECT(onnxAotTrainerSteps(trainer) == 4);
  EXPECT(onnxAotTrainerGetLearningRate(trainer) == .01f / 8);
  EXPECT(onnxAotTrainerGradientNorm(trainer) > 0);
  TRY(onnxAotTrainerGetGradient(trainer, 0, &tensor, &error));
  EXPECT(tensor.dims[0] == 3);
  TRY(onnxAotTrainerGetSlot(trainer, 1, 0, &tensor, &error));
  EXPECT(tensor.type == ONNX_AOT_FLOAT64);
  EXPECT(onnxAotTrainerGetGradient(trainer, 2, &tensor, &error) ==
         ONNX_AOT_INVALID_ARGUMENT);
  EXPECT(onnxAotTrainerGetSlot(trainer, 0, 1, &tensor, &error) ==
         ONNX_AOT_INVALID_ARGUMENT);

  TRY(onnxAotTrainerSetIntProperty(trainer, "epoch", 4, &error));
  TRY(onnxAotTrainerSetFloatProperty(trainer, "best", .5f, &error));
  TRY(onnxAotTrainerSetStringProperty(trainer, "who", "me", &error));
  EXPECT(onnxAotTrainerSetStringProperty(trainer, "who", "\xff", &error) ==
         ONNX_AOT_INVALID_ARGUMENT);
  EXPECT(strstr(error.message, "'who' is not UTF-8"));
  EXPECT(onnxAotTrainerSetIntProperty(trainer, "\xff", 4, &error) ==
         ONNX_AOT_INVALID_ARGUMENT);
  TRY(onnxAotTrainerSaveCheckpoint(trainer, checkpoint,
                                   ONNX_AOT_CHECKPOINT_TRAINING, &error));
  TRY(onnxAotTrainerSaveCheckpointToBuffer(
      trainer, ONNX_AOT_CHECKPOINT_TRAINING, &buffer, &bytes, &error));
  TRY(onnxAotTrainingModuleFromLinked(&linear_training, 0, &module, &error));
  TRY(onnxAotTrainerCreate(module, 0, &resumed, &error));
  onnxAotTrainingModuleRelease(module);
  TRY(onnxAotTrainerLoadCheckpointFromBuffer(resumed, buffer, bytes, 0,
                                             &error));
  TRY(onnxAotTrainerLoadCheckpoint(resumed, checkpoint, 0, &error));
  onnxAotTrainerFreeBuffer(buffer);
  EXPECT(onnxAotTrainerPropertyType(resumed, "who") ==
         ONNX_AOT_PROPERTY_STRING);
  EXPECT(onnxAotTrainerPropertyType(resumed, "?") == ONNX_AOT_PROPERTY_NONE);
  TRY(onnxAotTrainerGetIntProperty(resumed, "epoch", &integer, &error));
  TRY(onnxAotTrainerGetFloatProperty(resumed, "best", &value, &error));
  TRY(onnxAotTrainerGetStringProperty(resumed, "who", &text, &error));
  EXPECT(integer == 4 && value == .5f && !strcmp(text, "me"));
  EXPECT(onnxAotTrainerGetIntProperty(resumed, "best", &integer, &error) ==
         ONNX_AOT_INVALID_ARGUMENT);
  EXPECT(onnxAotTrainerLoadCheckpoint(resumed, checkpoint, 64, &error) ==
         ONNX_AOT_INVALID_ARGUMENT);
  EXPECT(onnxAotTrainerParameterBytes(trainer, 0) == sizeof(packed));
  TRY(onnxAotTrainerStep(trainer, inputs, 2, 0, 0, 0, &error));
  TRY(onnxAotTrainerStep(resumed, inputs, 2, 0, 0, 0, &error));
  TRY(onnxAotTrainerCopyParametersToBuffer(trainer, packed, sizeof(packed), 0,
                                           &error));
  TRY(onnxAotTrainerCopyParametersToBuffer(resumed, again, sizeof(again), 0,
                                           &error));
  EXPECT(!memcmp(packed, again, sizeof(packed)));
  TRY(onnxAotTrainerCopyBufferToParameters(resumed, packed, sizeof(packed), 0,
                                           &error));

  /* What was trained answers in a session as in an evaluation. */
  TRY(onnxAotTrainerEvalStep(resumed, inputs, 2, outputs, 2, &error));
  first = *(const float *)outputs[1].data;
  TRY(onnxAotTrainerInfer(resumed, &inference, &error));
  TRY(onnxAotSessionCreate(inference, 0, &session, &error));
  memset(outputs, 0, sizeof(outputs));
  TRY(onnxAotSessionRun(session, inputs, 1, outputs, 1, &error));
  EXPECT(*(const float *)outputs[0].data == first);
  onnxAotSessionRelease(session);
  onnxAotModuleRelease(inference);
  TRY(onnxAotTrainingModuleFromLinked(&linear_training, 0, &module, &error));
  TRY(onnxAotTrainingModuleInfer(module, checkpoint, &inference, &error));
  EXPECT(onnxAotModuleFindInput(inference, "target") == -1);
  onnxAotModuleRelease(inference);
  EXPECT(onnxAotTrainingModuleInfer(module, "none", &inference, &error) ==
         ONNX_AOT_SYSTEM_ERROR);
  EXPECT(onnxAotTrainingModuleInfer(module, 0, &inference, &error) ==
         ONNX_AOT_INVALID_ARGUMENT);
  onnxAotTrainingModuleRelease(module);

  EXPECT(onnxAotTrainerExportModelForInferencing(
             resumed, checkpoint, 0, &error) == ONNX_AOT_INVALID_ARGUMENT);

  /* Nulls and negative counts are refused, not followed. */
  EXPECT(onnxAotTrainerStep(0, inputs, 2, 0, 0, 0, &error) ==
         ONNX_AOT_INVALID_ARGUMENT);
  EXPECT(onnxAotTrainerStep(trainer, inputs, -1, 0, 0, 0, &error) ==
         ONNX_AOT_INVALID_ARGUMENT);
  EXPECT(onnxAotTrainerSetSchedule(trainer, 0, &error) ==
         ONNX_AOT_INVALID_ARGUMENT);
  EXPECT(onnxAotTrainerSetIntProperty(trainer, 0, 1, &error) ==
         ONNX_AOT_INVALID_ARGUMENT);
  EXPECT(onnxAotTrainerCopyParametersToBuffer(0, packed, 32, 0, 0) ==
         ONNX_AOT_INVALID_ARGUMENT);
  EXPECT(onnxAotTrainingModuleLoad(0, 0, &module, &error) ==
         ONNX_AOT_INVALID_ARGUMENT);
  onnxAotTrainerRelease(trainer);
  onnxAotTrainerRelease(resumed);
  onnxAotTrainerRelease(0);
  return 0;
}

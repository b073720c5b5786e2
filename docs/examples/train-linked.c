/* Trains on the device: the training programs are linked into a C program.
     onnx-aot-compile lenet.onnx --train --loss=cross-entropy
         --optimizer=adamw -o lenet.o
     gcc -std=c99 -I ROOT/runtime/include train-linked.c lenet.o
         ROOT/build/release/lib/libonnx-aot-runtime.a -lstdc++ -lpthread -ldl
         -lm -o train-linked       (ROOT is this repository)
     ./train-linked lenet.safetensors     (the values to begin with)
   It learns to tell lying bars from standing ones, and answers in a session
   with what it has learnt. */
#include "lenet.h"
#include <onnx-aot/runtime/training_c_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 32, SIZE = 28, STEPS = 80 };

static float pictures[BATCH][SIZE][SIZE];
static int64_t labels[BATCH];

static void draw(void) {
  for (int i = 0; i < BATCH; ++i) {
    int row = 6 + rand() % 16, column = 6 + rand() % 16;
    labels[i] = rand() % 2;
    for (int y = 0; y < SIZE; ++y)
      for (int x = 0; x < SIZE; ++x)
        pictures[i][y][x] = (float)rand() / (float)RAND_MAX - 0.5f;
    for (int along = -5; along <= 5; ++along)
      for (int across = 0; across < 2; ++across)
        if (labels[i])
          pictures[i][row + along][column + across] += 2;
        else
          pictures[i][row + across][column + along] += 2;
  }
}

static OnnxAotError error;

static void check(OnnxAotCode code) {
  if (!code)
    return;
  fprintf(stderr, "%s\n", error.message);
  exit(1);
}

int main(int argc, char **argv) {
  if (argc != 2)
    return fprintf(stderr, "usage: train-linked LENET.safetensors\n"), 2;
  OnnxAotTrainingModule *module;
  OnnxAotTrainer *trainer;
  check(
      onnxAotTrainingModuleFromLinked(&lenet_training, NULL, &module, &error));
  check(onnxAotTrainerCreate(module, NULL, &trainer, &error));
  onnxAotTrainingModuleRelease(module);
  check(onnxAotTrainerLoadCheckpoint(trainer, argv[1], 0, &error));
  check(onnxAotTrainerSetSchedule(trainer,
                                  "one-cycle:max_lr=0.003,"
                                  "total_steps=80",
                                  &error));

  OnnxAotTensor inputs[2] = {
      {pictures, sizeof pictures, ONNX_AOT_FLOAT32, 4, {BATCH, 1, SIZE, SIZE}},
      {labels, sizeof labels, ONNX_AOT_INT64, 1, {BATCH}}};
  OnnxAotTensor loss = {0};
  for (int step = 1; step <= STEPS; ++step) {
    draw();
    check(onnxAotTrainerTrainStep(trainer, inputs, 2, &loss, 1, &error));
    check(onnxAotTrainerOptimizerStep(trainer, NULL, &error));
    check(onnxAotTrainerSchedulerStep(trainer, &error));
    check(onnxAotTrainerLazyResetGrad(trainer, &error));
    if (step % 20 == 0)
      printf("step %d: loss %.4f\n", step, *(float *)loss.data);
  }

  OnnxAotLoadedModule *trained;
  OnnxAotSession *session;
  OnnxAotTensor scores = {0};
  check(onnxAotTrainerInfer(trainer, &trained, &error));
  check(onnxAotSessionCreate(trained, NULL, &session, &error));
  draw();
  check(onnxAotSessionRun(session, inputs, 1, &scores, 1, &error));
  int right = 0;
  for (int i = 0; i < BATCH; ++i) {
    const float *own = (const float *)scores.data + i * scores.dims[1];
    right += (own[1] > own[0]) == labels[i];
  }
  printf("%d of %d right\n", right, BATCH);
  onnxAotSessionRelease(session);
  onnxAotModuleRelease(trained);
  onnxAotTrainerRelease(trainer);
  return 0;
}

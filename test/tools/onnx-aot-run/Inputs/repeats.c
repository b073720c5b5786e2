/*===- repeats.c - a hand-written module that lists an output twice -------===//
//
// inputs   "x"  float32 [2]
// outputs  "y"  float32 [2] = x     "y"  float32 [2] = x + DIFFERENCE
//
//===----------------------------------------------------------------------===*/
#include "onnx-aot/abi/Abi.h"

#include <stddef.h>

#ifndef DIFFERENCE
#define DIFFERENCE 0
#endif

static const int64_t two[] = {2};
static const OnnxAotValueInfo inputs[] = {
    {"x", ONNX_AOT_FLOAT32, 1, two, 0, 0}};
static const OnnxAotValueInfo outputs[] = {
    {"y", ONNX_AOT_FLOAT32, 1, two, 0, 0},
    {"y", ONNX_AOT_FLOAT32, 1, two, 0, 0}};

static int32_t run(const OnnxAotRuntime *runtime, const void *weights,
                   const int64_t *symbols, const void *const *in,
                   void *const *out, void *arena) {
  const float *x = in[0];
  float *first = out[0], *second = out[1];
  (void)runtime, (void)weights, (void)symbols, (void)arena;
  for (int i = 0; i < 2; ++i) {
    first[i] = x[i];
    second[i] = x[i] + DIFFERENCE;
  }
  return ONNX_AOT_RUN_OK;
}

extern const OnnxAotModule repeats_module;
const OnnxAotModule repeats_module = {ONNX_AOT_ABI_VERSION,
                                      sizeof(OnnxAotModule),
                                      "repeats",
                                      "by hand",
                                      1,
                                      2,
                                      0,
                                      0,
                                      inputs,
                                      outputs,
                                      NULL,
                                      0,
                                      NULL,
                                      NULL,
                                      0,
                                      128,
                                      NULL,
                                      run};

/*===- scores.c - a hand-written module with awkward names and types ------===//
//
// inputs   "in:0"  float32 [1, 7]     "2 scale=x"  float32, a scalar
//          "b"  bfloat16 [2]
// outputs  "out/scores"  float32 [1, 7] = in * scale
//          "flags"  bool [7] = in > 0     "b.copy"  bfloat16 [2] = b
//
//===----------------------------------------------------------------------===*/
#include "onnx-aot/abi/Abi.h"

#include <stddef.h>

static const int64_t row[] = {1, 7}, seven[] = {7}, two[] = {2};
static const OnnxAotValueInfo inputs[] = {
    {"in:0", ONNX_AOT_FLOAT32, 2, row, 0, 0},
    {"2 scale=x", ONNX_AOT_FLOAT32, 0, NULL, 0, 0},
    {"b", ONNX_AOT_BFLOAT16, 1, two, 0, 0}};
static const OnnxAotValueInfo outputs[] = {
    {"out/scores", ONNX_AOT_FLOAT32, 2, row, 0, 0},
    {"flags", ONNX_AOT_BOOL, 1, seven, 0, 0},
    {"b.copy", ONNX_AOT_BFLOAT16, 1, two, 0, 0}};

static int32_t run(const OnnxAotRuntime *runtime, const void *weights,
                   const int64_t *symbols, const void *const *in,
                   void *const *out, void *arena) {
  const float *x = in[0], *scale = in[1];
  const uint16_t *b = in[2];
  float *scores = out[0];
  unsigned char *flags = out[1];
  uint16_t *copy = out[2];
  (void)runtime, (void)weights, (void)symbols, (void)arena;
  for (int i = 0; i < 7; ++i) {
    scores[i] = x[i] * *scale;
    flags[i] = x[i] > 0;
  }
  copy[0] = b[0];
  copy[1] = b[1];
  return ONNX_AOT_RUN_OK;
}

extern const OnnxAotModule scores_module;
const OnnxAotModule scores_module = {ONNX_AOT_ABI_VERSION,
                                     sizeof(OnnxAotModule),
                                     "scores",
                                     "by hand",
                                     3,
                                     3,
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

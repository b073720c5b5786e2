/*===- fixture.c - a hand-written module for the runtime's tests ----------===//
//
// inputs   x  float32 [N, 4]      scale  float32 [N]
// outputs  y  float32 [N, 4] = x * scale + w      w: 4 weights 1, 2, 3, 4
//          nonzero  int64 [2, ?] = indices of the elements of x that are not 0
//
// It uses everything the interface offers: symbols, plan, the arena, parallel
// loops, allocation, outputs whose shape depends on values, failure (when x
// holds a NaN). Sizes above 1000 are refused. -DFIXTURE_EXTERNAL puts the
// weights into the file fixture.weights; -DFIXTURE_PREFIX=p names it p_module.
//
//===----------------------------------------------------------------------===*/
#include "onnx-aot/abi/Abi.h"

#include <stddef.h>

#ifndef FIXTURE_PREFIX
#define FIXTURE_PREFIX fixture
#endif
#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)

enum { WIDTH = 4, LARGEST = 1000 };

#ifndef FIXTURE_EXTERNAL
static const _Alignas(ONNX_AOT_ALIGNMENT) float embedded[WIDTH] = {1, 2, 3, 4};
#endif

static const int64_t x_dims[] = {-1, WIDTH};
static const int64_t scale_dims[] = {-1};
static const int64_t nonzero_dims[] = {2, -1};
static const OnnxAotValueInfo inputs[] = {
    {"x", ONNX_AOT_FLOAT32, 2, x_dims, 0, 0},
    {"scale", ONNX_AOT_FLOAT32, 1, scale_dims, 0, 0}};
static const OnnxAotValueInfo outputs[] = {
    {"y", ONNX_AOT_FLOAT32, 2, x_dims, 0, 0},
    {"nonzero", ONNX_AOT_INT64, 2, nonzero_dims, 0, 0}};
static const char *const symbols[] = {"N"};

/* One count of non-zeros a row, in the arena. */
static int32_t plan(const int64_t *symbol, int64_t *dims, uint64_t *arena) {
  if (symbol[0] > LARGEST)
    return ONNX_AOT_RUN_BAD_SHAPE;
  if (dims) {
    dims[0] = symbol[0];
    dims[1] = WIDTH;
    dims[2] = 2;
    dims[3] = -1;
  }
  if (arena)
    *arena = (uint64_t)symbol[0] * sizeof(int64_t);
  return ONNX_AOT_RUN_OK;
}

typedef struct Context {
  const float *x, *scale, *w;
  float *y;
  int64_t *counts;
} Context;

static void rows(void *opaque, int64_t begin, int64_t end) {
  Context *c = opaque;
  for (int64_t i = begin; i < end; ++i) {
    c->counts[i] = 0;
    for (int64_t j = 0; j < WIDTH; ++j) {
      float value = c->x[i * WIDTH + j];
      c->counts[i] += value != 0;
      c->y[i * WIDTH + j] = value * c->scale[i] + c->w[j];
    }
  }
}

static int32_t run(const OnnxAotRuntime *runtime, const void *weights,
                   const int64_t *symbol, const void *const *in,
                   void *const *out, void *arena) {
  if (plan(symbol, 0, 0) != ONNX_AOT_RUN_OK) {
    if (runtime->fail)
      runtime->fail(runtime->user, "node 'rows': there are too many");
    return ONNX_AOT_RUN_BAD_SHAPE;
  }
  Context c = {in[0], in[1], weights, out[0], arena};
  int64_t n = symbol[0], total = 0;
  for (int64_t i = 0; i < n * WIDTH; ++i)
    if (c.x[i] != c.x[i]) {
      if (runtime->fail)
        runtime->fail(runtime->user, "node 'nonzero': x holds a NaN");
      return ONNX_AOT_RUN_FAILED;
    }
  if (runtime->parallel_for)
    runtime->parallel_for(runtime->user, rows, &c, n);
  else
    rows(&c, 0, n);
  for (int64_t i = 0; i < n; ++i)
    total += c.counts[i];

  if (!runtime->allocate_output || !runtime->allocate)
    return ONNX_AOT_RUN_NO_ALLOCATOR;
  int64_t dims[] = {2, total};
  int64_t *found =
      runtime->allocate(runtime->user, 2 * (uint64_t)total * sizeof(int64_t));
  int64_t *result = runtime->allocate_output(runtime->user, 1, 2, dims);
  if (!found || !result)
    return ONNX_AOT_RUN_NO_ALLOCATOR; /* leaves `found` to the runtime */
  int64_t k = 0;
  for (int64_t i = 0; i < n * WIDTH; ++i)
    if (c.x[i] != 0) {
      found[k] = i / WIDTH;
      found[total + k++] = i % WIDTH;
    }
  for (int64_t i = 0; i < 2 * total; ++i)
    result[i] = found[i];
  runtime->release(runtime->user, found);
  return ONNX_AOT_RUN_OK;
}

/* XXH3-64 of the weights' 16 bytes. */
#define FIXTURE_HASH 0xa82f522ec4510db4u

extern const OnnxAotModule JOIN(FIXTURE_PREFIX, _module);
const OnnxAotModule JOIN(FIXTURE_PREFIX, _module) = {ONNX_AOT_ABI_VERSION,
                                                     sizeof(OnnxAotModule),
                                                     "fixture",
                                                     "by hand",
                                                     2,
                                                     2,
                                                     1,
                                                     0,
                                                     inputs,
                                                     outputs,
                                                     symbols,
                                                     WIDTH * sizeof(float),
#ifdef FIXTURE_EXTERNAL
                                                     NULL,
                                                     "fixture.weights",
#else
                                                     embedded,
                                                     NULL,
#endif
                                                     FIXTURE_HASH,
                                                     0,
                                                     plan,
                                                     run};

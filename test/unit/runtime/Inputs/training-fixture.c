/*===- training-fixture.c - a hand-written training module ----------------===//
//
// A linear regression with everything the interface offers:
//
//   y = scale * (x . w + b)          loss = mean((y - target)^2)
//   x float32 [N, 3]   target float32 [N]   (below -1000: the run fails)
//   w float32 [3], b float64 []      trainable
//   scale float32 []                 frozen
//   seen int64 [1]                   running statistic: samples seen in
training
//   noise int64 [2]                  output: the seed and the step
//
// The optimizer is SGD with momentum 0.5 (slot `velocity`) after clipping the
// gradients' norm to 100. A gradient that is not finite leaves all as it was.
//
// -DFIXTURE_PREFIX=p names it p_training. -DFIXTURE_FUSED=1 has only the fused
// program and eval, =2 all programs, =3 no optimizer.
//
//===----------------------------------------------------------------------===*/
#include "onnx-aot/abi/Training.h"

#include <math.h>
#include <stddef.h>

#ifndef FIXTURE_PREFIX
#define FIXTURE_PREFIX linear
#endif
#ifndef FIXTURE_FUSED
#define FIXTURE_FUSED 0
#endif
#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)

enum { WIDTH = 3, W = 0, B = 1, SCALE = 2, SEEN = 3 };

static const int64_t width_dims[] = {WIDTH};
static const int64_t one_dims[] = {1};
static const int64_t two_dims[] = {2};
static const int64_t x_dims[] = {-1, WIDTH};
static const int64_t n_dims[] = {-1};
static const char *const symbols[] = {"N"};

#define FLOATS ONNX_AOT_FLOAT32
#define IN_OUT ONNX_AOT_VALUE_IN_OUT
#define X {"x", FLOATS, 2, x_dims, 0, 0}
#define TARGET {"target", FLOATS, 1, n_dims, 0, 0}
#define SCALAR(name, type) {name, type, 0, NULL, 0, 0}
#define VALUE_W(flags) {"w", FLOATS, 1, width_dims, flags, 0}
#define VALUE_B(flags) {"b", ONNX_AOT_FLOAT64, 0, NULL, flags, 0}
#define VALUE_SEEN {"seen", ONNX_AOT_INT64, 1, one_dims, IN_OUT, 0}
#define GRAD_W(flags) {"w_grad", FLOATS, 1, width_dims, flags, 0}
#define GRAD_B(flags) {"b_grad", ONNX_AOT_FLOAT64, 0, NULL, flags, 0}
#define SLOT_W {"w/velocity", FLOATS, 1, width_dims, IN_OUT, 0}
#define SLOT_B {"b/velocity", ONNX_AOT_FLOAT64, 0, NULL, IN_OUT, 0}
#define SEED {"seed", ONNX_AOT_INT64, 1, two_dims, 0, 0}
#define USER(i) {ONNX_AOT_ROLE_USER, i, -1}
#define PARAMETER(i) {ONNX_AOT_ROLE_PARAMETER, i, -1}
#define GRADIENT(i) {ONNX_AOT_ROLE_GRADIENT, i, -1}
#define SLOT(i) {ONNX_AOT_ROLE_SLOT, i, 0}
#define NUMBER(role) {ONNX_AOT_ROLE_##role, -1, -1}

static int32_t plan_outputs(const int64_t *symbol, int64_t *dims,
                            uint64_t *arena) {
  if (symbol[0] > 1000)
    return ONNX_AOT_RUN_BAD_SHAPE;
  if (dims)
    dims[0] = symbol[0]; /* y; all others are fixed or scalars */
  if (arena)
    *arena = (uint64_t)symbol[0] * sizeof(double); /* the errors */
  return ONNX_AOT_RUN_OK;
}

static int32_t plan_train(const int64_t *symbol, int64_t *dims,
                          uint64_t *arena) {
  int32_t answer = plan_outputs(symbol, dims, arena);
  if (!answer && dims)
    dims[1] = 2; /* noise */
  return answer;
}

/* Computes y, the errors in `arena` and the loss; -1 for a wrong target. */
static int forward(const float *x, const float *target, const float *w,
                   double b, float scale, int64_t n, float *y, double *errors,
                   float *loss) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    double value = b;
    for (int j = 0; j < WIDTH; ++j)
      value += (double)x[i * WIDTH + j] * w[j];
    value *= scale;
    if (target[i] < -1000)
      return -1;
    y[i] = (float)value;
    errors[i] = value - target[i];
    sum += errors[i] * errors[i];
  }
  *loss = (float)(n ? sum / (double)n : 0);
  return 0;
}

/* As the interface wants it: what the plan refuses, the run refuses untouched.
 */
static int32_t refused(const OnnxAotRuntime *runtime, const int64_t *symbol) {
  if (symbol[0] <= 1000)
    return 0;
  if (runtime->fail)
    runtime->fail(runtime->user, "node 'loss': the batch is too large");
  return ONNX_AOT_RUN_BAD_SHAPE;
}

static int32_t failed(const OnnxAotRuntime *runtime) {
  if (runtime->fail)
    runtime->fail(runtime->user, "node 'loss': a target is below -1000");
  return ONNX_AOT_RUN_FAILED;
}

static void backward(const float *x, const double *errors, float scale,
                     float loss_scale, int64_t n, float *gw, double *gb) {
  for (int64_t i = 0; i < n; ++i) {
    double g = 2 * errors[i] / (double)n * scale * loss_scale;
    for (int j = 0; j < WIDTH; ++j)
      gw[j] += (float)(g * x[i * WIDTH + j]);
    *gb += g;
  }
}

static void update(float *w, double *b, const float *gw, double gb, float *vw,
                   double *vb, float lr, float scale, float *norm,
                   uint8_t *updated) {
  double sum = gb * gb, clip;
  for (int j = 0; j < WIDTH; ++j)
    sum += (double)gw[j] * gw[j];
  *norm = (float)(sqrt(sum) * scale);
  *updated = isfinite(*norm) != 0;
  if (!*updated)
    return;
  clip = *norm > 100 ? 100 / *norm : 1;
  for (int j = 0; j < WIDTH; ++j) {
    vw[j] = 0.5f * vw[j] + (float)(gw[j] * clip) * scale;
    w[j] -= lr * vw[j];
  }
  *vb = 0.5 * *vb + gb * clip * scale;
  *b -= lr * *vb;
}

/*===--- train ------------------------------------------------------------===*/

static const OnnxAotValueInfo train_inputs[] = {SEED,
                                                VALUE_W(0),
                                                VALUE_B(0),
                                                SCALAR("scale", FLOATS),
                                                VALUE_SEEN,
                                                GRAD_W(IN_OUT),
                                                GRAD_B(IN_OUT),
                                                SCALAR("add", ONNX_AOT_BOOL),
                                                TARGET,
                                                X,
                                                SCALAR("loss_scale", FLOATS)};
static const OnnxAotBinding train_in[] = {
    NUMBER(SEED),    PARAMETER(W), PARAMETER(B),      PARAMETER(SCALE),
    PARAMETER(SEEN), GRADIENT(W),  GRADIENT(B),       NUMBER(ACCUMULATE),
    USER(1),         USER(0),      NUMBER(LOSS_SCALE)};
static const OnnxAotValueInfo train_outputs[] = {
    {"y", FLOATS, 1, n_dims, 0, 0},
    {"noise", ONNX_AOT_INT64, 1, two_dims, 0, 0},
    SCALAR("loss", FLOATS)};
static const OnnxAotBinding train_out[] = {USER(0), USER(1), NUMBER(LOSS)};

static int32_t run_train(const OnnxAotRuntime *runtime, const void *weights,
                         const int64_t *symbol, const void *const *in,
                         void *const *out, void *arena) {
  if (refused(runtime, symbol))
    return ONNX_AOT_RUN_BAD_SHAPE;
  const int64_t *seed = in[0];
  float *gw = (float *)in[5], scale = *(const float *)in[3];
  double *gb = (double *)in[6];
  (void)weights;
  if (!*(const uint8_t *)in[7]) {
    for (int j = 0; j < WIDTH; ++j)
      gw[j] = 0;
    *gb = 0;
  }
  *(int64_t *)in[4] += symbol[0];
  ((int64_t *)out[1])[0] = seed[0];
  ((int64_t *)out[1])[1] = seed[1];
  if (forward(in[9], in[8], in[1], *(const double *)in[2], scale, symbol[0],
              out[0], arena, out[2]))
    return failed(runtime);
  backward(in[9], arena, scale, *(const float *)in[10], symbol[0], gw, gb);
  return ONNX_AOT_RUN_OK;
}

/*===--- eval -------------------------------------------------------------===*/

static const OnnxAotValueInfo eval_inputs[] = {
    X, TARGET, VALUE_W(0), VALUE_B(0), SCALAR("scale", FLOATS)};
static const OnnxAotBinding eval_in[] = {USER(0), USER(1), PARAMETER(W),
                                         PARAMETER(B), PARAMETER(SCALE)};
static const OnnxAotValueInfo eval_outputs[] = {{"y", FLOATS, 1, n_dims, 0, 0},
                                                SCALAR("loss", FLOATS)};
static const OnnxAotBinding eval_out[] = {USER(0), NUMBER(LOSS)};

static int32_t run_eval(const OnnxAotRuntime *runtime, const void *weights,
                        const int64_t *symbol, const void *const *in,
                        void *const *out, void *arena) {
  if (refused(runtime, symbol))
    return ONNX_AOT_RUN_BAD_SHAPE;
  (void)weights;
  if (forward(in[0], in[1], in[2], *(const double *)in[3],
              *(const float *)in[4], symbol[0], out[0], arena, out[1]))
    return failed(runtime);
  return ONNX_AOT_RUN_OK;
}

/*===--- infer ------------------------------------------------------------===*/

static const OnnxAotValueInfo infer_inputs[] = {X, VALUE_W(0), VALUE_B(0),
                                                SCALAR("scale", FLOATS)};
static const OnnxAotBinding infer_in[] = {USER(0), PARAMETER(W), PARAMETER(B),
                                          PARAMETER(SCALE)};
static const OnnxAotValueInfo infer_outputs[] = {
    {"y", FLOATS, 1, n_dims, 0, 0}};
static const OnnxAotBinding infer_out[] = {USER(0)};

static int32_t run_infer(const OnnxAotRuntime *runtime, const void *weights,
                         const int64_t *symbol, const void *const *in,
                         void *const *out, void *arena) {
  const float *x = in[0], *w = in[1];
  if (refused(runtime, symbol))
    return ONNX_AOT_RUN_BAD_SHAPE;
  (void)weights, (void)arena;
  for (int64_t i = 0; i < symbol[0]; ++i) {
    double value = *(const double *)in[2];
    for (int j = 0; j < WIDTH; ++j)
      value += (double)x[i * WIDTH + j] * w[j];
    ((float *)out[0])[i] = (float)(value * *(const float *)in[3]);
  }
  return ONNX_AOT_RUN_OK;
}

/*===--- update -----------------------------------------------------------===*/

static const OnnxAotValueInfo update_inputs[] = {
    VALUE_W(IN_OUT),
    VALUE_B(IN_OUT),
    GRAD_W(0),
    GRAD_B(0),
    SLOT_W,
    SLOT_B,
    SCALAR("lr", FLOATS),
    SCALAR("step", ONNX_AOT_INT64),
    SCALAR("gradient_scale", FLOATS)};
static const OnnxAotBinding update_in[] = {
    PARAMETER(W),          PARAMETER(B), GRADIENT(W),
    GRADIENT(B),           SLOT(W),      SLOT(B),
    NUMBER(LEARNING_RATE), NUMBER(STEP), NUMBER(GRADIENT_SCALE)};
static const OnnxAotValueInfo update_outputs[] = {
    SCALAR("norm", FLOATS), SCALAR("updated", ONNX_AOT_BOOL)};
static const OnnxAotBinding update_out[] = {NUMBER(GRADIENT_NORM),
                                            NUMBER(UPDATED)};

static int32_t run_update(const OnnxAotRuntime *runtime, const void *weights,
                          const int64_t *symbol, const void *const *in,
                          void *const *out, void *arena) {
  (void)runtime, (void)weights, (void)symbol, (void)arena;
  if (*(const int64_t *)in[7] < 1)
    return ONNX_AOT_RUN_FAILED;
  update((float *)in[0], (double *)in[1], in[2], *(const double *)in[3],
         (float *)in[4], (double *)in[5], *(const float *)in[6],
         *(const float *)in[8], out[0], out[1]);
  return ONNX_AOT_RUN_OK;
}

/*===--- fused ------------------------------------------------------------===*/

static const OnnxAotValueInfo fused_inputs[] = {
    X,
    TARGET,
    VALUE_W(IN_OUT),
    VALUE_B(IN_OUT),
    SCALAR("scale", FLOATS),
    VALUE_SEEN,
    SLOT_W,
    SLOT_B,
    SCALAR("lr", FLOATS),
    SEED,
    SCALAR("loss_scale", FLOATS),
    SCALAR("gradient_scale", FLOATS)};
static const OnnxAotBinding fused_in[] = {USER(0),
                                          USER(1),
                                          PARAMETER(W),
                                          PARAMETER(B),
                                          PARAMETER(SCALE),
                                          PARAMETER(SEEN),
                                          SLOT(W),
                                          SLOT(B),
                                          NUMBER(LEARNING_RATE),
                                          NUMBER(SEED),
                                          NUMBER(LOSS_SCALE),
                                          NUMBER(GRADIENT_SCALE)};
static const OnnxAotValueInfo fused_outputs[] = {
    {"y", FLOATS, 1, n_dims, 0, 0},
    {"noise", ONNX_AOT_INT64, 1, two_dims, 0, 0},
    SCALAR("loss", FLOATS),
    SCALAR("norm", FLOATS),
    SCALAR("updated", ONNX_AOT_BOOL)};
static const OnnxAotBinding fused_out[] = {
    USER(0), USER(1), NUMBER(LOSS), NUMBER(GRADIENT_NORM), NUMBER(UPDATED)};

static int32_t run_fused(const OnnxAotRuntime *runtime, const void *weights,
                         const int64_t *symbol, const void *const *in,
                         void *const *out, void *arena) {
  if (refused(runtime, symbol))
    return ONNX_AOT_RUN_BAD_SHAPE;
  const int64_t *seed = in[9];
  float gw[WIDTH] = {0}, scale = *(const float *)in[4];
  double gb = 0;
  (void)weights;
  *(int64_t *)in[5] += symbol[0];
  ((int64_t *)out[1])[0] = seed[0];
  ((int64_t *)out[1])[1] = seed[1];
  if (forward(in[0], in[1], in[2], *(const double *)in[3], scale, symbol[0],
              out[0], arena, out[2]))
    return failed(runtime);
  backward(in[0], arena, scale, *(const float *)in[10], symbol[0], gw, &gb);
  update((float *)in[2], (double *)in[3], gw, gb, (float *)in[6],
         (double *)in[7], *(const float *)in[8], *(const float *)in[11], out[3],
         out[4]);
  return ONNX_AOT_RUN_OK;
}

/*===--- The descriptor ---------------------------------------------------===*/

#define COUNT(array) (int32_t)(sizeof(array) / sizeof((array)[0]))
#define MODULE(which, numSymbols, planner)                                     \
  static const OnnxAotModule module_##which = {ONNX_AOT_ABI_VERSION,           \
                                               sizeof(OnnxAotModule),          \
                                               "linear_" #which,               \
                                               "by hand",                      \
                                               COUNT(which##_inputs),          \
                                               COUNT(which##_outputs),         \
                                               numSymbols,                     \
                                               0,                              \
                                               which##_inputs,                 \
                                               which##_outputs,                \
                                               symbols,                        \
                                               0,                              \
                                               NULL,                           \
                                               NULL,                           \
                                               0,                              \
                                               0,                              \
                                               planner,                        \
                                               run_##which}
MODULE(train, 1, plan_train);
MODULE(eval, 1, plan_outputs);
MODULE(infer, 1, plan_outputs);
MODULE(update, 0, NULL);
MODULE(fused, 1, plan_train);

static const OnnxAotParameterInfo parameters[] = {
    {"w", FLOATS, 1, width_dims, ONNX_AOT_PARAMETER_TRAINABLE, 0},
    {"b", ONNX_AOT_FLOAT64, 0, NULL, ONNX_AOT_PARAMETER_TRAINABLE, 0},
    {"scale", FLOATS, 0, NULL, ONNX_AOT_PARAMETER_FROZEN, -1},
    {"seen", ONNX_AOT_INT64, 1, one_dims, ONNX_AOT_PARAMETER_STATE, -1}};
static const char *const slots[] = {"velocity"};
static const char *const inputs[] = {"x", "target"};

#define PROGRAM(which, in, out) {&module_##which, in, out}
#define NO_PROGRAM {NULL, NULL, NULL}

extern const OnnxAotTraining JOIN(FIXTURE_PREFIX, _training);
const OnnxAotTraining JOIN(FIXTURE_PREFIX, _training) = {
    ONNX_AOT_ABI_VERSION,
    sizeof(OnnxAotTraining),
    "linear",
    "mse",
    "sgd:momentum=0.5",
    {0x0123456789abcdef, 0xfedcba9876543210},
    COUNT(parameters),
    COUNT(slots),
    parameters,
    slots,
    COUNT(inputs),
    1,
    inputs,
#if FIXTURE_FUSED == 1
    NO_PROGRAM,
    PROGRAM(eval, eval_in, eval_out),
    NO_PROGRAM,
#else
    PROGRAM(train, train_in, train_out),
    PROGRAM(eval, eval_in, eval_out),
#if FIXTURE_FUSED == 3
    NO_PROGRAM,
#else
    PROGRAM(update, update_in, update_out),
#endif
#endif
#if FIXTURE_FUSED == 1 || FIXTURE_FUSED == 2
    PROGRAM(fused, fused_in, fused_out),
#else
    NO_PROGRAM,
#endif
    PROGRAM(infer, infer_in, infer_out),
    NULL,
    0,
    NULL,
    0,
    0};
const OnnxAotModule *const JOIN(FIXTURE_PREFIX, _unused)[] = {
    &module_train, &module_update, &module_fused};

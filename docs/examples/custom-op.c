/* Two operators of one's own, for a model that has them (docs/CustomOps.md).
     gcc -std=c99 -shared -fPIC -Iruntime/include custom-op.c -o custom-op.so
     onnx-aot-compile model.onnx -o model.so --library=custom-op.so
       --custom-op=my.ops::Swish=my_swish
       --custom-op=my.ops::KeepPositive=my_keep,my_keep_shape
   The header is installed with the compiler. */
#include "onnx-aot/abi/CustomOp.h"
#include <math.h>
#include <string.h>

static int64_t count(const OnnxAotOpTensor *tensor) {
  int64_t elements = 1;
  for (int32_t i = 0; i < tensor->rank; ++i)
    elements *= tensor->dims[i];
  return elements;
}

/* y = x / (1 + exp(-beta x)). The model declares y of x's shape. */
int32_t my_swish(const OnnxAotOpCall *call) {
  if (call->num_inputs != 1 || call->inputs[0].type != ONNX_AOT_FLOAT32)
    return 1;
  const float *x = call->inputs[0].data;
  float *y = call->outputs[0].data;
  float beta = 1;
  for (int32_t i = 0; i < call->num_attributes; ++i)
    if (!strcmp(call->attributes[i].name, "beta") &&
        call->attributes[i].value.type == ONNX_AOT_FLOAT32)
      beta = *(const float *)call->attributes[i].value.data;
  for (int64_t i = 0, n = count(&call->inputs[0]); i < n; ++i)
    y[i] = x[i] / (1 + expf(-beta * x[i]));
  return 0;
}

/* The positive elements of x, one after the other: how many there are, only
   the values tell. */
int32_t my_keep_shape(const OnnxAotOpCall *call) {
  const float *x = call->inputs[0].data;
  int64_t kept = 0;
  if (call->inputs[0].type != ONNX_AOT_FLOAT32)
    return 1;
  for (int64_t i = 0, n = count(&call->inputs[0]); i < n; ++i)
    kept += x[i] > 0;
  call->outputs[0].dims[0] = kept;
  return 0;
}

int32_t my_keep(const OnnxAotOpCall *call) {
  const float *x = call->inputs[0].data;
  float *y = call->outputs[0].data;
  for (int64_t i = 0, n = count(&call->inputs[0]); i < n; ++i)
    if (x[i] > 0)
      *y++ = x[i];
  return 0;
}

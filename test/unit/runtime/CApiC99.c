/*===- CApiC99.c - the C interface, used from C99 -------------------------===*/
#include "onnx-aot/runtime/c_api.h"

#include <stdio.h>

extern const OnnxAotModule first_module;

/* What the header's example does; returns 0 or prints why not. */
int runFromC(const char *path) {
  OnnxAotError error;
  OnnxAotLoadedModule *module = 0;
  OnnxAotSession *session = 0;
  float x[4] = {1, 2, 3, 4}, scale[1] = {10};
  OnnxAotTensor inputs[2] = {{0, sizeof(x), ONNX_AOT_FLOAT32, 2, {1, 4}},
                             {0, sizeof(scale), ONNX_AOT_FLOAT32, 1, {1}}};
  OnnxAotTensor outputs[2] = {{0, 0, 0, 0, {0}}, {0, 0, 0, 0, {0}}};
  OnnxAotCode failed;
  inputs[0].data = x;
  inputs[1].data = scale;
  failed = path ? onnxAotModuleLoad(path, 0, &module, &error)
                : onnxAotModuleFromLinked(&first_module, 0, &module, &error);
  if (failed || onnxAotSessionCreate(module, 0, &session, &error) ||
      onnxAotSessionRun(session, inputs, 2, outputs, 2, &error)) {
    printf("%s\n", error.message);
    return 1;
  }
  failed = ((const float *)outputs[0].data)[3] != 44 || outputs[0].rank != 2 ||
           outputs[1].dims[1] != 4 || onnxAotSessionArenaBytes(session) < 8;
  onnxAotModuleRelease(module); /* the session keeps what it needs */
  failed = failed || onnxAotSessionRun(session, inputs, 2, outputs, 2, &error);
  onnxAotSessionRelease(session);
  return failed;
}

/* Loads a compiled shared object as the runtime does and runs it. */
#include "onnx-aot/abi/Abi.h"

#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv) {
  static const float x[] = {1, 10, 100, 1000};
  static _Alignas(ONNX_AOT_ALIGNMENT) char arena[128];
  float y[4];
  const void *inputs[] = {x};
  void *outputs[] = {y};
  void *handle = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
  const OnnxAotModule *module =
      handle ? dlsym(handle, "onnx_aot_module") : NULL;
  OnnxAotRuntime runtime = {0};
  if (!module)
    return fprintf(stderr, "%s\n", dlerror()), 1;
  if ((uintptr_t)module->weights % ONNX_AOT_ALIGNMENT != 0 ||
      module->run(&runtime, module->weights, NULL, inputs, outputs, arena))
    return 2;
  printf("%s: %g %g %g %g\n", module->name, y[0], y[1], y[2], y[3]);
  return 0;
}

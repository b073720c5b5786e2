/* Links a compiled object: compiled as C99 and as C++17. */
#include "scale.h"

#include <stdio.h>

int main(void) {
  static const float x[] = {1, 10, 100, 1000};
  float y[SCALE_OUTPUT_0_BYTES / sizeof(float)];
  const void *inputs[SCALE_NUM_INPUTS];
  void *outputs[SCALE_NUM_OUTPUTS];
  char arena[SCALE_ARENA_BYTES + ONNX_AOT_ALIGNMENT];
  char *aligned =
      arena + ONNX_AOT_ALIGNMENT - (uintptr_t)arena % ONNX_AOT_ALIGNMENT;
  const OnnxAotModule *module = &scale_module;
  inputs[SCALE_INPUT_INDEX_x] = x;
  outputs[SCALE_OUTPUT_INDEX_y] = y;
  if (module->abi_version != ONNX_AOT_ABI_VERSION ||
      module->struct_bytes != sizeof(OnnxAotModule) ||
      module->weight_bytes != SCALE_WEIGHT_BYTES ||
      (uintptr_t)module->weights % ONNX_AOT_ALIGNMENT != 0)
    return 2;
  if (module->run(NULL, module->weights, NULL, inputs, outputs, aligned) !=
      ONNX_AOT_RUN_OK)
    return 3;
  printf("%s %s %s: %g %g %g %g\n", module->name, module->inputs[0].name,
         SCALE_OUTPUT_0_NAME, y[0], y[1], y[2], y[3]);
  return 0;
}

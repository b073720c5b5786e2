//===- onnx-aot-run.cpp - runs a compiled module --------------------------===//
#include "Run.h"

#include <iostream>

int main(int argc, char **argv) {
  using namespace onnx_aot::run;
  try {
    int exitCode = 1;
    std::optional<Options> options = parseOptions(argc, argv, exitCode);
    if (!options)
      return exitCode;
    Expected<int> result = execute(*options);
    if (result.ok())
      return *result;
    std::cerr << "onnx-aot-run: " << result.status().message() << "\n";
  } catch (const std::exception &error) { // out of memory
    std::cerr << "onnx-aot-run: " << error.what() << "\n";
  }
  return 1;
}

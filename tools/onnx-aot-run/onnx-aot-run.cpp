//===- onnx-aot-run.cpp - runs a compiled module --------------------------===//
#include "Run.h"

#include <cerrno>
#include <cstring>
#include <iostream>

/// The exit status: what was printed but did not arrive is an error, too.
static int finish(int exitCode) {
  errno = 0;
  if (std::cout.flush())
    return exitCode;
  std::cerr << "onnx-aot-run: cannot write to standard output"
            << (errno ? std::string(": ") + std::strerror(errno) : "") << "\n";
  return 1;
}

int main(int argc, char **argv) {
  using namespace onnx_aot::run;
  try {
    int exitCode = 1;
    std::optional<Options> options = parseOptions(argc, argv, exitCode);
    if (!options)
      return finish(exitCode);
    Expected<int> result = execute(*options);
    if (result.ok())
      return finish(*result);
    std::cerr << "onnx-aot-run: " << result.status().message() << "\n";
  } catch (const std::exception &error) { // out of memory
    std::cerr << "onnx-aot-run: " << error.what() << "\n";
  }
  return 1;
}

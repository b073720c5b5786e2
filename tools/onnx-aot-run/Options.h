//===- Options.h - the command line of onnx-aot-run ------------*- C++ -*-===//
#ifndef ONNX_AOT_TOOLS_RUN_OPTIONS_H
#define ONNX_AOT_TOOLS_RUN_OPTIONS_H

#include "Compare.h"

#include <optional>

namespace onnx_aot::run {

struct Options {
  std::string module;
  std::string prefix;
  std::vector<std::string> inputs; ///< NAME=FILE.npy
  std::string inputsFile;
  std::optional<uint64_t> randomSeed;
  std::vector<std::string> dims; ///< NAME=N
  std::string outputsFile;
  std::string expectFile;
  Tolerance tolerance;
  int threads = 0;
  std::optional<double> benchSeconds;
  bool info = false;
  bool json = false;
};

/// Parses the command line. Without a result the program ends with `exitCode`;
/// help or an error message is then printed.
std::optional<Options> parseOptions(int argc, char **argv, int &exitCode);

} // namespace onnx_aot::run

#endif // ONNX_AOT_TOOLS_RUN_OPTIONS_H

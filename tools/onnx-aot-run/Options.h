//===- Options.h - the command line of onnx-aot-run ------------*- C++ -*-===//
#ifndef ONNX_AOT_TOOLS_RUN_OPTIONS_H
#define ONNX_AOT_TOOLS_RUN_OPTIONS_H

#include "Compare.h"

#include <optional>

namespace onnx_aot::run {

/// What --train and the options that belong to it say.
struct TrainOptions {
  std::string data;  ///< empty: no training
  int64_t batch = 0; ///< 0: what the module takes, or 32
  int64_t epochs = 1;
  float lr = 0.001f;
  std::string schedule;
  int64_t accumulate = 1;
  std::string checkpoint, save;
  int64_t saveEvery = 0;
  bool partial = false, resume = false, shuffle = false;
  bool verifyGradients = false;
  std::string eval, metrics, exported, model, plot;
  int64_t seed = 0;
  float lossScale = 1;
  int64_t lossScaleInterval = 0;
};

struct Options {
  std::string module;
  std::string prefix;
  std::vector<std::string> libraries; ///< loaded before the module
  std::vector<std::string> inputs;    ///< NAME=FILE.npy
  std::string inputsFile;
  std::optional<int64_t> randomSeed;
  std::vector<std::string> dims; ///< NAME=N
  std::string outputsFile;
  std::string expectFile;
  Tolerance tolerance;
  int threads = 0;
  std::optional<double> benchSeconds;
  bool info = false;
  bool json = false;
  TrainOptions train;
};

/// Parses the command line. Without a result the program ends with `exitCode`;
/// help or an error message is then printed.
std::optional<Options> parseOptions(int argc, char **argv, int &exitCode);

} // namespace onnx_aot::run

#endif // ONNX_AOT_TOOLS_RUN_OPTIONS_H

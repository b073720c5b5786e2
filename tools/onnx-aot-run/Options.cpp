//===- Options.cpp - the command line of onnx-aot-run ---------------------===//
#include "Options.h"

#include "onnx-aot/runtime/Session.h"

#include <CLI/CLI.hpp>
#include <cmath>
#include <iostream>

namespace onnx_aot::run {

namespace {

constexpr char notes[] = R"(
Arrays are numpy's: .npy, and .npz whose keys are the model's input and output
names. bfloat16, which numpy lacks, is read from uint16 or raw two-byte (V2)
arrays and written as uint16; floats of 8 and 4 bits and integers of 4 and 2
bits, a byte for each element, are read from uint8 or V1 arrays and written as
V1. --inputs and --expect ignore other keys, so one
file may hold both.

Random inputs are reproducible for a seed: floats uniform in [-1, 1), integers
and bools 0 or 1 (a legal index into any axis of two or more).

Exit status: 0, or 1 after an error or when an output is not as expected.
)";

std::string number(const std::string &text) {
  char *end = nullptr;
  double value = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || *end || !std::isfinite(value) || value < 0)
    return "'" + text + "' is not a number of 0 or more";
  return "";
}

} // namespace

std::optional<Options> parseOptions(int argc, char **argv, int &exitCode) {
  Options options;
  CLI::App app("Runs a module made by onnx-aot-compile.", "onnx-aot-run");
  app.footer(notes);
  app.set_version_flag("--version", std::string(onnxAotVersion()));
  app.get_formatter()->column_width(34);

  app.add_option("MODULE", options.module, "The module, a shared object")
      ->required();
  app.add_option("--prefix", options.prefix,
                 "Which module, if the file holds several")
      ->type_name("NAME");
  app.add_option("--input", options.inputs, "An input from a .npy file")
      ->type_name("NAME=FILE.npy")
      ->allow_extra_args(false);
  app.add_option("--inputs", options.inputsFile, "Inputs from a .npz file")
      ->type_name("FILE.npz");
  app.add_option("--random-inputs", options.randomSeed,
                 "Make the inputs that are not given at random")
      ->type_name("SEED");
  app.add_option("--dim", options.dims,
                 "Size of a symbolic dimension of random inputs")
      ->type_name("NAME=N")
      ->allow_extra_args(false);
  app.add_option("--outputs", options.outputsFile,
                 "Write the outputs to a .npz file")
      ->type_name("FILE.npz");
  app.add_option("--threads", options.threads,
                 "Threads to use (default: every usable core)")
      ->type_name("N");
  app.add_option("--expect", options.expectFile,
                 "Compare the outputs with those of a .npz file")
      ->type_name("FILE.npz");
  app.add_option("--rtol", options.tolerance.rtol,
                 "Relative tolerance of --expect (floats only)")
      ->type_name("R")
      ->check(number)
      ->capture_default_str();
  app.add_option("--atol", options.tolerance.atol,
                 "Absolute tolerance of --expect")
      ->type_name("A")
      ->check(number)
      ->capture_default_str();
  app.add_option("--bench", options.benchSeconds,
                 "Repeat the run for so long and print times")
      ->type_name("SECONDS")
      ->check(number);
  app.add_flag("--info", options.info,
               "Only print inputs, outputs, symbolic dimensions and memory");
  app.add_flag("--json", options.json, "Print one JSON object");

  options.threads = runtime::usableCores();
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success &success) {
    app.exit(success);
    exitCode = 0;
    return std::nullopt;
  } catch (const CLI::ParseError &error) {
    std::cerr << "onnx-aot-run: " << error.what() << "\n";
    exitCode = 1;
    return std::nullopt;
  }
  return options;
}

} // namespace onnx_aot::run

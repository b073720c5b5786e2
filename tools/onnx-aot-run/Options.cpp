//===- Options.cpp - the command line of onnx-aot-run ---------------------===//
#include "Options.h"

#include "onnx-aot/runtime/Session.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <iostream>

namespace onnx_aot::run {

namespace {

constexpr char notes[] = R"(
Arrays are numpy's: .npy, and .npz whose keys are the model's input and output
names. bfloat16, which numpy lacks, is read from uint16 or raw two-byte (V2)
arrays and written as uint16; floats of 8 and 4 bits and integers of 4 and 2
bits, a byte for each element, are read from uint8 or V1 arrays and written as
V1. The entries of a sequence NAME are the arrays NAME[0], NAME[1], ...; an
optional that is absent has none. One file may hold inputs and outputs, for
--inputs and --expect; names that the model does not have are refused.

Random inputs are reproducible for a seed: floats uniform in [-1, 1), integers
and bools 0 or 1 (a legal index into any axis of two or more).

Training takes DATA with an array for each input and target, samples along the
first axis. The order of the samples depends on --seed and the epoch only: a run
that is killed and started again with --resume ends with the same bits.

Exit status: 0, or 1 after an error or when an output is not as expected.
)";

// CLI11's own checks print their bounds, doubles with all 309 digits.

std::string number(const std::string &text) {
  char *end = nullptr;
  double value = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || *end || !std::isfinite(value) || value < 0)
    return "'" + text + "' is not a number of 0 or more";
  return "";
}

std::string positive(const std::string &text) {
  if (!number(text).empty() || std::strtod(text.c_str(), nullptr) == 0)
    return "'" + text + "' is not a number above 0";
  return "";
}

std::string integer(const std::string &text) {
  int64_t value = 0;
  const char *end = text.data() + text.size();
  auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end)
    return "'" + text + "' is not an integer of 64 bits";
  return "";
}

/// Options that only mean something with --train.
void addTrainOptions(CLI::App &app, TrainOptions &train) {
  CLI::Option *data =
      app.add_option("--train", train.data,
                     "Train the module (compiled with --train) on a file")
          ->type_name("DATA.npz|.safetensors")
          ->group("Training");
  auto add = [&](const char *name, auto &value, const char *text,
                 const char *type) {
    return app.add_option(name, value, text)
        ->type_name(type)
        ->needs(data)
        ->group("Training");
  };
  auto addFlag = [&](const char *name, bool &value, const char *text) {
    app.add_flag(name, value, text)->needs(data)->group("Training");
  };
  add("--batch", train.batch,
      "Samples of a step (default: what the module takes, or 32)", "N")
      ->check(positive);
  add("--epochs", train.epochs, "Passes over the data", "N")
      ->check(number)
      ->capture_default_str();
  add("--lr", train.lr, "Learning rate", "X")
      ->check(number)
      ->capture_default_str();
  add("--schedule", train.schedule,
      "Learning rate over the optimizer steps: constant, linear, cosine, step, "
      "exponential, polynomial, one-cycle, each with :key=value,... "
      "(warmup_steps=N, ...); its length is that of the training",
      "SPEC");
  add("--accumulate", train.accumulate,
      "Steps whose gradients are averaged for one update", "K")
      ->check(positive);
  app.add_option(
         "--checkpoint", train.checkpoint,
         "Where the parameters come from (default: MODULE.safetensors); "
         "without --train: run the trained model with --inputs")
      ->type_name("FILE")
      ->group("Training");
  addFlag("--partial", train.partial,
          "Take from --checkpoint the parameters that it has: it may be of "
          "another model; the others come from MODULE.safetensors");
  add("--save", train.save, "Write a checkpoint at the end", "FILE");
  add("--save-every", train.saveEvery,
      "And after every N updates and at the end of each epoch", "N")
      ->check(positive);
  addFlag("--resume", train.resume,
          "Go on from the --save file if it is there");
  add("--eval", train.eval, "Evaluate on a file after each epoch", "DATA");
  add("--metrics", train.metrics,
      "Write step,epoch,loss,lr,grad_norm,ms of each update; the gradients "
      "are then kept for their norm",
      "FILE.csv");
  add("--plot", train.plot, "Draw the loss over the steps", "FILE.svg|.png");
  app.add_option("--export", train.exported,
                 "Write the trained model: as an ONNX file, or compiled by "
                 "onnx-aot-compile to a module for inference; without --train: "
                 "with the parameters of --checkpoint")
      ->type_name("FILE.onnx|.so|.o|.a")
      ->group("Training");
  app.add_option("--model", train.model,
                 "The ONNX file that was compiled, for --export from a module "
                 "without its own copy (compiled with --no-model)")
      ->type_name("FILE.onnx")
      ->group("Training");
  add("--seed", train.seed, "Of the samples' order and random operators", "N")
      ->check(integer);
  addFlag("--shuffle", train.shuffle, "Shuffle the samples in each epoch");
  addFlag("--verify-gradients", train.verifyGradients,
          "Do not train: compare the gradient of each parameter on the first "
          "batch with differences of the loss; for a bound of 1e-6 compile "
          "with --verify-gradients");
  add("--loss-scale", train.lossScale,
      "Factor of the loss before the backward pass (float16)", "X")
      ->check(positive);
  add("--loss-scale-interval", train.lossScaleInterval,
      "Double it after N updates, halve it when a gradient is not finite", "N")
      ->check(positive);
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
  app.add_option(
         "--library", options.libraries,
         "Load a shared library that defines functions the module wants")
      ->type_name("FILE.so")
      ->allow_extra_args(false);
  app.add_option("--input", options.inputs, "An input from a .npy file")
      ->type_name("NAME=FILE.npy")
      ->allow_extra_args(false);
  app.add_option("--inputs", options.inputsFile, "Inputs from a .npz file")
      ->type_name("FILE.npz");
  app.add_option("--random-inputs", options.randomSeed,
                 "Make the inputs that are not given at random")
      ->type_name("SEED")
      ->check(integer);
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

  addTrainOptions(app, options.train);
  // What an option asks for is done or refused.
  for (const char *name : {"--input", "--inputs", "--random-inputs", "--dim",
                           "--outputs", "--expect", "--bench", "--info"})
    app.get_option("--train")->excludes(app.get_option(name));
  for (const char *name : {"--input", "--inputs", "--random-inputs",
                           "--outputs", "--expect", "--bench"})
    app.get_option("--info")->excludes(app.get_option(name));

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

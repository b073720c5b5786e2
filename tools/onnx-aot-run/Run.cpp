//===- Run.cpp - what onnx-aot-run does -----------------------------------===//
#include "Run.h"

#include "CheckFiles.h"
#include "CheckGradient.h"
#include "Export.h"
#include "Inputs.h"
#include "Npz.h"
#include "Report.h"
#include "Sequences.h"
#include "Train.h"
#include "TrainingInfo.h"

#include "onnx-aot/runtime/Session.h"

#include <chrono>
#include <dlfcn.h>
#include <iostream>

namespace onnx_aot::run {

using runtime::Module;
using runtime::Plan;
using runtime::Session;
using runtime::SessionOptions;

namespace {

using Clock = std::chrono::steady_clock;

double msSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start)
      .count();
}

/// Lets modules find the functions of the --library files. These stay loaded.
Status loadLibraries(const Options &options) {
  for (const std::string &path : options.libraries) {
    std::string file = path.find('/') == std::string::npos ? "./" + path : path;
    if (!dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL))
      return userError(std::string("cannot load --library: ") + dlerror());
  }
  return Status();
}

Expected<Module> loadModule(const Options &options) {
  for (const char *suffix : {".o", ".a"})
    if (options.module.size() > 2 &&
        options.module.compare(options.module.size() - 2, 2, suffix) == 0)
      return userError("'" + options.module +
                       "' is made to be linked: compile the model with "
                       "-o NAME.so to run it here");
  if (options.train.checkpoint.empty()) {
    Expected<Module> module = Module::load(options.module, options.prefix);
    if (!module &&
        runtime::TrainingModule::load(options.module, options.prefix))
      return userError(module.status().message() +
                       ": train it with --train, or run what was trained with "
                       "--checkpoint FILE.safetensors");
    return module;
  }
  auto training = runtime::TrainingModule::load(options.module, options.prefix);
  if (!training)
    return training.status();
  return training->inferenceModule(options.train.checkpoint);
}

Expected<int> printInfo(const Module &module, const Options &options) {
  auto symbols = parseDims(module, options.dims);
  if (!symbols)
    return symbols.status();
  bool all = true;
  for (int64_t value : *symbols)
    all &= value >= 0;
  std::optional<Plan> plan;
  if (all) {
    Expected<Plan> planned = module.plan(*symbols);
    if (!planned)
      return planned.status();
    plan = *planned;
  }
  Json info = moduleInfo(module, plan ? &*plan : nullptr);
  std::cout << (options.json ? info.dump(2) + "\n" : moduleInfoText(info));
  return 0;
}

bool isUpdated(const Module &module, int32_t input) {
  return module->inputs[input].flags & ONNX_AOT_VALUE_IN_OUT;
}

/// What a run leaves behind: the outputs, then the inputs it updates.
std::vector<std::string> resultNames(const Module &module) {
  std::vector<std::string> names;
  for (int32_t i = 0; i < module->num_outputs; ++i)
    names.push_back(module->outputs[i].name);
  for (int32_t i = 0; i < module->num_inputs; ++i)
    if (isUpdated(module, i))
      names.push_back(module->inputs[i].name);
  return names;
}

/// The expected outputs, one for each of the model's.
Expected<std::map<std::string, Tensor>>
readExpected(const std::string &path, const std::vector<std::string> &names) {
  auto arrays = readNpz(path, {names.begin(), names.end()});
  if (!arrays)
    return arrays;
  for (const std::string &name : names)
    if (!arrays->count(name))
      return userError("'" + path + "' has no array for output '" + name + "'");
  return arrays;
}

/// One run of a session, again and again.
class Runner {
public:
  Runner(Session &session, const std::vector<Tensor> &tensors)
      : session(session), outputs(session.module()->num_outputs) {
    for (const Tensor &tensor : tensors)
      inputs.push_back(tensor.view());
  }

  Status run() {
    return session.run(inputs.data(), inputs.size(), outputs.data(),
                       outputs.size());
  }

  /// The tensors of `resultNames`.
  std::vector<OnnxAotTensor> results() const {
    std::vector<OnnxAotTensor> tensors = outputs;
    for (size_t i = 0; i < inputs.size(); ++i)
      if (isUpdated(session.module(), i))
        tensors.push_back(inputs[i]);
    return tensors;
  }

  Session &session;
  std::vector<OnnxAotTensor> inputs, outputs;
};

/// Runs once, then for as long as --bench says.
Status measure(Runner &runner, const Options &options, Timing &timing) {
  Clock::time_point start = Clock::now();
  if (Status status = runner.run(); !status.ok())
    return status;
  timing.firstRunMs = msSince(start);
  if (!options.benchSeconds) {
    timing.runsMs.push_back(timing.firstRunMs);
    return Status();
  }
  start = Clock::now();
  do {
    Clock::time_point begin = Clock::now();
    if (Status status = runner.run(); !status.ok())
      return status;
    timing.runsMs.push_back(msSince(begin));
  } while (msSince(start) < *options.benchSeconds * 1000);
  return Status();
}

/// Prints what was asked for; true if all outputs are as expected.
bool report(const Module &module, const Runner &runner, const Options &options,
            const Timing &timing,
            const std::map<std::string, Tensor> &expected) {
  std::vector<std::string> names = resultNames(module);
  Json result =
      timingJson(timing, runner.session.arenaBytes(), module->weight_bytes);
  std::vector<OnnxAotTensor> results = runner.results();
  bool good = true;
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    if (!options.expectFile.empty()) {
      Difference difference =
          compare(results[i], expected.at(names[i]), options.tolerance);
      good &= difference.ok();
      result["outputs"].push_back(differenceJson(names[i], difference));
      text += differenceText(names[i], difference);
    } else if (options.outputsFile.empty() && !options.benchSeconds) {
      text += tensorText(names[i], results[i]);
    }
  }
  if (options.json)
    text = result.dump() + "\n";
  else if (options.benchSeconds)
    text += timingText(result);
  std::cout << text << std::flush;
  return good;
}

} // namespace

Expected<int> execute(const Options &options) {
  if (Status status = checkFiles(options); !status.ok())
    return status;
  if (Status status = loadLibraries(options); !status.ok())
    return status;
  if (!options.train.data.empty())
    return options.train.verifyGradients ? verifyGradients(options)
                                         : train(options);
  if (!options.train.exported.empty())
    return exportCheckpoint(options);
  if (options.info) {
    auto training =
        runtime::TrainingModule::load(options.module, options.prefix);
    if (training) {
      Json info = trainingInfo(*training);
      std::cout << (options.json ? info.dump(2) + "\n"
                                 : trainingInfoText(info));
      return 0;
    }
  }
  Clock::time_point start = Clock::now();
  Expected<Module> module = loadModule(options);
  if (!module)
    return module.status();
  if (options.info)
    return printInfo(*module, options);
  SessionOptions sessionOptions;
  sessionOptions.threads = options.threads;
  Expected<Session> session = Session::create(*module, sessionOptions);
  if (!session)
    return session.status();
  Timing timing;
  timing.loadMs = msSince(start);

  auto inputs = gatherInputs(*module, options);
  if (!inputs)
    return inputs.status();
  std::map<std::string, Tensor> expected;
  if (!options.expectFile.empty()) {
    auto read = readExpected(options.expectFile, resultNames(*module));
    if (!read)
      return read.status();
    expected = std::move(*read);
  }

  Runner runner(*session, *inputs);
  if (Status status = measure(runner, options, timing); !status.ok())
    return status;
  if (!options.outputsFile.empty()) {
    std::vector<std::string> names = resultNames(*module);
    std::vector<OnnxAotTensor> results = runner.results();
    if (Status status = splitOutputs(*module, names, results); !status.ok())
      return status;
    if (Status status = writeNpz(options.outputsFile, names, results);
        !status.ok())
      return status;
  }
  return report(*module, runner, options, timing, expected) ? 0 : 1;
}

} // namespace onnx_aot::run

//===- VerifyGradients.cpp - the gradients of a training module -----------===//
#include "CheckGradient.h"
#include "Compare.h"
#include "Dataset.h"
#include "Options.h"
#include "Report.h"

#include "onnx-aot/runtime/Trainer.h"

#include <cmath>
#include <iostream>

namespace onnx_aot::run {

using runtime::Checkpoint;
using runtime::LoadOptions;
using runtime::Trainer;
using runtime::TrainerOptions;
using runtime::TrainingModule;

namespace {

const char *nameOf(GradientCheck::Verdict verdict) {
  return verdict == GradientCheck::Right   ? "right"
         : verdict == GradientCheck::Wrong ? "WRONG"
                                           : "unsure";
}

class Verification {
public:
  Verification(const Options &options, Trainer trainer)
      : options(options), trainer(std::move(trainer)) {}

  Status prepare();
  Expected<int> run();

private:
  /// The loss of the batch, always with the same random numbers; computes the
  /// gradients.
  Expected<double> loss();
  Status checkParameter(int32_t index);
  void print(const std::string &name, const GradientCheck &check);
  int finish();

  const Options &options;
  Trainer trainer;
  std::optional<Dataset> data;
  const std::vector<OnnxAotTensor> *batch = nullptr;
  int32_t smallest = 0; ///< the parameter of the fewest bytes
  Json rows = Json::array();
  int counts[3] = {};
};

Status Verification::prepare() {
  const TrainOptions &train = options.train;
  LoadOptions only;
  only.parametersOnly = true;
  std::string path =
      train.checkpoint.empty()
          ? options.module.substr(0, options.module.rfind('.')) + ".safetensors"
          : train.checkpoint;
  if (Status status = trainer.load(path, only); !status.ok())
    return status;
  auto loaded = Dataset::load(train.data, trainer.module());
  if (!loaded)
    return loaded.status();
  data = std::move(*loaded);
  Expected<int64_t> fixed = fixedBatch(trainer.module());
  if (!fixed)
    return fixed.status();
  int64_t rows = *fixed        ? *fixed
                 : train.batch ? train.batch
                               : std::min<int64_t>(data->size(), 8);
  if (rows > data->size() || (*fixed && train.batch && train.batch != *fixed))
    return userError(
        "'" + train.data + "' has " + std::to_string(data->size()) +
        " samples, the module takes batches of " + std::to_string(rows));
  batch = &data->batch(nullptr, 0, rows);
  for (int32_t i = 1; i < trainer.module()->num_parameters; ++i)
    if (trainer.parameter(i).bytes < trainer.parameter(smallest).bytes)
      smallest = i;
  return Status();
}

Expected<double> Verification::loss() {
  // Loading any parameter, here the smallest by its own value, begins the
  // counts anew that random operators and the sums of gradients depend on.
  OnnxAotTensor own = trainer.parameter(smallest);
  const char *bytes = static_cast<const char *>(own.data);
  std::vector<char> copy(bytes, bytes + own.bytes);
  Checkpoint checkpoint;
  checkpoint.parameters.push_back({trainer.module()->parameters[smallest].name,
                                   "",
                                   own.type,
                                   {own.dims, own.dims + own.rank},
                                   copy.data(),
                                   own.bytes});
  LoadOptions again;
  again.parametersOnly = again.partial = true;
  if (Status status = trainer.load(checkpoint, again); !status.ok())
    return status;
  OnnxAotTensor loss = {};
  if (Status status = trainer.trainStep(batch->data(), batch->size(), &loss, 1);
      !status.ok())
    return status;
  // The gradient of a loss of several elements is that of their sum.
  int64_t count = 1;
  for (int32_t i = 0; i < loss.rank; ++i)
    count *= loss.dims[i];
  double sum = 0;
  for (int64_t i = 0; i < count; ++i)
    sum += elementAsDouble(loss.type, loss.data, i);
  if (!std::isfinite(sum))
    return userError("the loss is " + std::to_string(sum));
  return sum;
}

void Verification::print(const std::string &name, const GradientCheck &check) {
  ++counts[check.verdict];
  if (options.json) {
    rows.push_back({{"parameter", name},
                    {"verdict", nameOf(check.verdict)},
                    {"norm", check.norm},
                    {"error", check.error},
                    {"bound", check.bound}});
    return;
  }
  char text[96];
  std::snprintf(text, sizeof(text),
                "%-6s  error %-9.3g bound %-9.3g norm %-9.3g  ",
                nameOf(check.verdict), check.error, check.bound, check.norm);
  std::cout << text << name << std::endl;
}

Status Verification::checkParameter(int32_t index) {
  const auto &info = trainer.module()->parameters[index];
  OnnxAotTensor parameter = trainer.parameter(index);
  if (!gradientBound(parameter.type))
    return userError("parameter '" + std::string(info.name) + "' is of type " +
                     onnxAotTypeName(parameter.type) +
                     ": compile the model with --verify-gradients, which "
                     "computes in float64");
  // The gradient at the parameters' own values.
  if (Expected<double> value = loss(); !value)
    return value.status();
  OnnxAotTensor computed = trainer.gradient(index);
  std::vector<double> gradient;
  int64_t count = 1;
  for (int32_t i = 0; i < parameter.rank; ++i)
    count *= parameter.dims[i];
  for (int64_t i = 0; i < count; ++i)
    gradient.push_back(elementAsDouble(computed.type, computed.data, i));
  auto check = checkGradient(parameter, gradient,
                             static_cast<uint64_t>(options.train.seed + index),
                             [&] { return loss(); });
  if (!check)
    return check.status();
  print(info.name, *check);
  return Status();
}

int Verification::finish() {
  int wrong = counts[GradientCheck::Wrong];
  if (options.json) {
    std::cout << Json{{"parameters", rows},
                      {"right", counts[GradientCheck::Right]},
                      {"wrong", wrong},
                      {"unsure", counts[GradientCheck::Unsure]}}
                     .dump()
              << std::endl;
    return wrong ? 1 : 0;
  }
  std::cout << counts[GradientCheck::Right] << " right, " << wrong << " wrong";
  if (int unsure = counts[GradientCheck::Unsure])
    std::cout << ", " << unsure << " change the loss less than it is rounded";
  std::cout << std::endl;
  return wrong ? 1 : 0;
}

Expected<int> Verification::run() {
  for (int32_t i = 0; i < trainer.module()->num_parameters; ++i)
    if (trainer.module()->parameters[i].kind == ONNX_AOT_PARAMETER_TRAINABLE)
      if (Status status = checkParameter(i); !status.ok())
        return status;
  return finish();
}

} // namespace

Expected<int> verifyGradients(const Options &options) {
  Expected<TrainingModule> module =
      TrainingModule::load(options.module, options.prefix);
  if (!module)
    return module.status();
  if (!module->descriptor().train.module)
    return userError("the module keeps no gradients that could be verified");
  TrainerOptions chosen;
  chosen.threads = options.threads;
  chosen.seed = options.train.seed;
  Expected<Trainer> trainer = Trainer::create(*module, chosen);
  if (!trainer)
    return trainer.status();
  Verification verification(options, std::move(*trainer));
  if (Status status = verification.prepare(); !status.ok())
    return status;
  return verification.run();
}

} // namespace onnx_aot::run

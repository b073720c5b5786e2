//===- Train.cpp - trains a module on a file of samples -------------------===//
#include "Train.h"

#include "Accuracy.h"
#include "Dataset.h"
#include "Export.h"
#include "Finite.h"
#include "Metrics.h"
#include "Report.h"

#include "onnx-aot/runtime/Trainer.h"

#include <chrono>
#include <cmath>
#include <csignal>
#include <iostream>
#include <unistd.h>

namespace onnx_aot::run {

using runtime::Property;
using runtime::Schedule;
using runtime::Trainer;
using runtime::TrainerOptions;
using runtime::TrainingModule;

namespace {

using Clock = std::chrono::steady_clock;

double msSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start)
      .count();
}

std::string textOf(double number) {
  char text[32];
  std::snprintf(text, sizeof(text), "%g", number);
  return text;
}

/// Of a loss that is no number.
std::string nameOf(double loss) {
  return std::isnan(loss) ? "not a number" : "infinite";
}

/// What the tool keeps in a checkpoint to go on where it was.
constexpr char epochKey[] = "onnx-aot-run.epoch"; ///< epochs that are complete
constexpr char batchKey[] = "onnx-aot-run.batch"; ///< batches of the next one
constexpr char orderKey[] = "onnx-aot-run.order"; ///< what the order depends on

/// Set by a signal: the training ends after the step that it is in.
volatile std::sig_atomic_t interrupted = 0;

/// Loss and accuracy of an evaluation.
struct Evaluation {
  double loss = NAN;
  std::optional<double> accuracy;
};

class Training {
public:
  Training(const Options &options, Trainer trainer)
      : options(options.train), json(options.json),
        trainer(std::move(trainer)) {}

  Status prepare(const std::string &module);
  Expected<int> run();

private:
  Status chooseBatch();
  Status loadState(const std::string &module);
  Status resume();
  Status beginSchedule(bool resumed);
  Status stop();
  Status located(const Status &status, const std::string &where, int64_t index,
                 const std::vector<OnnxAotTensor> &inputs) const;
  Status lossError(double loss, int64_t index) const;
  Status checkFinite();
  std::string notWritten() const {
    return options.save.empty()
               ? ""
               : "; '" + options.save + "' was not written after it";
  }
  Status runEpoch();
  Status runGroup(const std::vector<int64_t> *order, int64_t batches);
  Status save();
  Expected<Evaluation> evaluate();
  Status endEpoch(Clock::time_point start, int64_t samples);
  Status finish();
  std::string orderText() const;
  int64_t property(const char *key) {
    auto found = trainer.properties().find(key);
    const auto *value = found == trainer.properties().end()
                            ? nullptr
                            : std::get_if<int64_t>(&found->second);
    return value ? *value : 0;
  }
  /// Optimizer steps made, with those that were left out.
  int64_t stepsDone() const {
    return epoch * updatesPerEpoch +
           (nextBatch + options.accumulate - 1) / options.accumulate;
  }
  /// Samples of batch number `index` of an epoch.
  int64_t rowsOf(int64_t index) const {
    return std::min(batch, data->size() - index * batch);
  }
  std::ostream &log() {
    bar.clear();
    return json ? std::cerr : std::cout;
  }

  const TrainOptions &options;
  bool json;
  Trainer trainer;
  std::optional<Dataset> data, evalData;
  std::optional<Metrics> metrics;
  ProgressBar bar;
  int64_t batch = 0, batches = 0, updatesPerEpoch = 0;
  int64_t epoch = 0, nextBatch = 0; ///< where the training is
  bool dynamicBatch = false;
  double lossSum = 0, rate = 0;
  int64_t lossCount = 0;
  Evaluation last;
  /// State that was not finite before, as a mask of -inf may be.
  std::set<std::string> nonFinite;
};

Status Training::chooseBatch() {
  Expected<int64_t> fixed = fixedBatch(trainer.module());
  if (!fixed)
    return fixed.status();
  dynamicBatch = !*fixed;
  batch = options.batch ? options.batch : *fixed ? *fixed : 32;
  if (*fixed && batch != *fixed)
    return userError("--batch is " + std::to_string(batch) +
                     ", the module was compiled for batches of " +
                     std::to_string(*fixed));
  int64_t whole = data->size() / batch, rest = data->size() % batch;
  batches = whole + (dynamicBatch && rest);
  if (!batches)
    return userError(
        "'" + data->path() + "' has " + std::to_string(data->size()) +
        " samples, the module takes batches of " + std::to_string(batch));
  if (rest && !dynamicBatch)
    log() << "the last " << rest << " of " << data->size()
          << " samples of an epoch are left out: the module takes batches of "
          << batch << " only\n";
  updatesPerEpoch = (batches + options.accumulate - 1) / options.accumulate;
  return Status();
}

std::string Training::orderText() const {
  return "samples=" + std::to_string(data->size()) +
         ",batch=" + std::to_string(batch) +
         ",accumulate=" + std::to_string(options.accumulate) +
         ",seed=" + std::to_string(options.seed) +
         ",shuffle=" + std::to_string(options.shuffle);
}

Status Training::resume() {
  if (Status status = trainer.load(options.save); !status.ok())
    return status;
  auto order = trainer.properties().find(orderKey);
  if (order == trainer.properties().end())
    return userError("'" + options.save + "' was not saved by a training here");
  if (order->second != Property(orderText()))
    return userError("'" + options.save + "' was saved with " +
                     std::get<std::string>(order->second) + ", this is " +
                     orderText());
  epoch = property(epochKey);
  nextBatch = property(batchKey);
  if (nextBatch < 0 || nextBatch >= batches || epoch < 0)
    return userError("'" + options.save + "' is no point of this training");
  log() << "resumed after " << trainer.progress().updates << " updates\n";
  return Status();
}

Status Training::loadState(const std::string &module) {
  bool resumed = options.resume && access(options.save.c_str(), F_OK) == 0;
  if (resumed) {
    if (Status status = resume(); !status.ok())
      return status;
  } else {
    std::string own = initialCheckpoint(module);
    runtime::LoadOptions only;
    only.parametersOnly = true;
    if (options.partial || options.checkpoint.empty())
      if (Status status = trainer.load(own, only); !status.ok())
        return status;
    if (!options.checkpoint.empty()) {
      only.partial = options.partial;
      if (Status status = trainer.load(options.checkpoint, only); !status.ok())
        return status;
    }
    trainer.properties().erase(epochKey);
    trainer.properties().erase(batchKey);
    trainer.properties()[orderKey] = orderText();
  }
  return beginSchedule(resumed);
}

Status Training::beginSchedule(bool resumed) {
  if (options.schedule.empty()) {
    if (resumed && !trainer.progress().schedule.empty())
      return userError("'" + options.save + "' was saved with the schedule " +
                       trainer.progress().schedule +
                       ": give --schedule to go on");
    return trainer.setLearningRate(options.lr);
  }
  Expected<Schedule> schedule =
      Schedule::parse(options.schedule, options.lr,
                      std::max<int64_t>(1, updatesPerEpoch * options.epochs));
  if (!schedule)
    return schedule.status();
  if (!resumed)
    return trainer.setSchedule(*schedule);
  if (trainer.progress().schedule != schedule->text())
    return userError("'" + options.save + "' was saved with the schedule " +
                     trainer.progress().schedule + ", this is " +
                     schedule->text());
  return Status();
}

Status Training::prepare(const std::string &module) {
  if (options.resume && options.save.empty())
    return userError("--resume needs --save: the file to go on from");
  if (options.saveEvery && options.save.empty())
    return userError("--save-every needs --save");
  if (options.partial && options.checkpoint.empty())
    return userError("--partial needs --checkpoint");
  if (!options.plot.empty())
    if (Status status = checkPlot(options.plot); !status.ok())
      return status;
  if (!options.exported.empty())
    if (Status status =
            checkExport(trainer.module(), options.exported, options.model);
        !status.ok())
      return status;
  const OnnxAotTraining &training = trainer.module().descriptor();
  if (options.epochs && !training.update.module && !training.fused.module)
    return userError("the module was compiled with --optimizer=none: it gives "
                     "gradients to a program and cannot train by itself");
  if (options.accumulate > 1 && !training.train.module)
    return userError("the module updates the parameters in each step and "
                     "cannot accumulate gradients: compile it for that");
  auto loaded = Dataset::load(options.data, trainer.module());
  if (!loaded)
    return loaded.status();
  data = std::move(*loaded);
  if (Status status = chooseBatch(); !status.ok())
    return status;
  if (!options.eval.empty()) {
    auto eval = Dataset::load(options.eval, trainer.module());
    if (!eval)
      return eval.status();
    evalData = std::move(*eval);
    if (!dynamicBatch && evalData->size() < batch)
      return userError(
          "'" + options.eval + "' has " + std::to_string(evalData->size()) +
          " samples, the module takes batches of " + std::to_string(batch));
    if (!dynamicBatch && evalData->size() % batch)
      log() << "the last " << evalData->size() % batch
            << " samples of the evaluation are left out: the module takes "
               "batches of "
            << batch << " only\n";
  }
  if (Status status = loadState(module); !status.ok())
    return status;
  Expected<runtime::Checkpoint> state =
      trainer.snapshot(runtime::Checkpoint::Training);
  if (!state)
    return state.status();
  nonFinite = findNonFinite(*state);
  if (!options.exported.empty())
    if (Status status = trainer.checkExport(options.model); !status.ok())
      return status;
  if (options.lossScale != 1 || options.lossScaleInterval)
    if (Status status =
            trainer.setLossScale(options.lossScale, options.lossScaleInterval);
        !status.ok())
      return status;
  auto opened = Metrics::open(options.metrics, stepsDone() > 0, stepsDone());
  if (!opened)
    return opened.status();
  metrics = std::move(*opened);
  return Status();
}

/// Fails where the updates made something infinite or not a number. The loss
/// tells one step later, which the last of a training does not have.
Status Training::checkFinite() {
  Expected<runtime::Checkpoint> state =
      trainer.snapshot(runtime::Checkpoint::Training);
  if (!state)
    return state.status();
  for (const std::string &name : findNonFinite(*state))
    if (!nonFinite.count(name))
      return userError(name + " is not finite after " +
                       std::to_string(trainer.progress().updates) +
                       " updates: the learning rate " +
                       textOf(trainer.learningRate()) + " is too high" +
                       notWritten());
  return Status();
}

Status Training::save() {
  if (Status status = checkFinite(); !status.ok())
    return status;
  // The end of an epoch is the begin of the next.
  bool atEnd = nextBatch == batches;
  trainer.properties()[epochKey] = epoch + atEnd;
  trainer.properties()[batchKey] = atEnd ? int64_t(0) : nextBatch;
  if (Status status = metrics->flush(); !status.ok())
    return status;
  return trainer.save(options.save);
}

/// A step's failure with the batch that it is about.
Status Training::located(const Status &status, const std::string &where,
                         int64_t index,
                         const std::vector<OnnxAotTensor> &inputs) const {
  Accuracy accuracy(trainer.module().descriptor());
  return Status(status.code(), status.message() + " (" + where + ", batch " +
                                   std::to_string(index + 1) +
                                   accuracy.labelRange(inputs.back()) + ")");
}

/// Saves what there is, as the user asked it to end.
Status Training::stop() {
  if (options.save.empty())
    return userError("interrupted after " + std::to_string(stepsDone()) +
                     " updates, which are lost: --save keeps them");
  if (Status status = save(); !status.ok())
    return status;
  return userError("interrupted after " + std::to_string(stepsDone()) +
                   " updates, which are saved: --resume goes on");
}

/// What to say of a loss that is not a number; nothing is saved after it.
Status Training::lossError(double loss, int64_t index) const {
  return userError(
      "the loss is " + nameOf(loss) + " in epoch " + std::to_string(epoch + 1) +
      ", batch " + std::to_string(index + 1) + " (samples from " +
      std::to_string(index * batch) +
      (options.shuffle ? " of the shuffled order" : "") +
      "): the data has such values, or the learning rate " +
      textOf(trainer.learningRate()) + " is too high" + notWritten());
}

/// Trains on `count` batches from `nextBatch` and updates once.
Status Training::runGroup(const std::vector<int64_t> *order, int64_t count) {
  Clock::time_point start = Clock::now();
  double sum = 0;
  int64_t samples = 0;
  MetricsRow row;
  row.lr = trainer.learningRate();
  OnnxAotTensor loss = {};
  for (int64_t i = 0; i < count; ++i) {
    int64_t rows = rowsOf(nextBatch + i);
    const auto &inputs = data->batch(order, (nextBatch + i) * batch, rows);
    Status status =
        count == 1 ? trainer.step(inputs.data(), inputs.size(), &loss, 1)
                   : trainer.trainStep(inputs.data(), inputs.size(), &loss, 1);
    if (!status.ok())
      return located(status, "epoch " + std::to_string(epoch + 1),
                     nextBatch + i, inputs);
    double value = meanOf(loss);
    if (!std::isfinite(value))
      return lossError(value, nextBatch + i);
    sum += value;
    samples += rows;
  }
  if (count > 1) {
    if (Status status = trainer.optimizerStep(); !status.ok())
      return status;
    if (Status status = trainer.lazyResetGrad(); !status.ok())
      return status;
  }
  if (!options.schedule.empty())
    if (Status status = trainer.schedulerStep(); !status.ok())
      return status;
  nextBatch += count;
  row.ms = msSince(start);
  row.step = stepsDone();
  row.epoch = epoch + 1;
  row.loss = sum / static_cast<double>(count);
  if (!options.metrics.empty()) // it may cost a pass over the gradients
    row.gradNorm = trainer.gradientNorm();
  lossSum += row.loss;
  ++lossCount;
  double now = static_cast<double>(samples) / row.ms * 1000;
  rate = rate ? 0.95 * rate + 0.05 * now : now;
  bar.show(epoch + 1, options.epochs, row.step,
           updatesPerEpoch * options.epochs, row.loss, rate);
  return metrics->add(row);
}

Status Training::runEpoch() {
  std::vector<int64_t> order;
  if (options.shuffle)
    order = shuffledOrder(data->size(), static_cast<uint64_t>(options.seed),
                          static_cast<uint64_t>(epoch));
  Clock::time_point start = Clock::now();
  int64_t first = nextBatch;
  lossSum = 0;
  lossCount = 0;
  while (nextBatch < batches) {
    int64_t count = std::min(options.accumulate, batches - nextBatch);
    if (Status status = runGroup(options.shuffle ? &order : nullptr, count);
        !status.ok())
      return status;
    if (interrupted)
      return stop();
    // The end of an epoch is saved as the begin of the next.
    if (options.saveEvery && stepsDone() % options.saveEvery == 0 &&
        nextBatch < batches)
      if (Status status = save(); !status.ok())
        return status;
  }
  int64_t samples = std::min(data->size(), batches * batch) - first * batch;
  ++epoch;
  nextBatch = 0;
  if (options.saveEvery)
    if (Status status = save(); !status.ok())
      return status;
  return endEpoch(start, samples);
}

Status Training::endEpoch(Clock::time_point start, int64_t samples) {
  double seconds = msSince(start) / 1000;
  char text[160];
  std::snprintf(
      text, sizeof(text),
      "epoch %lld/%lld: loss %.6g, lr %.4g, %.0f samples/s, %.1f s",
      static_cast<long long>(epoch), static_cast<long long>(options.epochs),
      lossSum / static_cast<double>(lossCount), double(trainer.learningRate()),
      static_cast<double>(samples) / seconds, seconds);
  std::string line = text;
  if (evalData) {
    Expected<Evaluation> evaluation = evaluate();
    if (!evaluation)
      return evaluation.status();
    last = *evaluation;
    std::snprintf(text, sizeof(text), "; eval loss %.6g", last.loss);
    line += text;
    if (last.accuracy) {
      std::snprintf(text, sizeof(text), ", accuracy %.4f", *last.accuracy);
      line += text;
    }
  }
  log() << line << std::endl;
  return Status();
}

Expected<Evaluation> Training::evaluate() {
  const TrainingModule &module = trainer.module();
  Accuracy accuracy(module.descriptor());
  std::vector<OnnxAotTensor> outputs(trainer.outputNames(false).size());
  double sum = 0, weight = 0;
  for (int64_t begin = 0; begin < evalData->size(); begin += batch) {
    int64_t rows = std::min(batch, evalData->size() - begin);
    if (rows < batch && !dynamicBatch)
      break;
    if (interrupted)
      return stop();
    const auto &inputs = evalData->batch(nullptr, begin, rows);
    if (Status status = trainer.evalStep(inputs.data(), inputs.size(),
                                         outputs.data(), outputs.size());
        !status.ok())
      return located(status, "evaluation", begin / batch, inputs);
    // A mean over labels counts as many of them as there were.
    auto part =
        static_cast<double>(accuracy.countLabels(inputs.back()).value_or(rows));
    if (part) // the mean over no labels is no number
      sum += meanOf(outputs[0]) * part;
    weight += part;
    accuracy.add(outputs, inputs.back());
  }
  Evaluation evaluation;
  evaluation.loss = sum / weight;
  if (weight && !std::isfinite(evaluation.loss))
    return userError("the loss of the evaluation is " +
                     nameOf(evaluation.loss) + ": " +
                     (epoch ? "the training diverged, or " : "") + "'" +
                     options.eval + "' has such values" + notWritten());
  evaluation.accuracy = accuracy.value();
  return evaluation;
}

Status Training::finish() {
  if (Status status = options.save.empty() ? checkFinite() : save();
      !status.ok())
    return status;
  if (Status status = metrics->flush(); !status.ok())
    return status;
  if (!options.plot.empty())
    if (Status status = plotLoss(options.plot, metrics->rows(),
                                 std::string(trainer.module()->name) + ": " +
                                     trainer.module()->loss);
        !status.ok())
      return status;
  if (!options.exported.empty())
    if (Status status = exportTrained(trainer, options.exported, options.model);
        !status.ok())
      return status;
  return Status();
}

Expected<int> Training::run() {
  bool evaluated = false;
  while (epoch < options.epochs) {
    if (Status status = runEpoch(); !status.ok()) {
      bar.clear();
      return status;
    }
    evaluated = true;
  }
  if (evalData && !evaluated) {
    Expected<Evaluation> evaluation = evaluate();
    if (!evaluation)
      return evaluation.status();
    last = *evaluation;
    log() << "eval loss " << last.loss;
    if (last.accuracy)
      log() << ", accuracy " << *last.accuracy;
    log() << std::endl;
  }
  if (Status status = finish(); !status.ok())
    return status;
  if (json) {
    auto number = [](double value) {
      return std::isfinite(value) ? Json(value) : Json();
    };
    Json result = {
        {"epochs", epoch},
        {"updates", trainer.progress().updates},
        {"loss",
         number(lossCount ? lossSum / static_cast<double>(lossCount) : NAN)},
        {"samples_per_s", number(rate ? rate : NAN)},
        {"state_bytes", trainer.stateBytes()},
        {"arena_bytes", trainer.arenaBytes()},
        {"eval_loss", number(last.loss)},
        {"accuracy", number(last.accuracy.value_or(NAN))}};
    std::cout << result.dump() << std::endl;
  }
  return 0;
}

} // namespace

Expected<int> train(const Options &options) {
  Expected<TrainingModule> module =
      TrainingModule::load(options.module, options.prefix);
  if (!module)
    return module.status();
  TrainerOptions chosen;
  chosen.threads = options.threads;
  chosen.seed = options.train.seed;
  chosen.learningRate = options.train.lr;
  chosen.meanAccumulation = true;
  chosen.keepGradients = !options.train.metrics.empty();
  Expected<Trainer> trainer = Trainer::create(*module, chosen);
  if (!trainer)
    return trainer.status();
  // A second signal ends the program at once.
  for (int signal : {SIGINT, SIGTERM})
    std::signal(signal, [](int number) {
      interrupted = 1;
      std::signal(number, SIG_DFL);
    });
  Training training(options, std::move(*trainer));
  if (Status status = training.prepare(options.module); !status.ok())
    return status;
  return training.run();
}

} // namespace onnx_aot::run

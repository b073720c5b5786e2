//===- TrainerCheckpoint.cpp - a trainer's state to and from files --------===//
#include "TrainerState.h"

#include "Text.h"
#include "Types.h"

#include <cstring>

namespace onnx_aot::runtime {

namespace {

/// "adamw" of "adamw:lr=1".
std::string specName(const std::string &spec) {
  return spec.substr(0, spec.find(':'));
}

std::string tensorText(const CheckpointTensor &tensor) {
  return concat(
      typeInfo(tensor.type)->name, " ",
      shapeText(tensor.dims.data(), static_cast<int32_t>(tensor.dims.size())));
}

Status checkTensor(const CheckpointTensor &tensor, int32_t type, int32_t rank,
                   const int64_t *dims, const std::string &who) {
  if (tensor.type == type && tensor.dims.size() == static_cast<size_t>(rank) &&
      std::equal(tensor.dims.begin(), tensor.dims.end(), dims))
    return Status();
  return invalidArgument(who, " is ", tensorText(tensor),
                         " in the checkpoint and ", typeInfo(type)->name, " ",
                         shapeText(dims, rank), " in the module");
}

/// Takes a checkpoint over in two passes: one that only checks, one that only
/// copies.
class Loader {
public:
  Loader(TrainerState &state, const Checkpoint &checkpoint,
         const LoadOptions &options)
      : state(state), training(state.training()), checkpoint(checkpoint),
        options(options),
        withProgress(!options.parametersOnly &&
                     checkpoint.contents == Checkpoint::Training) {}

  Status check();
  void copy();

private:
  /// A tensor and where it goes to.
  struct Move {
    const CheckpointTensor *from;
    void *to;
  };
  Status checkParameters();
  Status checkProgress();
  Status addMove(const CheckpointTensor &tensor, const OnnxAotTensor &target,
                 const std::string &who);

  TrainerState &state;
  const OnnxAotTraining &training;
  const Checkpoint &checkpoint;
  const LoadOptions &options;
  bool withProgress;
  std::vector<Move> moves;
  std::vector<int32_t> found; ///< parameters that the checkpoint has
  std::optional<Schedule> schedule;
};

Status Loader::addMove(const CheckpointTensor &tensor,
                       const OnnxAotTensor &target, const std::string &who) {
  if (Status status =
          checkTensor(tensor, target.type, target.rank, target.dims, who);
      !status.ok())
    return status;
  if (tensor.data || checkpoint.contents != Checkpoint::Nominal)
    moves.push_back({&tensor, target.data});
  return Status();
}

Status Loader::checkParameters() {
  auto matched = matchParameters(training, checkpoint, options.partial);
  if (!matched)
    return matched.status();
  for (int32_t i = 0; i < training.num_parameters; ++i)
    if (const CheckpointTensor *tensor = (*matched)[size_t(i)]) {
      if (tensor->data || checkpoint.contents != Checkpoint::Nominal)
        moves.push_back({tensor, state.memory.state.parameter(i)});
      found.push_back(i);
    }
  return Status();
}

/// Everything but the parameters: optimizer state, gradients, numbers.
Status Loader::checkProgress() {
  if (specName(checkpoint.optimizer) != specName(training.optimizer))
    return invalidArgument("the checkpoint has the state of optimizer ",
                           quoted(checkpoint.optimizer), ", the module has ",
                           quoted(training.optimizer),
                           ": load only the parameters");
  std::map<std::pair<std::string, std::string>, const CheckpointTensor *> slots,
      gradients;
  for (const CheckpointTensor &tensor : checkpoint.slots)
    slots[{tensor.name, tensor.slot}] = &tensor;
  for (const CheckpointTensor &tensor : checkpoint.gradients)
    gradients[{tensor.name, ""}] = &tensor;
  bool withGradients = checkpoint.progress.accumulated > 0;
  if (withGradients && !state.train)
    return invalidArgument("the checkpoint has accumulated gradients, which "
                           "the module does not keep");
  for (int32_t i = 0; i < training.num_parameters; ++i) {
    const OnnxAotParameterInfo &info = training.parameters[i];
    auto take = [&](auto &tensors, const std::string &slot,
                    const OnnxAotTensor &target) {
      std::string who = concat(slot.empty() ? "gradient" : quoted(slot),
                               " of parameter ", quoted(info.name));
      auto at = tensors.find({info.name, slot});
      if (at == tensors.end())
        return invalidArgument("the checkpoint has no ", who);
      return addMove(*at->second, target, who);
    };
    for (int32_t s = 0; s < training.num_slots; ++s)
      if (const OnnxAotValueInfo *value =
              state.loaded
                  ->slots[size_t(i) * size_t(training.num_slots) + size_t(s)])
        if (Status status =
                take(slots, training.slots[s],
                     state.view(state.memory.state.slot(i, s), value->type,
                                value->rank, value->dims));
            !status.ok())
          return status;
    if (withGradients && state.isTrainable(i))
      if (Status status = take(gradients, "",
                               state.view(state.memory.state.gradient(i),
                                          info.type, info.rank, info.dims));
          !status.ok())
        return status;
  }
  const Progress &progress = checkpoint.progress;
  if (!std::isfinite(progress.learningRate) || progress.learningRate < 0 ||
      !std::isfinite(progress.lossScale) || progress.lossScale <= 0 ||
      progress.lossScaleInterval < 0)
    return invalidArgument("the checkpoint's learning rate or loss scale is no "
                           "valid number");
  if (progress.schedule.empty())
    return Status();
  Expected<Schedule> parsed =
      Schedule::parse(progress.schedule, progress.learningRate);
  if (!parsed)
    return parsed.status();
  schedule = *parsed;
  return Status();
}

Status Loader::check() {
  if (Status status = checkParameters(); !status.ok())
    return status;
  return withProgress ? checkProgress() : Status();
}

void Loader::copy() {
  if (!options.partial || withProgress)
    state.memory.state.clearSlots();
  for (const Move &move : moves)
    if (move.from->bytes)
      std::memcpy(move.to, move.from->data, move.from->bytes);
  bool nominal = checkpoint.contents == Checkpoint::Nominal;
  for (int32_t index : found)
    state.known[size_t(index)] = !nominal;
  Progress &progress = state.progress;
  if (withProgress) {
    progress = checkpoint.progress;
    state.schedule = schedule;
  } else {
    // The settings are the caller's, the counts begin anew.
    progress.updates = progress.steps = progress.accumulated = 0;
    progress.stepsAtLossScale = progress.schedulePosition = 0;
    if (state.schedule)
      progress.learningRate = static_cast<float>(state.schedule->at(0));
  }
  state.properties = checkpoint.properties;
  state.broken.clear();
  state.gradientsBroken.clear();
  state.norm = NAN;
  state.normKnown = true;
}

} // namespace

std::string fingerprintText(const OnnxAotTraining &training) {
  std::string text;
  for (uint64_t half : training.fingerprint)
    for (int shift = 60; shift >= 0; shift -= 4)
      text += "0123456789abcdef"[half >> shift & 15];
  return text;
}

Expected<std::vector<const CheckpointTensor *>>
matchParameters(const OnnxAotTraining &training, const Checkpoint &checkpoint,
                bool partial) {
  std::string own = fingerprintText(training);
  // Without a fingerprint, names, types and shapes have to do.
  if (!partial && !checkpoint.fingerprint.empty() &&
      checkpoint.fingerprint != own)
    return invalidArgument("the checkpoint belongs to another model: its "
                           "fingerprint is ",
                           quoted(checkpoint.fingerprint), ", the module's ",
                           own);
  std::map<std::string, const CheckpointTensor *> byName;
  for (const CheckpointTensor &tensor : checkpoint.parameters)
    byName[tensor.name] = &tensor;
  std::vector<const CheckpointTensor *> matched;
  size_t found = 0;
  for (int32_t i = 0; i < training.num_parameters; ++i) {
    const OnnxAotParameterInfo &info = training.parameters[i];
    std::string who = concat("parameter ", quoted(info.name));
    auto at = byName.find(info.name);
    matched.push_back(at == byName.end() ? nullptr : at->second);
    if (at == byName.end()) {
      if (partial)
        continue;
      return invalidArgument("the checkpoint has no ", who, " (it has ",
                             checkpoint.parameters.size(),
                             " parameters, the module ",
                             training.num_parameters, ")");
    }
    if (Status status =
            checkTensor(*at->second, info.type, info.rank, info.dims, who);
        !status.ok())
      return status;
    byName.erase(at);
    ++found;
  }
  if (!byName.empty() && !partial)
    return invalidArgument("the checkpoint has a parameter ",
                           quoted(byName.begin()->first),
                           ", which the module has not: load it as partial, "
                           "or check that it is of this model");
  if (partial && !found)
    return invalidArgument(
        "the checkpoint has none of the module's parameters");
  return matched;
}

Status Trainer::load(const Checkpoint &checkpoint, const LoadOptions &options) {
  Loader loader(*state, checkpoint, options);
  if (Status status = loader.check(); !status.ok())
    return status;
  // A part of it may stay.
  if (Status status = state->fetch(); !status.ok())
    return status;
  loader.copy();
  state->noteWritten();
  return Status();
}

Status Trainer::load(const std::string &path, const LoadOptions &options) {
  Expected<Checkpoint> checkpoint = Checkpoint::load(path);
  if (!checkpoint)
    return checkpoint.status();
  Status status = load(*checkpoint, options);
  if (!status.ok())
    return Status(status.code(),
                  concat("cannot load ", quoted(path), ": ", status.message()));
  return status;
}

Expected<Checkpoint> Trainer::snapshot(Checkpoint::Contents contents) {
  bool nominal = contents == Checkpoint::Nominal;
  if (!nominal)
    if (Status status = state->checkReady(); !status.ok())
      return status;
  if (contents == Checkpoint::Training && !state->gradientsBroken.empty())
    return invalidArgument(state->gradientsBroken, ": reset them");
  if (Status status = state->fetch(); !status.ok())
    return status;
  Checkpoint checkpoint;
  checkpoint.contents = contents;
  checkpoint.fingerprint = fingerprintText(theModule.descriptor());
  checkpoint.optimizer = theModule->optimizer;
  checkpoint.progress = state->progress;
  checkpoint.properties = state->properties;
  auto add = [&](std::vector<CheckpointTensor> &list, int32_t index,
                 const char *slot, const OnnxAotTensor &tensor) {
    if (!tensor.type || !tensor.data)
      return;
    list.push_back({theModule->parameters[index].name,
                    slot,
                    tensor.type,
                    {tensor.dims, tensor.dims + tensor.rank},
                    nominal ? nullptr : tensor.data,
                    nominal ? 0 : tensor.bytes});
  };
  for (int32_t i = 0; i < theModule->num_parameters; ++i) {
    add(checkpoint.parameters, i, "", state->parameter(i));
    if (contents != Checkpoint::Training)
      continue;
    for (int32_t s = 0; s < theModule->num_slots; ++s)
      add(checkpoint.slots, i, theModule->slots[s], state->slot(i, s));
    if (state->progress.accumulated)
      add(checkpoint.gradients, i, "", state->gradient(i));
  }
  return checkpoint;
}

Status Trainer::save(const std::string &path, Checkpoint::Contents contents) {
  Expected<Checkpoint> checkpoint = snapshot(contents);
  if (!checkpoint)
    return checkpoint.status();
  return checkpoint->save(path);
}

} // namespace onnx_aot::runtime

//===- Trainer.cpp - trains a model ---------------------------------------===//
#include "TrainerState.h"

#include "Text.h"
#include "Types.h"

#include <cstring>

namespace onnx_aot::runtime {

//===--- TrainerState -----------------------------------------------------===//

uint64_t TrainerState::parameterBytes(int32_t index) const {
  const OnnxAotParameterInfo &info = training().parameters[index];
  return *tensorBytes(typeInfo(info.type)->bytes, info.dims, info.rank);
}

OnnxAotTensor TrainerState::view(void *data, int32_t type, int32_t rank,
                                 const int64_t *dims) const {
  OnnxAotTensor tensor = {};
  tensor.data = data;
  tensor.type = type;
  tensor.rank = rank;
  std::copy(dims, dims + rank, tensor.dims);
  tensor.bytes = data ? *tensorBytes(typeInfo(type)->bytes, dims, rank) : 0;
  return tensor;
}

OnnxAotTensor TrainerState::parameter(int32_t index) const {
  if (index < 0 || index >= training().num_parameters)
    return {};
  const OnnxAotParameterInfo &info = training().parameters[index];
  return view(memory.state.parameter(index), info.type, info.rank, info.dims);
}

OnnxAotTensor TrainerState::gradient(int32_t index) const {
  if (index < 0 || index >= training().num_parameters)
    return {};
  const OnnxAotParameterInfo &info = training().parameters[index];
  return view(memory.state.gradient(index), info.type, info.rank, info.dims);
}

OnnxAotTensor TrainerState::slot(int32_t index, int32_t slot) const {
  int32_t numSlots = training().num_slots;
  if (index < 0 || index >= training().num_parameters || slot < 0 ||
      slot >= numSlots)
    return {};
  const OnnxAotValueInfo *info =
      loaded->slots[size_t(index) * size_t(numSlots) + size_t(slot)];
  if (!info)
    return {};
  return view(memory.state.slot(index, slot), info->type, info->rank,
              info->dims);
}

Status TrainerState::fetch() const {
  const TrainerMemory &state = memory.state;
  if (!memory.device)
    return Status();
  return memory.device->fetch(state.at(0), state.end() - state.begin());
}

void TrainerState::noteWritten() const {
  const TrainerMemory &state = memory.state;
  if (memory.device)
    memory.device->noteWritten(state.at(0), state.end() - state.begin());
}

OnnxAotTensor TrainerState::lend(OnnxAotTensor tensor) {
  if (!fetch().ok())
    return {};
  if (tensor.data && loaded->hasDeviceCode())
    memory.lent.insert(tensor.data);
  return tensor;
}

Status TrainerState::checkReady() const {
  if (!broken.empty())
    return invalidArgument(broken, ": load a checkpoint");
  for (size_t i = 0; i < known.size(); ++i)
    if (!known[i])
      return invalidArgument("parameter ",
                             quoted(training().parameters[i].name),
                             " has no value yet: load a checkpoint");
  return Status();
}

void TrainerState::setNumbers(int64_t accumulated) {
  StepNumbers &numbers = memory.numbers;
  numbers.seed[0] = progress.seed;
  numbers.seed[1] = progress.steps;
  numbers.step = progress.updates + 1;
  numbers.learningRate = progress.learningRate;
  numbers.lossScale = progress.lossScale;
  double scale = 1.0 / progress.lossScale;
  if (meanAccumulation && accumulated > 1)
    scale /= static_cast<double>(accumulated);
  numbers.gradientScale = static_cast<float>(scale);
  numbers.accumulate = progress.accumulated > 0;
  numbers.updated = 1;
}

namespace {

/// Sum of squares in a fixed order, which lets the compiler use vectors.
template <typename T>
double sumOfSquares(const T *data, uint64_t count) {
  constexpr uint64_t lanes = 8;
  double sums[lanes] = {};
  uint64_t i = 0;
  for (; i + lanes <= count; i += lanes)
    for (uint64_t j = 0; j < lanes; ++j)
      sums[j] += double(data[i + j]) * double(data[i + j]);
  double total = 0;
  for (; i < count; ++i)
    total += double(data[i]) * double(data[i]);
  for (double sum : sums)
    total += sum;
  return total;
}

} // namespace

/// The norm of the gradients as the optimizer saw them.
double TrainerState::computeNorm() const {
  if (!fetch().ok())
    return NAN;
  double sum = 0;
  for (const TrainerMemory::Run &run : memory.state.gradientRuns()) {
    const char *data = memory.state.at(run.place);
    if (run.type == ONNX_AOT_FLOAT32)
      sum += sumOfSquares(reinterpret_cast<const float *>(data), run.count);
    else if (run.type == ONNX_AOT_FLOAT64)
      sum += sumOfSquares(reinterpret_cast<const double *>(data), run.count);
    else
      return NAN; // half precision: only the module can give the norm
  }
  return std::sqrt(sum) * normScale;
}

Status TrainerState::runTraining(Program &program, const OnnxAotTensor *inputs,
                                 size_t numInputs, OnnxAotTensor *outputs,
                                 size_t numOutputs, bool accumulates) {
  if (Status status = checkReady(); !status.ok())
    return status;
  setNumbers(1);
  bool started = false;
  Status status = program.run(inputs, numInputs, outputs, numOutputs, started);
  if (status.ok()) {
    ++progress.steps;
    progress.accumulated += accumulates;
  } else if (started && accumulates) {
    gradientsBroken = "a training step stopped and left wrong gradients";
  } else if (started) {
    broken = "a training step stopped in the middle of an update";
  }
  return status;
}

Status TrainerState::noOptimizer() {
  return invalidArgument("the module was compiled without an optimizer: it "
                         "computes gradients and updates nothing");
}

bool TrainerState::usesFused() const {
  if (!train || !updater)
    return fused != nullptr;
  bool scales = progress.lossScale != 1 || progress.lossScaleInterval > 0;
  return fused && !keepGradients && !reduce && (!scales || fused->scales());
}

void TrainerState::finishUpdate(bool *updated) {
  bool done = memory.numbers.updated;
  progress.updates += done;
  if (progress.lossScaleInterval > 0) {
    // Powers of two: scaling stays exact.
    if (!done) {
      progress.lossScale = std::max(progress.lossScale / 2, 1.0f / 65536);
      progress.stepsAtLossScale = 0;
    } else if (++progress.stepsAtLossScale >= progress.lossScaleInterval) {
      progress.lossScale = std::min(progress.lossScale * 2, 16777216.0f);
      progress.stepsAtLossScale = 0;
    }
  }
  if (updated)
    *updated = done;
}

Status TrainerState::update(bool *updated) {
  if (Status status = checkReady(); !status.ok())
    return status;
  if (!updater && fused)
    return invalidArgument("the module updates the parameters only together "
                           "with the training step: use step");
  if (!updater)
    return noOptimizer();
  if (!gradientsBroken.empty())
    return invalidArgument(gradientsBroken, ": reset them");
  if (!progress.accumulated)
    return invalidArgument("there are no gradients: no training step was made "
                           "since they were reset");
  if (reduce) {
    if (Status status = fetch(); !status.ok())
      return status;
    for (const TrainerMemory::Run &run : memory.state.gradientRuns()) {
      std::string message =
          reduce(memory.state.at(run.place), run.count, run.type);
      if (message.empty())
        continue;
      gradientsBroken = "the gradients could not be reduced";
      return Status(ONNX_AOT_EXECUTION_FAILED,
                    concat(gradientsBroken, ": ", message));
    }
    noteWritten();
  }
  setNumbers(progress.accumulated);
  bool started = false;
  Status status = updater->run(nullptr, 0, nullptr, 0, started);
  if (!status.ok()) {
    if (started)
      broken = "an update stopped in the middle";
    return status;
  }
  // A module that does not give the norm does not clip by it either: until the
  // next training step it can be computed from the gradients.
  normKnown = updater->gives(ONNX_AOT_ROLE_GRADIENT_NORM);
  norm = memory.numbers.gradientNorm;
  normScale = memory.numbers.gradientScale;
  finishUpdate(updated);
  return Status();
}

//===--- Trainer ----------------------------------------------------------===//

namespace {

/// One call at a time: two would share memory.
class Running {
public:
  explicit Running(std::atomic<int> &flag)
      : flag(flag), alone(!flag.exchange(1)) {}
  ~Running() {
    if (alone)
      flag = 0;
  }
  Status status() const {
    if (alone)
      return Status();
    return invalidArgument("the trainer is at work in another thread");
  }

private:
  std::atomic<int> &flag;
  bool alone;
};

} // namespace

Trainer::Trainer(TrainingModule module, std::unique_ptr<TrainerState> state)
    : theModule(std::move(module)), state(std::move(state)) {}
Trainer::Trainer(Trainer &&) = default;
Trainer &Trainer::operator=(Trainer &&) = default;
Trainer::~Trainer() = default;

Expected<Trainer> Trainer::create(const TrainingModule &module,
                                  const TrainerOptions &options) {
  if (options.threads < 1 || options.threads > ONNX_AOT_MAX_THREADS)
    return invalidArgument("the number of threads is ", options.threads,
                           ", supported are 1 to ", ONNX_AOT_MAX_THREADS);
  auto state = std::make_unique<TrainerState>(module.loaded);
  ProgramMemory &memory = state->memory;
  const LoadedTraining &loaded = *module.loaded;
  if (options.stream && !loaded.hasDeviceCode())
    return invalidArgument("a stream is given, and the module was compiled for "
                           "no device");
  memory.stream = options.stream;
  if (!memory.state.allocate(loaded))
    return Status(ONNX_AOT_OUT_OF_MEMORY, "no memory for the training's state");
  memory.threads = options.threads;
  if (options.threads > 1) {
    memory.pool = ThreadPool::shared();
    if (Status status = memory.pool->reserve(options.threads - 1); !status.ok())
      return status;
  }
  auto make = [&](const std::shared_ptr<const LoadedModule> &program,
                  const OnnxAotProgram &bindings) {
    return program ? std::make_unique<Program>(program, bindings,
                                               loaded.descriptor, memory)
                   : nullptr;
  };
  state->train = make(loaded.train, loaded.descriptor.train);
  state->eval = make(loaded.eval, loaded.descriptor.eval);
  state->updater = make(loaded.update, loaded.descriptor.update);
  state->fused = make(loaded.fused, loaded.descriptor.fused);
  state->known.assign(size_t(loaded.descriptor.num_parameters), false);
  state->meanAccumulation = options.meanAccumulation;
  state->keepGradients = options.keepGradients;
  state->progress.seed = options.seed;
  Trainer trainer(module, std::move(state));
  if (Status status = trainer.setLearningRate(options.learningRate);
      !status.ok())
    return status;
  return trainer;
}

Status Trainer::trainStep(const OnnxAotTensor *inputs, size_t numInputs,
                          OnnxAotTensor *outputs, size_t numOutputs) {
  Running running(state->running);
  if (!running.status().ok())
    return running.status();
  if (!state->train)
    return invalidArgument("the module computes gradients only together with "
                           "the update: use step");
  if (!state->gradientsBroken.empty())
    return invalidArgument(state->gradientsBroken, ": reset them");
  return state->runTraining(*state->train, inputs, numInputs, outputs,
                            numOutputs, true);
}

Status Trainer::evalStep(const OnnxAotTensor *inputs, size_t numInputs,
                         OnnxAotTensor *outputs, size_t numOutputs) {
  Running running(state->running);
  if (!running.status().ok())
    return running.status();
  if (!state->eval)
    return invalidArgument("the module has no program that evaluates");
  if (Status status = state->checkReady(); !status.ok())
    return status;
  state->setNumbers(1);
  bool started;
  return state->eval->run(inputs, numInputs, outputs, numOutputs, started);
}

Status Trainer::optimizerStep(bool *updated) {
  Running running(state->running);
  if (!running.status().ok())
    return running.status();
  return state->update(updated);
}

Status Trainer::lazyResetGrad() {
  Running running(state->running);
  if (!running.status().ok())
    return running.status();
  state->progress.accumulated = 0;
  state->gradientsBroken.clear();
  return Status();
}

Status Trainer::step(const OnnxAotTensor *inputs, size_t numInputs,
                     OnnxAotTensor *outputs, size_t numOutputs, bool *updated) {
  Running running(state->running);
  if (!running.status().ok())
    return running.status();
  if (state->progress.accumulated || !state->gradientsBroken.empty())
    return invalidArgument("there are gradients that no update has used: make "
                           "one, or reset them");
  TrainerState &s = *state;
  if (s.usesFused()) {
    if (Status status = s.runTraining(*s.fused, inputs, numInputs, outputs,
                                      numOutputs, false);
        !status.ok())
      return status;
    s.norm = s.fused->gives(ONNX_AOT_ROLE_GRADIENT_NORM)
                 ? s.memory.numbers.gradientNorm
                 : NAN;
    s.finishUpdate(updated);
    return Status();
  }
  if (!s.train || !s.updater)
    return TrainerState::noOptimizer();
  Status status =
      s.runTraining(*s.train, inputs, numInputs, outputs, numOutputs, true);
  if (status.ok())
    status = s.update(updated);
  s.progress.accumulated = 0;
  s.gradientsBroken.clear();
  return status;
}

Status Trainer::schedulerStep() {
  Progress &progress = state->progress;
  if (!state->schedule)
    return invalidArgument("there is no learning-rate schedule");
  ++progress.schedulePosition;
  progress.learningRate =
      static_cast<float>(state->schedule->at(progress.schedulePosition));
  return Status();
}

Status Trainer::setLearningRate(float rate) {
  if (!std::isfinite(rate) || rate < 0)
    return invalidArgument("the learning rate must be a number of 0 or more");
  state->progress.learningRate = rate;
  return Status();
}

Status Trainer::setSchedule(const Schedule &schedule) {
  // What was made by hand is checked like a text.
  Expected<Schedule> checked = Schedule::parse(schedule.text(), schedule.lr);
  if (!checked)
    return checked.status();
  state->schedule = *checked;
  state->progress.schedule = checked->text();
  state->progress.schedulePosition = 0;
  state->progress.learningRate = static_cast<float>(checked->at(0));
  return Status();
}

Status Trainer::setSchedule(const std::string &text) {
  Expected<Schedule> schedule =
      Schedule::parse(text, state->progress.learningRate);
  if (!schedule)
    return schedule.status();
  return setSchedule(*schedule);
}

Status Trainer::setSeed(int64_t seed) {
  state->progress.seed = seed;
  return Status();
}

Status Trainer::setLossScale(float scale, int64_t interval) {
  if (!std::isfinite(scale) || scale <= 0 || interval < 0)
    return invalidArgument("the loss scale must be above 0, its interval 0 or "
                           "more");
  if ((scale != 1 || interval) && !state->train && !state->fused->scales())
    return invalidArgument("the module updates the parameters in each step "
                           "and takes no loss scale");
  state->progress.lossScale = scale;
  state->progress.lossScaleInterval = interval;
  state->progress.stepsAtLossScale = 0;
  return Status();
}

Status Trainer::setReduce(ReduceFunction reduce) {
  if (reduce && !state->train)
    return invalidArgument("the module updates the parameters without keeping "
                           "gradients: there is nothing to reduce");
  if (reduce && !state->updater)
    return TrainerState::noOptimizer();
  state->reduce = std::move(reduce);
  return Status();
}

OnnxAotTensor Trainer::parameter(int32_t index) {
  return state->lend(state->parameter(index));
}

OnnxAotTensor Trainer::gradient(int32_t index) {
  return state->lend(state->gradient(index));
}

OnnxAotTensor Trainer::slot(int32_t index, int32_t slot) {
  return state->lend(state->slot(index, slot));
}

Status Trainer::setParameter(const std::string &name,
                             const OnnxAotTensor &value) {
  int32_t index = theModule.findParameter(name);
  if (index < 0)
    return invalidArgument("the model has no parameter ", quoted(name));
  OnnxAotTensor own = state->parameter(index);
  std::string who = concat("parameter ", quoted(name));
  if (value.type != own.type || value.rank != own.rank ||
      !std::equal(own.dims, own.dims + own.rank, value.dims))
    return invalidArgument(who, " is ", typeInfo(own.type)->name, " ",
                           shapeText(own.dims, own.rank), ", the value is ",
                           typeInfo(value.type) ? typeInfo(value.type)->name
                                                : "of unknown type",
                           " ",
                           value.rank >= 0 && value.rank <= ONNX_AOT_MAX_RANK
                               ? shapeText(value.dims, value.rank)
                               : "of a wrong rank");
  if (value.bytes < own.bytes || (own.bytes && !value.data))
    return invalidArgument(who, " has ", own.bytes, " bytes, the value has ",
                           value.data ? value.bytes : 0);
  if (Status status = state->fetch(); !status.ok())
    return status;
  std::memmove(own.data, value.data, own.bytes);
  state->noteWritten();
  state->setKnown(index);
  return Status();
}

uint64_t Trainer::parameterBytes(bool trainableOnly) const {
  uint64_t bytes = 0;
  for (int32_t i = 0; i < theModule->num_parameters; ++i)
    if (!trainableOnly || state->isTrainable(i))
      bytes += state->parameterBytes(i);
  return bytes;
}

namespace {

Status checkBuffer(uint64_t bytes, uint64_t needed, const void *buffer) {
  if (needed && !buffer)
    return invalidArgument("the buffer is null, the parameters have ", needed,
                           " bytes");
  if (bytes != needed)
    return invalidArgument("the buffer has ", bytes,
                           " bytes, the parameters have ", needed);
  return Status();
}

} // namespace

Status Trainer::copyParametersTo(void *buffer, uint64_t bytes,
                                 bool trainableOnly) const {
  if (Status status = checkBuffer(bytes, parameterBytes(trainableOnly), buffer);
      !status.ok())
    return status;
  if (Status status = state->checkReady(); !status.ok())
    return status;
  if (Status status = state->fetch(); !status.ok())
    return status;
  char *next = static_cast<char *>(buffer);
  for (int32_t i = 0; i < theModule->num_parameters; ++i) {
    if (trainableOnly && !state->isTrainable(i))
      continue;
    uint64_t size = state->parameterBytes(i);
    if (size)
      std::memcpy(next, state->memory.state.parameter(i), size);
    next += size;
  }
  return Status();
}

Status Trainer::copyParametersFrom(const void *buffer, uint64_t bytes,
                                   bool trainableOnly) {
  if (Status status = checkBuffer(bytes, parameterBytes(trainableOnly), buffer);
      !status.ok())
    return status;
  if (Status status = state->fetch(); !status.ok())
    return status;
  const char *next = static_cast<const char *>(buffer);
  for (int32_t i = 0; i < theModule->num_parameters; ++i) {
    if (trainableOnly && !state->isTrainable(i))
      continue;
    uint64_t size = state->parameterBytes(i);
    if (size)
      std::memcpy(state->memory.state.parameter(i), next, size);
    next += size;
    state->setKnown(i);
  }
  state->noteWritten();
  return Status();
}

const Progress &Trainer::progress() const { return state->progress; }
double Trainer::gradientNorm() const {
  return state->normKnown ? state->norm : state->computeNorm();
}
uint64_t Trainer::stateBytes() const {
  return state->memory.state.end() - state->memory.state.begin();
}
uint64_t Trainer::arenaBytes() const { return state->memory.arena.bytes(); }
std::map<std::string, Property> &Trainer::properties() {
  return state->properties;
}

std::vector<std::string> Trainer::outputNames(bool training) const {
  const Program *program = !training      ? state->eval.get()
                           : state->train ? state->train.get()
                                          : state->fused.get();
  return program ? program->outputNames() : std::vector<std::string>();
}

} // namespace onnx_aot::runtime

//===- Program.cpp - one program of a training module ---------------------===//
#include "Program.h"

#include "Text.h"
#include "Types.h"

#include <algorithm>

namespace onnx_aot::runtime {

Program::Program(std::shared_ptr<const LoadedModule> loaded,
                 const OnnxAotProgram &program, const OnnxAotTraining &training,
                 ProgramMemory &memory)
    : module(std::move(loaded)), program(program), training(training),
      memory(memory), inputs(descriptor().num_inputs),
      userInput(descriptor().num_inputs, -1), symbols(descriptor().num_symbols),
      slots(descriptor().num_outputs), inputPointers(descriptor().num_inputs),
      outputPointers(descriptor().num_outputs) {
  const OnnxAotModule &module = descriptor();
  int32_t userOutputs = 0;
  for (int32_t i = 0; i < module.num_outputs; ++i) {
    declaredDims.insert(declaredDims.end(), module.outputs[i].dims,
                        module.outputs[i].dims + module.outputs[i].rank);
    if (program.outputs[i].role == ONNX_AOT_ROLE_LOSS)
      callerOutputs.push_back(i);
    userOutputs += program.outputs[i].role == ONNX_AOT_ROLE_USER;
  }
  for (int32_t user = 0; user < userOutputs; ++user)
    for (int32_t i = 0; i < module.num_outputs; ++i)
      if (program.outputs[i].role == ONNX_AOT_ROLE_USER &&
          program.outputs[i].index == user)
        callerOutputs.push_back(i);
  outputDims = declaredDims;
  if (memory.outputs.size() < callerOutputs.size())
    memory.outputs.resize(callerOutputs.size());
  requested.resize(callerOutputs.size());
  uses.reserve(inputs.size() + 2 * callerOutputs.size() + 2);
  bindState();
}

/// Where a piece of state or a number lies; null for the caller's values.
void *Program::stateOf(const OnnxAotBinding &binding) const {
  StepNumbers &numbers = memory.numbers;
  switch (binding.role) {
  case ONNX_AOT_ROLE_PARAMETER:
    return memory.state.parameter(binding.index);
  case ONNX_AOT_ROLE_GRADIENT:
    return memory.state.gradient(binding.index);
  case ONNX_AOT_ROLE_SLOT:
    return memory.state.slot(binding.index, binding.slot);
  case ONNX_AOT_ROLE_ACCUMULATE:
    return &numbers.accumulate;
  case ONNX_AOT_ROLE_LEARNING_RATE:
    return &numbers.learningRate;
  case ONNX_AOT_ROLE_STEP:
    return &numbers.step;
  case ONNX_AOT_ROLE_SEED:
    return numbers.seed;
  case ONNX_AOT_ROLE_LOSS_SCALE:
    return &numbers.lossScale;
  case ONNX_AOT_ROLE_GRADIENT_SCALE:
    return &numbers.gradientScale;
  case ONNX_AOT_ROLE_GRADIENT_NORM:
    return &numbers.gradientNorm;
  case ONNX_AOT_ROLE_UPDATED:
    return &numbers.updated;
  default:
    return nullptr;
  }
}

void Program::bindState() {
  const OnnxAotModule &module = descriptor();
  for (int32_t i = 0; i < module.num_inputs; ++i) {
    const OnnxAotValueInfo &info = module.inputs[i];
    if (program.inputs[i].role == ONNX_AOT_ROLE_USER) {
      userInput[i] = program.inputs[i].index;
      takesUsers = true;
      continue;
    }
    OnnxAotTensor &tensor = inputs[i];
    tensor.data = stateOf(program.inputs[i]);
    tensor.bytes = *plannedBytes(info, info.dims);
    tensor.type = info.type;
    tensor.rank = info.rank;
    std::copy(info.dims, info.dims + info.rank, tensor.dims);
  }
}

/// State stays on the device between steps.
void Program::keepState(DeviceMemory &device) const {
  for (int32_t i = 0; i < descriptor().num_inputs; ++i)
    if (program.inputs[i].role >= ONNX_AOT_ROLE_PARAMETER &&
        program.inputs[i].role <= ONNX_AOT_ROLE_SLOT)
      device.keep(inputs[i].data, inputs[i].bytes);
  for (const void *piece : memory.lent)
    device.lend(piece);
}

bool Program::scales() const {
  for (int32_t i = 0; i < descriptor().num_inputs; ++i)
    if (program.inputs[i].role == ONNX_AOT_ROLE_LOSS_SCALE)
      return true;
  return false;
}

bool Program::gives(OnnxAotRole role) const {
  for (int32_t i = 0; i < descriptor().num_outputs; ++i)
    if (program.outputs[i].role == role)
      return true;
  return false;
}

std::vector<std::string> Program::outputNames() const {
  std::vector<std::string> names;
  for (int32_t i : callerOutputs)
    names.push_back(descriptor().outputs[i].name);
  return names;
}

/// Puts the caller's tensors beside the trainer's and checks them.
Status Program::takeInputs(const OnnxAotTensor *users, size_t numUsers) {
  if (takesUsers && (numUsers != static_cast<size_t>(training.num_inputs) ||
                     (numUsers && !users))) {
    std::string names;
    for (int32_t i = 0; i < training.num_inputs; ++i)
      names += concat(i ? ", " : "", quoted(training.inputs[i]));
    return invalidArgument(users || !numUsers ? numUsers : 0,
                           " inputs are given, the training takes ",
                           training.num_inputs, " (", names, ")");
  }
  for (size_t i = 0; i < inputs.size(); ++i)
    if (userInput[i] >= 0)
      inputs[i] = users[userInput[i]];
  return checkInputs(descriptor(), inputs.data(), inputs.size(), symbols);
}

/// Asks the module for shapes and memory, unless the sizes are those of before.
Status Program::plan() {
  if (planned && symbols == plannedSymbols)
    return Status();
  planned = false;
  outputDims = declaredDims;
  if (Status status = planModule(descriptor(), symbols.data(), symbols.size(),
                                 outputDims.data(), &neededArena);
      !status.ok())
    return status;
  plannedSymbols = symbols;
  planned = true;
  return Status();
}

/// Decides for each output where it goes. Writes and allocates nothing.
Status Program::placeOutputs(const OnnxAotTensor *outputs, size_t numOutputs) {
  if (numOutputs > callerOutputs.size() || (numOutputs && !outputs))
    return invalidArgument(numOutputs,
                           " outputs are asked for, the program "
                           "gives ",
                           callerOutputs.size());
  std::fill(requested.begin(), requested.end(), OnnxAotTensor());
  for (size_t i = 0; i < numOutputs; ++i)
    // A tensor that the last run filled in still means the trainer's memory.
    if (outputs[i].data != memory.outputs[i].data() &&
        outputs[i].data != emptyTensorAddress())
      requested[i] = outputs[i];
    else
      requested[i].type = outputs[i].type;

  const int64_t *dims = outputDims.data();
  for (int32_t i = 0; i < descriptor().num_outputs; ++i) {
    const OnnxAotValueInfo &info = descriptor().outputs[i];
    OutputSlot &slot = slots[i];
    slot = OutputSlot();
    slot.rank = info.rank;
    slot.planned = dims;
    slot.dependsOnData =
        std::find(dims, dims + info.rank, -1) != dims + info.rank;
    std::copy(dims, dims + info.rank, slot.dims);
    dims += info.rank;
    slot.block = nullptr;
    slot.buffer = stateOf(program.outputs[i]);
    slot.capacity = slot.buffer ? plannedBytes(info, slot.dims).value_or(0) : 0;
  }
  for (size_t i = 0; i < callerOutputs.size(); ++i) {
    int32_t at = callerOutputs[i];
    OutputSlot &slot = slots[at];
    const OnnxAotTensor &tensor = requested[i];
    if (Status status = checkOutput(descriptor(), at, tensor, slot.planned);
        !status.ok())
      return status;
    slot.buffer = tensor.data;
    slot.capacity = tensor.bytes;
    slot.block = tensor.data ? nullptr : &memory.outputs[i];
  }
  return checkMemory();
}

/// The caller's tensors may not lie in what this run writes.
Status Program::checkMemory() {
  auto use = [&](const void *data, uint64_t bytes, MemoryUse::Kind kind,
                 int32_t index) {
    auto begin = reinterpret_cast<uintptr_t>(data);
    uses.push_back({begin, begin + bytes, kind, index});
  };
  uses.clear();
  for (int32_t i = 0; i < descriptor().num_inputs; ++i)
    if (userInput[i] >= 0)
      use(inputs[i].data, *plannedBytes(descriptor().inputs[i], inputs[i].dims),
          MemoryUse::Input, i);
  for (size_t i = 0; i < callerOutputs.size(); ++i) {
    int32_t at = callerOutputs[i];
    if (requested[i].data)
      use(requested[i].data,
          plannedBytes(descriptor().outputs[at], slots[at].planned)
              .value_or(requested[i].bytes),
          MemoryUse::Output, at);
    use(memory.outputs[i].data(), memory.outputs[i].bytes(), MemoryUse::State,
        0);
  }
  use(memory.arena.data(), memory.arena.bytes(), MemoryUse::State, 0);
  uses.push_back(
      {memory.state.begin(), memory.state.end(), MemoryUse::State, 0});
  return checkOverlap(descriptor(), uses);
}

/// Allocates the arena and the outputs, as far as sizes are known.
Status Program::reserve() {
  if (!memory.arena.reserve(neededArena))
    return Status(ONNX_AOT_OUT_OF_MEMORY,
                  concat("no memory for an arena of ", neededArena, " bytes"));
  for (int32_t i = 0; i < descriptor().num_outputs; ++i) {
    OutputSlot &slot = slots[i];
    if (slot.dependsOnData)
      continue;
    uint64_t bytes = *plannedBytes(descriptor().outputs[i], slot.planned);
    if (slot.block && !slot.block->reserve(bytes))
      return Status(ONNX_AOT_OUT_OF_MEMORY,
                    concat("no memory for output ",
                           quoted(descriptor().outputs[i].name), " of ", bytes,
                           " bytes"));
    slot.data = slot.block ? slot.block->data() : slot.buffer;
    if (!slot.data)
      slot.data = emptyTensorAddress();
  }
  return Status();
}

void Program::giveOutputs(OnnxAotTensor *outputs, size_t numOutputs) {
  for (size_t i = 0; i < numOutputs; ++i) {
    int32_t at = callerOutputs[i];
    const OutputSlot &slot = slots[at];
    outputs[i].data = slot.data;
    outputs[i].bytes = *plannedBytes(descriptor().outputs[at], slot.dims);
    outputs[i].type = descriptor().outputs[at].type;
    outputs[i].rank = slot.rank;
    std::copy(slot.dims, slot.dims + slot.rank, outputs[i].dims);
  }
}

Status Program::run(const OnnxAotTensor *users, size_t numUsers,
                    OnnxAotTensor *outputs, size_t numOutputs, bool &started) {
  started = false;
  if (Status status = takeInputs(users, numUsers); !status.ok())
    return status;
  if (Status status = plan(); !status.ok())
    return status;
  if (Status status = placeOutputs(outputs, numOutputs); !status.ok())
    return status;
  if (Status status = reserve(); !status.ok())
    return status;
  for (size_t i = 0; i < inputs.size(); ++i)
    inputPointers[i] = inputs[i].data ? inputs[i].data : emptyTensorAddress();
  for (size_t i = 0; i < slots.size(); ++i)
    outputPointers[i] = slots[i].data;
  if (Status status = openDevice(*module, memory.device, memory.stream);
      !status.ok())
    return status;
  DeviceMemory *device = memory.device.get();
  if (device)
    keepState(*device);
  RunServices services(descriptor(), memory.pool.get(), memory.threads, slots,
                       device);
  OnnxAotRuntime table = services.table();
  DeviceRun onDevice{device, *module, inputs.data(), slots};
  if (Status status =
          onDevice.begin(memory.arena.data(), neededArena, services);
      !status.ok())
    return status;
  started = true;
  int32_t answer = descriptor().run(&table, module->weights(), symbols.data(),
                                    inputPointers.data(), outputPointers.data(),
                                    memory.arena.data());
  if (Status status = onDevice.finish(services.result(answer)); !status.ok())
    return status;
  giveOutputs(outputs, numOutputs);
  return Status();
}

} // namespace onnx_aot::runtime

//===- Session.cpp - runs a module ----------------------------------------===//
#include "onnx-aot/runtime/Session.h"

#include "CheckCall.h"
#include "DeviceRun.h"
#include "RunServices.h"
#include "Text.h"

#include <algorithm>
#include <cstring>

namespace onnx_aot::runtime {

/// The memory of a session. One run at a time may use it.
class SessionState {
public:
  SessionState(const LoadedModule &loaded, const SessionOptions &options);

  Status run(const LoadedModule &loaded, int threads,
             const OnnxAotTensor *inputs, size_t numInputs,
             OnnxAotTensor *outputs, size_t numOutputs);

  uint64_t arenaBytes() const {
    return callerArena ? callerBytes : held.load();
  }
  std::shared_ptr<ThreadPool> pool;     ///< null with one thread
  std::unique_ptr<DeviceMemory> device; ///< null without device code
  /// 1 while a run is in progress. A word: not every target swaps bytes.
  std::atomic<int> running{0};

private:
  /// Memory for an output that the caller left to the session. Two blocks, so
  /// that an output of the last run can be an input of this one.
  struct OwnedOutput {
    GrowingBlock blocks[2];
    bool holds(const void *data) const {
      return data && (data == blocks[0].data() || data == blocks[1].data() ||
                      data == emptyTensorAddress());
    }
  };

  Status plan(const OnnxAotModule &module);
  Status placeOutputs(const OnnxAotModule &module, const OnnxAotTensor *inputs);
  GrowingBlock *freeBlock(const OnnxAotModule &module, int32_t output,
                          const OnnxAotTensor *inputs);
  Status reserveMemory(const OnnxAotModule &module);
  void *arena() { return callerArena ? callerArena : ownArena.data(); }

  void *callerArena;
  uint64_t callerBytes;
  GrowingBlock ownArena;
  std::atomic<uint64_t> held{0};
  std::vector<OwnedOutput> ownedOutputs;
  /// What strings of this and of the last run refer to: the last run's outputs
  /// may be inputs of this one.
  TextMemory texts, lastTexts;

  // Scratch of a run, kept to avoid allocating in each.
  std::vector<int64_t> symbols, plannedSymbols, declaredDims, outputDims;
  bool planned = false;
  uint64_t neededArena = 0;
  std::vector<OnnxAotTensor> requested;
  std::vector<OutputSlot> slots;
  std::vector<MemoryUse> uses;
  std::vector<const void *> inputPointers;
  std::vector<void *> outputPointers;
};

SessionState::SessionState(const LoadedModule &loaded,
                           const SessionOptions &options)
    : callerArena(options.arena), callerBytes(options.arenaBytes),
      ownedOutputs(loaded.get().num_outputs), symbols(loaded.get().num_symbols),
      slots(loaded.get().num_outputs), inputPointers(loaded.get().num_inputs),
      outputPointers(loaded.get().num_outputs) {
  const OnnxAotModule &module = loaded.get();
  for (int32_t i = 0; i < module.num_outputs; ++i)
    declaredDims.insert(declaredDims.end(), module.outputs[i].dims,
                        module.outputs[i].dims + module.outputs[i].rank);
  outputDims = declaredDims;
  uses.reserve(module.num_inputs + module.num_outputs + 1);
  inputPointers.insert(inputPointers.end(), loaded.boundInputs().begin(),
                       loaded.boundInputs().end());
}

/// Asks the module for shapes and memory, unless the sizes are those of before.
Status SessionState::plan(const OnnxAotModule &module) {
  if (planned && symbols == plannedSymbols)
    return Status();
  planned = false;
  outputDims = declaredDims;
  if (Status status = planModule(module, symbols.data(), symbols.size(),
                                 outputDims.data(), &neededArena);
      !status.ok())
    return status;
  plannedSymbols = symbols;
  planned = true;
  return Status();
}

/// The block of an output that no input of this run lies in.
GrowingBlock *SessionState::freeBlock(const OnnxAotModule &module,
                                      int32_t output,
                                      const OnnxAotTensor *inputs) {
  for (GrowingBlock &block : ownedOutputs[output].blocks) {
    auto begin = reinterpret_cast<uintptr_t>(block.data());
    uintptr_t end = begin + block.bytes();
    bool used = false;
    for (int32_t i = 0; i < module.num_inputs; ++i) {
      auto address = reinterpret_cast<uintptr_t>(inputs[i].data);
      used |= address >= begin && address < end;
    }
    if (!used)
      return &block;
  }
  return nullptr;
}

/// Decides for each output where it goes. Writes and allocates nothing.
Status SessionState::placeOutputs(const OnnxAotModule &module,
                                  const OnnxAotTensor *inputs) {
  uses.clear();
  for (int32_t i = 0; i < module.num_inputs; ++i) {
    auto begin = reinterpret_cast<uintptr_t>(inputs[i].data);
    uintptr_t bytes = *plannedBytes(module.inputs[i], inputs[i].dims);
    bool updated = module.inputs[i].flags & ONNX_AOT_VALUE_IN_OUT;
    uses.push_back({begin, begin + bytes,
                    updated ? MemoryUse::InOut : MemoryUse::Input, i});
  }
  const int64_t *dims = outputDims.data();
  for (int32_t i = 0; i < module.num_outputs; ++i) {
    const OnnxAotTensor &tensor = requested[i];
    OutputSlot &slot = slots[i];
    slot = OutputSlot();
    slot.rank = module.outputs[i].rank;
    slot.planned = dims;
    std::optional<uint64_t> bytes = plannedBytes(module.outputs[i], dims);
    slot.dependsOnData =
        std::find(dims, dims + slot.rank, -1) != dims + slot.rank;
    std::copy(dims, dims + slot.rank, slot.dims);
    dims += slot.rank;
    if (tensor.data) {
      slot.buffer = tensor.data;
      slot.capacity = tensor.bytes;
      auto begin = reinterpret_cast<uintptr_t>(tensor.data);
      uses.push_back(
          {begin, begin + bytes.value_or(tensor.bytes), MemoryUse::Output, i});
      continue;
    }
    slot.block = freeBlock(module, i, inputs);
    if (!slot.block)
      return invalidArgument("output ", quoted(module.outputs[i].name),
                             ": inputs lie in both of the buffers that the "
                             "session has for it: copy one of them");
  }
  if (callerArena) {
    if (neededArena > callerBytes)
      return invalidArgument("the arena has ", callerBytes,
                             " bytes, this run needs ", neededArena);
    auto begin = reinterpret_cast<uintptr_t>(callerArena);
    uses.push_back({begin, begin + callerBytes, MemoryUse::Arena, 0});
  }
  return checkOverlap(module, uses);
}

/// Allocates the arena and the session's outputs, as far as sizes are known.
Status SessionState::reserveMemory(const OnnxAotModule &module) {
  if (!callerArena && !ownArena.reserve(neededArena))
    return Status(ONNX_AOT_OUT_OF_MEMORY,
                  concat("no memory for an arena of ", neededArena, " bytes"));
  held = ownArena.bytes();
  for (int32_t i = 0; i < module.num_outputs; ++i) {
    OutputSlot &slot = slots[i];
    if (slot.dependsOnData)
      continue;
    uint64_t bytes = *plannedBytes(module.outputs[i], slot.planned);
    if (slot.block && !slot.block->reserve(bytes))
      return Status(ONNX_AOT_OUT_OF_MEMORY,
                    concat("no memory for output ",
                           quoted(module.outputs[i].name), " of ", bytes,
                           " bytes"));
    slot.data = slot.block ? slot.block->data() : slot.buffer;
    if (!slot.data)
      slot.data = emptyTensorAddress();
  }
  return Status();
}

Status SessionState::run(const LoadedModule &loaded, int threads,
                         const OnnxAotTensor *inputs, size_t numInputs,
                         OnnxAotTensor *outputs, size_t numOutputs) {
  const OnnxAotModule &module = loaded.get();
  if (Status status = checkInputs(module, inputs, numInputs, symbols);
      !status.ok())
    return status;
  if (Status status = plan(module); !status.ok())
    return status;
  if (numOutputs == ownedOutputs.size() && outputs) {
    requested.assign(outputs, outputs + numOutputs);
    // A tensor that the last run filled in still means the session's memory.
    for (size_t i = 0; i < numOutputs; ++i)
      if (ownedOutputs[i].holds(requested[i].data))
        requested[i].data = nullptr;
  } else {
    requested.clear();
  }
  if (Status status =
          checkOutputs(module, requested.empty() ? outputs : requested.data(),
                       numOutputs, outputDims.data());
      !status.ok())
    return status;
  if (Status status = placeOutputs(module, inputs); !status.ok())
    return status;
  if (Status status = reserveMemory(module); !status.ok())
    return status;

  for (size_t i = 0; i < numInputs; ++i)
    inputPointers[i] = inputs[i].data ? inputs[i].data : emptyTensorAddress();
  for (size_t i = 0; i < numOutputs; ++i)
    outputPointers[i] = slots[i].data;
  std::swap(texts, lastTexts);
  texts.clear();
  RunServices services(module, pool.get(), threads, slots, device.get(),
                       &texts);
  OnnxAotRuntime table = services.table();
  DeviceRun onDevice{device.get(), loaded, inputs, slots};
  if (Status status = onDevice.begin(arena(), neededArena, services);
      !status.ok())
    return status;
  int32_t answer =
      module.run(&table, loaded.weights(), symbols.data(), inputPointers.data(),
                 outputPointers.data(), arena());
  if (Status status = onDevice.finish(services.result(answer)); !status.ok())
    return status;

  for (int32_t i = 0; i < module.num_outputs; ++i) {
    outputs[i].data = slots[i].data;
    outputs[i].bytes = *plannedBytes(module.outputs[i], slots[i].dims);
    outputs[i].type = module.outputs[i].type;
    outputs[i].rank = slots[i].rank;
    std::copy(slots[i].dims, slots[i].dims + slots[i].rank, outputs[i].dims);
  }
  return Status();
}

//===--- Session ----------------------------------------------------------===//

Session::Session(Module module, int threads,
                 std::unique_ptr<SessionState> state)
    : theModule(std::move(module)), theThreads(threads),
      state(std::move(state)) {}
Session::Session(Session &&) = default;
Session &Session::operator=(Session &&) = default;
Session::~Session() = default;

Expected<Session> Session::create(const Module &module,
                                  const SessionOptions &options) {
  if (options.threads < 1 || options.threads > ONNX_AOT_MAX_THREADS)
    return invalidArgument("the number of threads is ", options.threads,
                           ", supported are 1 to ", ONNX_AOT_MAX_THREADS);
  if (!options.arena && options.arenaBytes)
    return invalidArgument("the arena is null and has ", options.arenaBytes,
                           " bytes");
  auto address = reinterpret_cast<uintptr_t>(options.arena);
  if (address % ONNX_AOT_ALIGNMENT)
    return invalidArgument("the arena is not aligned to ", ONNX_AOT_ALIGNMENT,
                           " bytes");
  if (options.arenaBytes > UINTPTR_MAX - address)
    return invalidArgument("the arena of ", options.arenaBytes,
                           " bytes passes the end of memory");
  if (options.arena && !module->num_symbols &&
      module->arena_bytes > options.arenaBytes)
    return invalidArgument("the arena has ", options.arenaBytes,
                           " bytes, the model needs ", module->arena_bytes);
  auto state = std::make_unique<SessionState>(*module.loaded, options);
  if (options.threads > 1) {
    state->pool = ThreadPool::shared();
    if (Status status = state->pool->reserve(options.threads - 1); !status.ok())
      return status;
  }
  if (options.stream && !module->device_code)
    return invalidArgument("a stream is given, and the module was compiled for "
                           "no device");
  if (Status status = openDevice(*module.loaded, state->device, options.stream);
      !status.ok())
    return status;
  return Session(module, options.threads, std::move(state));
}

Status Session::run(const OnnxAotTensor *inputs, size_t numInputs,
                    OnnxAotTensor *outputs, size_t numOutputs) {
  if (state->running.exchange(1))
    return invalidArgument("the session is running in another thread: use one "
                           "session for each concurrent run");
  struct Done {
    std::atomic<int> &running;
    ~Done() { running = 0; }
  } done{state->running};
  return state->run(*theModule.loaded, theThreads, inputs, numInputs, outputs,
                    numOutputs);
}

Expected<std::vector<Tensor>> Session::run(const std::vector<Tensor> &inputs) {
  std::vector<OnnxAotTensor> views, outputs(theModule->num_outputs);
  for (const Tensor &input : inputs)
    views.push_back(input.view());
  if (Status status =
          run(views.data(), views.size(), outputs.data(), outputs.size());
      !status.ok())
    return status;
  std::vector<Tensor> results;
  for (const OnnxAotTensor &output : outputs) {
    Expected<Tensor> copy = Tensor::copyOf(
        static_cast<OnnxAotType>(output.type),
        std::vector<int64_t>(output.dims, output.dims + output.rank),
        output.data, output.bytes);
    if (!copy)
      return copy.status();
    results.push_back(std::move(*copy));
  }
  return results;
}

uint64_t Session::arenaBytes() const { return state->arenaBytes(); }

} // namespace onnx_aot::runtime

//===- CommandQueue.cpp - work for the device, as graphs ------------------===//
#include "CommandQueue.h"

#include "../Text.h"

#include <cstdlib>
#include <cstring>
#include <functional>

namespace onnx_aot::runtime {

namespace {

/// Fewer commands are given to the device one by one.
constexpr size_t kLeastCommands = 3;
/// Graphs that a session keeps, and what it remembers to have seen once.
constexpr size_t kMaxGraphs = 32, kMaxSeen = 4096;

bool areGraphsWanted() {
  const char *text = std::getenv("ONNX_AOT_CUDA_GRAPHS");
  return !text || std::strcmp(text, "0") != 0;
}

uint64_t toWord(const void *pointer) {
  return reinterpret_cast<uintptr_t>(pointer);
}

void *toPointer(uint64_t word) {
  return reinterpret_cast<void *>(static_cast<uintptr_t>(word));
}

} // namespace

CommandQueue::~CommandQueue() {
  if (stream)
    (void)driver.synchronize(stream);
  for (const Graph &graph : graphs)
    forget(graph);
  for (CudaStream made : {isOwned ? stream : nullptr, recorder})
    if (made)
      (void)driver.destroyStream(made);
}

Status CommandQueue::open(CudaStream given) {
  stream = given;
  if (!stream) {
    if (CudaResult result =
            driver.createStream(&stream, CUDA_STREAM_NON_BLOCKING))
      return driver.failure("no stream on the CUDA device", result);
    isOwned = true;
  }
  // Without a stream to record on there are no graphs.
  if (driver.hasGraphs() && areGraphsWanted() &&
      driver.createStream(&recorder, CUDA_STREAM_NON_BLOCKING))
    recorder = nullptr;
  return Status();
}

//===--- What is gathered -------------------------------------------------===//

void CommandQueue::launch(CudaFunction kernel, const char *name,
                          unsigned blocks, unsigned threads,
                          const uint64_t *arguments, size_t count) {
  Command command = {};
  command.kind = Kind::Launch;
  command.kernel = kernel;
  command.name = name;
  command.blocks = blocks;
  command.threads = threads;
  command.firstWord = words.size();
  command.numWords = count;
  words.insert(words.end(), arguments, arguments + count);
  commands.push_back(command);
}

Status CommandQueue::toDevice(CudaPointer to, const void *from,
                              uint64_t bytes) {
  Command command = {};
  command.kind = Kind::ToDevice;
  command.to = to;
  command.bytes = bytes;
  void *staged = staging.allocate(bytes);
  if (staged) {
    std::memcpy(staged, from, bytes);
    command.from = toWord(staged);
    commands.push_back(command);
    return Status();
  }
  // The driver reads the caller's memory before it returns or, where that is
  // pinned, until the run ends, which waits for it.
  if (Status status = flush(); !status.ok())
    return status;
  command.from = toWord(from);
  isReading = true;
  return issue(command, stream);
}

Status CommandQueue::toHost(void *to, CudaPointer from, uint64_t bytes) {
  Command command = {};
  command.kind = Kind::ToHost;
  command.from = from;
  command.bytes = bytes;
  void *staged = staging.allocate(bytes);
  if (staged) {
    landings.push_back({to, staged, bytes});
    command.to = toWord(staged);
    commands.push_back(command);
    return Status();
  }
  if (Status status = flush(); !status.ok())
    return status;
  command.to = toWord(to);
  return issue(command, stream);
}

void CommandQueue::onDevice(CudaPointer to, CudaPointer from, uint64_t bytes) {
  Command command = {};
  command.kind = Kind::OnDevice;
  command.to = to;
  command.from = from;
  command.bytes = bytes;
  commands.push_back(command);
}

void CommandQueue::abandon() {
  commands.clear();
  words.clear();
  landings.clear();
  (void)driver.synchronize(stream);
  staging.reset();
  isReading = false;
}

//===--- What is given to the device --------------------------------------===//

Status CommandQueue::issue(const Command &command, CudaStream on) {
  CudaResult result = CUDA_DRIVER_OK;
  std::string what;
  switch (command.kind) {
  case Kind::Launch:
    pointers.clear();
    for (uint64_t i = 0; i < command.numWords; ++i)
      pointers.push_back(&words[command.firstWord + i]);
    result = driver.launch(command.kernel, unsigned(command.blocks), 1, 1,
                           unsigned(command.threads), 1, 1, 0, on,
                           pointers.data(), nullptr);
    what = concat("kernel ", command.name, " failed");
    break;
  case Kind::ToDevice:
    result =
        driver.toDevice(command.to, toPointer(command.from), command.bytes, on);
    what = "memory cannot be copied to the device";
    break;
  case Kind::ToHost:
    result =
        driver.toHost(toPointer(command.to), command.from, command.bytes, on);
    what = "memory cannot be copied from the device";
    break;
  case Kind::OnDevice:
    result = driver.onDevice(command.to, command.from, command.bytes, on);
    what = "memory cannot be copied on the device";
    break;
  }
  return result ? driver.failure(what.c_str(), result) : Status();
}

Status CommandQueue::issueAll(CudaStream on) {
  for (const Command &command : commands)
    if (Status status = issue(command, on); !status.ok())
      return status;
  return Status();
}

Status CommandQueue::flush() {
  if (commands.empty())
    return Status();
  Status status;
  if (CudaGraphExec graph = findGraph()) {
    if (CudaResult result = driver.launchGraph(graph, stream))
      status = driver.failure("the device failed", result);
  } else {
    status = issueAll(stream);
  }
  commands.clear();
  words.clear();
  return status;
}

Status CommandQueue::synchronize() {
  Status status = flush();
  if (CudaResult result = driver.synchronize(stream); result && status.ok())
    status = driver.failure("the device failed", result);
  if (status.ok())
    for (const Landing &landing : landings)
      std::memcpy(landing.to, landing.from, landing.bytes);
  landings.clear();
  staging.reset();
  isReading = false;
  return status;
}

//===--- Graphs -----------------------------------------------------------===//

std::string CommandQueue::getKey() const {
  std::string key;
  auto append = [&](uint64_t word) {
    key.append(reinterpret_cast<const char *>(&word), sizeof(word));
  };
  for (const Command &command : commands) {
    append(uint64_t(command.kind));
    if (command.kind != Kind::Launch) {
      append(command.to);
      append(command.from);
      append(command.bytes);
      continue;
    }
    append(toWord(command.kernel));
    append(command.blocks);
    append(command.threads);
    append(command.numWords);
    for (uint64_t i = 0; i < command.numWords; ++i)
      append(words[command.firstWord + i]);
  }
  return key;
}

CudaGraphExec CommandQueue::findGraph() {
  if (!recorder || commands.size() < kLeastCommands)
    return nullptr;
  std::string key = getKey();
  for (auto place = graphs.begin(); place != graphs.end(); ++place)
    if (place->key == key) {
      graphs.splice(graphs.begin(), graphs, place);
      return place->exec;
    }
  // What never comes again is not worth a graph.
  size_t hash = std::hash<std::string>()(key);
  if (seen.size() >= kMaxSeen)
    seen.clear();
  if (seen.insert(hash).second)
    return nullptr;
  CudaGraphExec exec = record();
  if (!exec)
    return nullptr;
  graphs.push_front({std::move(key), exec});
  if (graphs.size() > kMaxGraphs) {
    // It may still be running.
    (void)driver.synchronize(stream);
    forget(graphs.back());
    graphs.pop_back();
  }
  return exec;
}

CudaGraphExec CommandQueue::record() {
  if (driver.beginCapture(recorder, CUDA_CAPTURE_RELAXED))
    return nullptr;
  bool isIssued = issueAll(recorder).ok();
  CudaGraph graph = nullptr;
  bool isRecorded = !driver.endCapture(recorder, &graph) && graph && isIssued;
  CudaGraphExec exec = nullptr;
  if (isRecorded && driver.instantiateGraph(&exec, graph, 0))
    exec = nullptr;
  if (graph)
    (void)driver.destroyGraph(graph);
  return exec;
}

void CommandQueue::forget(const Graph &graph) {
  (void)driver.destroyGraphExec(graph.exec);
}

} // namespace onnx_aot::runtime

//===- Report.cpp - what was done, for machines ---------------------------===//

#include "Report.h"

#include <sys/resource.h>

using namespace onnx_aot;
using llvm::json::fixUTF8;

static llvm::json::Array listValues(llvm::ArrayRef<ValueInfo> values) {
  llvm::json::Array array;
  for (const ValueInfo &value : values)
    array.push_back(
        llvm::json::Object{{"name", fixUTF8(value.name)},
                           {"type", getTypeName(value.type)},
                           {"dims", llvm::json::Array(value.dims)}});
  return array;
}

static llvm::json::Array listNames(llvm::ArrayRef<std::string> names) {
  llvm::json::Array array;
  for (const std::string &name : names)
    array.push_back(fixUTF8(name));
  return array;
}

/// Each step of a run with the bytes that are alive in it, and what these are.
static llvm::json::Object describeMemory(const MemoryUse &memory) {
  std::vector<int64_t> live(memory.steps.size(), 0), numbers;
  llvm::json::Array buffers, steps;
  // What only makes views is no step to a reader, but part of the one before.
  int64_t count = 0;
  for (const std::string &step : memory.steps)
    numbers.push_back(step.empty() ? std::max<int64_t>(count, 1) - 1 : count++);
  for (const ArenaBuffer &buffer : memory.buffers) {
    for (int64_t step = buffer.first; step <= buffer.last; ++step)
      live[step] += buffer.bytes;
    buffers.push_back(
        llvm::json::Object{{"node", fixUTF8(memory.steps[buffer.first])},
                           {"first", numbers[buffer.first]},
                           {"last", numbers[buffer.last]},
                           {"offset", buffer.offset},
                           {"bytes", buffer.bytes}});
  }
  int64_t peak = 0;
  for (auto [name, bytes] : llvm::zip_equal(memory.steps, live)) {
    peak = std::max(peak, bytes);
    if (!name.empty())
      steps.push_back(
          llvm::json::Object{{"node", fixUTF8(name)}, {"live_bytes", bytes}});
  }
  return llvm::json::Object{{"peak_live_bytes", peak},
                            {"natural_arena_bytes", memory.naturalBytes},
                            {"repeated_steps", memory.repeatedSteps},
                            {"steps", std::move(steps)},
                            {"buffers", std::move(buffers)}};
}

/// Bytes of state and of each program, all that a training step needs beside
/// its inputs and targets.
static llvm::json::Object describeTraining(const Compilation &compilation) {
  const TrainingInfo &info = compilation.getTraining();
  int64_t parameterBytes = 0, trainedBytes = 0;
  for (const ParameterInfo &parameter : info.parameters) {
    int64_t bytes = getTypeBytes(parameter.value.type);
    for (int64_t size : parameter.value.dims)
      bytes *= size;
    parameterBytes += bytes;
    if (parameter.kind == ONNX_AOT_PARAMETER_TRAINABLE)
      trainedBytes += bytes;
  }
  llvm::json::Array programs;
  for (auto [program, memory] : llvm::zip_equal(compilation.getPrograms(),
                                                compilation.getProgramMemory()))
    programs.push_back(llvm::json::Object{
        {"name", getProgramName(program.program.kind)},
        {"arena_bytes", program.info.symbols.empty()
                            ? llvm::json::Value(program.info.arenaBytes)
                            : llvm::json::Value(nullptr)},
        {"symbols", listNames(program.info.symbols)},
        {"outputs", listValues(program.info.outputs)},
        {"memory", describeMemory(memory)}});
  return llvm::json::Object{
      {"loss", fixUTF8(info.loss)},
      {"optimizer", fixUTF8(info.optimizer)},
      {"num_parameters", info.parameters.size()},
      {"parameter_bytes", parameterBytes},
      {"gradient_bytes", trainedBytes},
      {"slot_bytes", trainedBytes * int64_t(info.slots.size())},
      {"programs", std::move(programs)}};
}

/// Highest resident size of this process so far.
static int64_t getPeakBytes() {
  struct rusage usage;
  if (getrusage(RUSAGE_SELF, &usage) != 0)
    return 0;
  return int64_t(usage.ru_maxrss) * 1024;
}

void onnx_aot::printReport(const CompilerInvocation &invocation,
                           const Compilation &compilation,
                           const Progress &progress,
                           const ArtifactReport &artifact,
                           llvm::raw_ostream &os) {
  llvm::json::Array phases;
  for (unsigned i = 0; i < numPhases; ++i)
    phases.push_back(
        llvm::json::Object{{"name", getPhaseName(Phase(i))},
                           {"seconds", progress.getSeconds(Phase(i))}});
  const ModuleInfo &info = compilation.getResult().info;
  llvm::json::Object report{
      {"input", fixUTF8(invocation.input)},
      {"output", fixUTF8(invocation.output)},
      {"name", fixUTF8(info.name)},
      {"target", compilation.getTarget().triple},
      {"cpu", compilation.getTarget().cpu},
      {"opt_level", invocation.optLevel},
      {"phases", std::move(phases)},
      {"llvm_seconds",
       llvm::json::Object{{"optimize", artifact.optimizeSeconds},
                          {"codegen", artifact.objectSeconds},
                          {"link", artifact.linkSeconds}}},
      {"peak_memory_bytes", getPeakBytes()},
      {"code_bytes", artifact.codeBytes},
      {"weight_bytes", compilation.getResult().weights.getSize()},
      {"arena_bytes", info.symbols.empty() ? llvm::json::Value(info.arenaBytes)
                                           : llvm::json::Value(nullptr)},
      {"symbols", listNames(info.symbols)},
      {"inputs", listValues(info.inputs)},
      {"outputs", listValues(info.outputs)},
      {"kernels", listNames(compilation.getKernels())},
      {"files", listNames(artifact.files)},
  };
  if (invocation.training)
    report["training"] = describeTraining(compilation);
  else
    report["memory"] = describeMemory(compilation.getResult().memory);
  os << llvm::formatv("{0:2}\n", llvm::json::Value(std::move(report)));
}

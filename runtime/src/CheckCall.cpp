//===- CheckCall.cpp - is a call to a module legal ------------------------===//
#include "CheckCall.h"

#include "Text.h"
#include "Types.h"

#include <algorithm>
#include <cstdio>

namespace onnx_aot::runtime {

namespace {

std::string inputName(const OnnxAotModule &module, int32_t index) {
  return concat("input ", quoted(module.inputs[index].name));
}

std::string outputName(const OnnxAotModule &module, int32_t index) {
  return concat("output ", quoted(module.outputs[index].name));
}

std::string typeName(int32_t type) {
  const TypeInfo *info = typeInfo(type);
  return info ? info->name : concat("unknown (", type, ")");
}

/// The first input dimension that has the symbol `symbol`, for messages.
std::string firstUse(const OnnxAotModule &module, int64_t symbol) {
  for (int32_t i = 0; i < module.num_inputs; ++i)
    for (int32_t d = 0; d < module.inputs[i].rank; ++d)
      if (module.inputs[i].dims[d] == -(1 + symbol))
        return concat(inputName(module, i), " dimension ", d);
  return "?";
}

Status checkDims(const OnnxAotModule &module, int32_t index,
                 const OnnxAotTensor &tensor, std::vector<int64_t> &symbols) {
  const OnnxAotValueInfo &info = module.inputs[index];
  for (int32_t d = 0; d < info.rank; ++d) {
    int64_t size = tensor.dims[d], declared = info.dims[d];
    if (size < 0)
      return invalidArgument(inputName(module, index), ": dimension ", d,
                             " is negative (", size, ")");
    if (declared >= 0) {
      if (size != declared)
        return invalidArgument(inputName(module, index), ": dimension ", d,
                               " is ", size, ", the model takes ", declared,
                               " (shape ", shapeText(module, info), ")");
      continue;
    }
    int64_t symbol = -(declared + 1);
    if (size > maxSymbol)
      return invalidArgument(inputName(module, index), ": dimension ", d,
                             " is ", size, ", at most ", maxSymbol,
                             " is supported");
    if (symbols[symbol] >= 0 && symbols[symbol] != size)
      return invalidArgument(inputName(module, index), ": dimension ", d, " (",
                             quoted(module.symbols[symbol]), ") is ", size,
                             ", but ", firstUse(module, symbol),
                             " has the same name and is ", symbols[symbol]);
    symbols[symbol] = size;
  }
  return Status();
}

/// Checks address and size of a buffer that must hold `needed` bytes. `name`
/// makes its name for a message: a legal call allocates nothing.
template <typename Name>
Status checkBuffer(Name name, const void *data, uint64_t capacity,
                   uint64_t needed, uint64_t alignment, int32_t type) {
  if (capacity < needed)
    return invalidArgument(name(), ": the buffer has ", capacity,
                           " bytes, the tensor needs ", needed);
  if (!data && needed)
    return invalidArgument(name(), ": the data is null, the tensor has ",
                           needed, " bytes");
  if (reinterpret_cast<uintptr_t>(data) % alignment)
    return invalidArgument(name(), ": the data is not aligned to the ",
                           alignment, " bytes that ", typeName(type), " needs");
  if (needed > UINTPTR_MAX - reinterpret_cast<uintptr_t>(data))
    return invalidArgument(name(), ": the buffer passes the end of memory");
  return Status();
}

Status checkInput(const OnnxAotModule &module, int32_t index,
                  const OnnxAotTensor &tensor, std::vector<int64_t> &symbols) {
  const OnnxAotValueInfo &info = module.inputs[index];
  if (!tensor.data && !tensor.bytes && !tensor.type)
    return invalidArgument(inputName(module, index), " is missing (",
                           typeName(info.type), " ", shapeText(module, info),
                           ")");
  if (tensor.type != info.type)
    return invalidArgument(inputName(module, index), ": type is ",
                           typeName(tensor.type), ", the model takes ",
                           typeName(info.type));
  if (tensor.rank != info.rank)
    return invalidArgument(inputName(module, index), ": rank is ", tensor.rank,
                           ", the model takes rank ", info.rank, " (shape ",
                           shapeText(module, info), ")");
  if (Status status = checkDims(module, index, tensor, symbols); !status.ok())
    return status;
  const TypeInfo &type = *typeInfo(info.type);
  std::optional<uint64_t> needed =
      tensorBytes(type.bytes, tensor.dims, tensor.rank);
  if (!needed)
    return invalidArgument(inputName(module, index), ": shape ",
                           shapeText(tensor.dims, tensor.rank),
                           " does not fit memory");
  return checkBuffer([&] { return inputName(module, index); }, tensor.data,
                     tensor.bytes, *needed, type.alignment, info.type);
}

Status checkCount(const char *what, size_t found, int32_t expected,
                  const void *pointer) {
  if (found != static_cast<size_t>(expected))
    return invalidArgument(found, " ", what, " are given, the model has ",
                           expected);
  if (expected && !pointer)
    return invalidArgument("the ", what, " are null, the model has ", expected);
  return Status();
}

/// "N=3, T=4".
std::string symbolText(const OnnxAotModule &module, const int64_t *symbols) {
  std::string text;
  for (int32_t i = 0; i < module.num_symbols; ++i)
    text += concat(i ? ", " : "", module.symbols[i], "=", symbols[i]);
  return text;
}

/// Checks what the module's own plan answered for one output.
Status checkPlanned(const OnnxAotModule &module, int32_t index,
                    const int64_t *dims) {
  const OnnxAotValueInfo &info = module.outputs[index];
  for (int32_t d = 0; d < info.rank; ++d)
    if (dims[d] < -1 || (info.dims[d] >= 0 && dims[d] != info.dims[d]))
      return invalidModule(outputName(module, index), ": dimension ", d,
                           " is planned as ", dims[d], ", declared as ",
                           info.dims[d]);
  bool known = std::find(dims, dims + info.rank, -1) == dims + info.rank;
  if (known && !plannedBytes(info, dims))
    return invalidArgument(outputName(module, index), ": shape ",
                           shapeText(dims, info.rank), " does not fit memory");
  return Status();
}

} // namespace

std::optional<uint64_t> plannedBytes(const OnnxAotValueInfo &info,
                                     const int64_t *dims) {
  return tensorBytes(typeInfo(info.type)->bytes, dims, info.rank);
}

/// Why the module's plan refused the symbols: `run` tells, and does no more.
static std::string refusalText(const OnnxAotModule &module,
                               const int64_t *symbols) {
  struct Reason {
    char text[512] = "";
  } reason;
  OnnxAotRuntime runtime = {};
  runtime.user = &reason;
  runtime.fail = [](void *user, const char *message) {
    auto &reason = *static_cast<Reason *>(user);
    std::snprintf(reason.text, sizeof(reason.text), ": %s",
                  message ? message : "no reason");
  };
  (void)module.run(&runtime, nullptr, symbols, nullptr, nullptr, nullptr);
  return reason.text;
}

Status planModule(const OnnxAotModule &module, const int64_t *symbols,
                  size_t numSymbols, int64_t *outputDims,
                  uint64_t *arenaBytes) {
  if (Status status =
          checkCount("symbol values", numSymbols, module.num_symbols, symbols);
      !status.ok())
    return status;
  for (int32_t i = 0; i < module.num_symbols; ++i)
    if (symbols[i] < 0 || symbols[i] > maxSymbol)
      return invalidArgument("symbolic dimension ", quoted(module.symbols[i]),
                             " is ", symbols[i], ", supported are 0 to ",
                             maxSymbol);
  *arenaBytes = module.arena_bytes;
  if (module.plan) {
    int32_t answer = module.plan(symbols, outputDims, arenaBytes);
    if (answer != ONNX_AOT_RUN_OK)
      return invalidArgument("the model cannot run with the sizes ",
                             symbolText(module, symbols),
                             refusalText(module, symbols));
  }
  for (int32_t i = 0; i < module.num_outputs; ++i) {
    if (Status status = checkPlanned(module, i, outputDims); !status.ok())
      return status;
    outputDims += module.outputs[i].rank;
  }
  return Status();
}

Status checkInputs(const OnnxAotModule &module, const OnnxAotTensor *inputs,
                   size_t numInputs, std::vector<int64_t> &symbols) {
  if (Status status =
          checkCount("inputs", numInputs, module.num_inputs, inputs);
      !status.ok())
    return status;
  std::fill(symbols.begin(), symbols.end(), -1);
  for (int32_t i = 0; i < module.num_inputs; ++i)
    if (Status status = checkInput(module, i, inputs[i], symbols); !status.ok())
      return status;
  return Status();
}

Status checkOutput(const OnnxAotModule &module, int32_t index,
                   const OnnxAotTensor &output, const int64_t *dims) {
  const OnnxAotValueInfo &info = module.outputs[index];
  if (output.type && output.type != info.type)
    return invalidArgument(outputName(module, index), ": type is ",
                           typeName(output.type), ", the model gives ",
                           typeName(info.type));
  if (!output.data)
    return Status();
  // A size that only the run can tell is checked when it does.
  return checkBuffer([&] { return outputName(module, index); }, output.data,
                     output.bytes, plannedBytes(info, dims).value_or(0),
                     typeInfo(info.type)->alignment, info.type);
}

Status checkOutputs(const OnnxAotModule &module, const OnnxAotTensor *outputs,
                    size_t numOutputs, const int64_t *outputDims) {
  if (Status status =
          checkCount("outputs", numOutputs, module.num_outputs, outputs);
      !status.ok())
    return status;
  for (int32_t i = 0; i < module.num_outputs; ++i) {
    if (Status status = checkOutput(module, i, outputs[i], outputDims);
        !status.ok())
      return status;
    outputDims += module.outputs[i].rank;
  }
  return Status();
}

Status checkOverlap(const OnnxAotModule &module, std::vector<MemoryUse> &uses) {
  std::sort(
      uses.begin(), uses.end(),
      [](const MemoryUse &a, const MemoryUse &b) { return a.begin < b.begin; });
  auto name = [&](const MemoryUse &use) {
    switch (use.kind) {
    case MemoryUse::Input:
    case MemoryUse::InOut:
      return inputName(module, use.index);
    case MemoryUse::Output:
      return outputName(module, use.index);
    case MemoryUse::State:
      return std::string("memory of the trainer");
    case MemoryUse::Arena:
      break;
    }
    return std::string("the arena");
  };
  // Of the uses so far, the one that reaches farthest; of those that are
  // written, too: inputs may overlap inputs.
  const MemoryUse *farthest = nullptr, *farthestWritten = nullptr;
  for (const MemoryUse &use : uses) {
    if (use.begin == use.end)
      continue;
    bool written = use.kind != MemoryUse::Input;
    const MemoryUse *other = written ? farthest : farthestWritten;
    if (other && use.begin < other->end)
      return invalidArgument(name(written ? use : *other), " overlaps ",
                             name(written ? *other : use), " in memory");
    if (!farthest || use.end > farthest->end)
      farthest = &use;
    if (written && (!farthestWritten || use.end > farthestWritten->end))
      farthestWritten = &use;
  }
  return Status();
}

} // namespace onnx_aot::runtime

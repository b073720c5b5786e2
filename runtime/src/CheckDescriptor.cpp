//===- CheckDescriptor.cpp - can this runtime run a module ----------------===//
#include "CpuFeatures.h"
#include "LoadedModule.h"
#include "Text.h"
#include "Types.h"

#include <vector>

namespace onnx_aot::runtime {

namespace {

Status checkValue(const OnnxAotModule &module, const OnnxAotValueInfo &info,
                  bool isInput, std::vector<bool> &bound) {
  if (!info.name)
    return invalidModule("an input or output has no name");
  std::string who = concat(isInput ? "input " : "output ", quoted(info.name));
  const TypeInfo *type = typeInfo(info.type);
  if (!type)
    return invalidModule(who, " has unknown type ", info.type);
  if (!type->bytes)
    return invalidModule(who, " has type ", type->name,
                         ", which cannot be passed to a module");
  if (info.rank < 0 || info.rank > ONNX_AOT_MAX_RANK)
    return invalidModule(who, " has rank ", info.rank, ", supported are 0 to ",
                         ONNX_AOT_MAX_RANK);
  if (info.rank && !info.dims)
    return invalidModule(who, " has no dimensions");
  constexpr uint32_t parts =
      ONNX_AOT_VALUE_ELEMENTS | ONNX_AOT_VALUE_SHAPES | ONNX_AOT_VALUE_PRESENT;
  if (info.flags & ~(parts | (isInput ? ONNX_AOT_VALUE_IN_OUT : 0)))
    return invalidModule(who, " has unknown flags ", info.flags);
  for (int32_t i = 0; i < info.rank; ++i) {
    int64_t lowest = isInput ? -int64_t(module.num_symbols) : -1;
    if (info.dims[i] < lowest)
      return invalidModule(who, " dimension ", i, " is ", info.dims[i],
                           ", which names no symbol");
    if (isInput && info.dims[i] < 0)
      bound[-(info.dims[i] + 1)] = true;
  }
  return Status();
}

/// Whether the parts of sequences and optionals follow each other.
Status checkParts(const OnnxAotValueInfo *values, int32_t count) {
  constexpr int64_t columns = 9;
  for (int32_t i = 0; i < count; ++i) {
    const OnnxAotValueInfo &info = values[i];
    const OnnxAotValueInfo *next = i + 1 < count ? &values[i + 1] : nullptr;
    bool isTable = next && next->flags & ONNX_AOT_VALUE_SHAPES;
    bool isElements = info.flags & ONNX_AOT_VALUE_ELEMENTS;
    bool isOwnTable = info.flags & ONNX_AOT_VALUE_SHAPES;
    if (isElements != isTable || (isOwnTable && i == 0) ||
        (isElements && info.rank != 1) ||
        (isOwnTable && (info.type != ONNX_AOT_INT64 || info.rank != 2 ||
                        info.dims[1] != columns)))
      return invalidModule("value ", quoted(info.name),
                           " is not the part of a sequence that it should be");
    if (info.flags & ONNX_AOT_VALUE_PRESENT &&
        (!next || info.type != ONNX_AOT_BOOL || info.rank != 0 ||
         next->flags & ONNX_AOT_VALUE_PRESENT))
      return invalidModule("value ", quoted(info.name),
                           " tells of an optional that is not there");
  }
  return Status();
}

Status checkWeights(const OnnxAotModule &module) {
  if (!module.weight_bytes)
    return Status();
  if (!module.weights && !module.weights_file)
    return invalidModule("it has ", module.weight_bytes,
                         " bytes of weights and says not where");
  if (reinterpret_cast<uintptr_t>(module.weights) % ONNX_AOT_ALIGNMENT)
    return invalidModule("its weights are not aligned to ", ONNX_AOT_ALIGNMENT,
                         " bytes");
  return Status();
}

/// An instruction that the processor lacks would end the process.
Status checkProcessor(const OnnxAotModule &module) {
  std::string missing = missingFeatures(targetFeatures(module.target));
  if (missing.empty())
    return Status();
  return invalidModule("it was compiled for another processor (", module.target,
                       "): this one lacks ", missing,
                       "; compile the model here, or with --cpu=NAME");
}

Status checkFields(const OnnxAotModule &module) {
  if (module.abi_version != ONNX_AOT_ABI_VERSION)
    return invalidModule("it has binary interface version ", module.abi_version,
                         ", this runtime supports version ",
                         ONNX_AOT_ABI_VERSION);
  if (module.struct_bytes != sizeof(OnnxAotModule))
    return invalidModule("its descriptor has ", module.struct_bytes,
                         " bytes, this runtime expects ",
                         sizeof(OnnxAotModule));
  if (module.num_inputs < 0 || module.num_outputs < 0 || module.num_symbols < 0)
    return invalidModule("it has a negative number of inputs, outputs or "
                         "symbols");
  if ((module.num_inputs && !module.inputs) ||
      (module.num_outputs && !module.outputs) ||
      (module.num_symbols && !module.symbols) || !module.run ||
      (module.num_symbols && !module.plan))
    return invalidModule("its descriptor lacks a table or function");

  for (int32_t i = 0; i < module.num_symbols; ++i)
    if (!module.symbols[i])
      return invalidModule("symbol ", i, " has no name");
  std::vector<bool> bound(module.num_symbols);
  for (int32_t i = 0; i < module.num_inputs; ++i)
    if (Status status = checkValue(module, module.inputs[i], true, bound);
        !status.ok())
      return status;
  for (int32_t i = 0; i < module.num_outputs; ++i)
    if (Status status = checkValue(module, module.outputs[i], false, bound);
        !status.ok())
      return status;
  if (Status status = checkParts(module.inputs, module.num_inputs);
      !status.ok())
    return status;
  if (Status status = checkParts(module.outputs, module.num_outputs);
      !status.ok())
    return status;
  for (int32_t i = 0; i < module.num_symbols; ++i)
    if (!bound[i])
      return invalidModule("no input has the symbolic dimension ",
                           quoted(module.symbols[i]));
  if (Status status = checkProcessor(module); !status.ok())
    return status;
  return checkWeights(module);
}

} // namespace

Status checkDescriptor(const OnnxAotModule &module, const std::string &where) {
  Status status = checkFields(module);
  if (status.ok())
    return status;
  return Status(status.code(), concat("module ", where,
                                      " cannot be used: ", status.message()));
}

} // namespace onnx_aot::runtime

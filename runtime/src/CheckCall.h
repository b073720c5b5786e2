//===- CheckCall.h - is a call to a module legal ---------------*- C++ -*-===//
//
// Everything that can be wrong with a run is found here, before anything is
// written.
//
//===----------------------------------------------------------------------===//
#ifndef ONNX_AOT_RUNTIME_SRC_CHECKCALL_H
#define ONNX_AOT_RUNTIME_SRC_CHECKCALL_H

#include "onnx-aot/runtime/Status.h"

#include <vector>

namespace onnx_aot::runtime {

/// The highest size of a symbolic dimension. Keeps the sizes that `plan`
/// computes for tensors without elements away from overflow.
constexpr int64_t maxSymbol = int64_t(1) << 40;

/// Output shapes (those of outputs with symbolic sizes overwritten) and arena
/// size for these symbol values; checks what the module answers.
/// `outputDims` holds the declared sizes of all outputs on entry.
Status planModule(const OnnxAotModule &module, const int64_t *symbols,
                  size_t numSymbols, int64_t *outputDims, uint64_t *arenaBytes);

/// Checks the inputs and finds the symbols' values.
Status checkInputs(const OnnxAotModule &module, const OnnxAotTensor *inputs,
                   size_t numInputs, std::vector<int64_t> &symbols);

/// Checks the caller's output buffers against the planned shapes; those with
/// null `data` are left to the session.
Status checkOutputs(const OnnxAotModule &module, const OnnxAotTensor *outputs,
                    size_t numOutputs, const int64_t *outputDims);

/// The same for one output.
Status checkOutput(const OnnxAotModule &module, int32_t index,
                   const OnnxAotTensor &output, const int64_t *dims);

/// Bytes of a tensor whose shape is known; nothing if it has a size of -1.
std::optional<uint64_t> plannedBytes(const OnnxAotValueInfo &info,
                                     const int64_t *dims);

/// A piece of memory of a run, for `checkOverlap`.
struct MemoryUse {
  enum Kind { Input, InOut, Output, Arena, State };
  uintptr_t begin, end;
  Kind kind;
  int32_t index;
};

/// Checks that what the run writes overlaps nothing else. Sorts `uses`.
Status checkOverlap(const OnnxAotModule &module, std::vector<MemoryUse> &uses);

} // namespace onnx_aot::runtime

#endif // ONNX_AOT_RUNTIME_SRC_CHECKCALL_H

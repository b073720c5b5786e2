//===- Sequences.h - sequences and optionals in files ----------*- C++ -*-===//
//
// A module takes a sequence apart (see ONNX_AOT_VALUE_ELEMENTS in abi/Abi.h).
// In files an entry is an array of its own: NAME[0], NAME[1], ... An optional
// that is absent has no array.
//
//===----------------------------------------------------------------------===//
#ifndef ONNX_AOT_TOOLS_RUN_SEQUENCES_H
#define ONNX_AOT_TOOLS_RUN_SEQUENCES_H

#include "Npy.h"

#include "onnx-aot/runtime/Module.h"

#include <map>
#include <string>
#include <vector>

namespace onnx_aot::run {

/// NAME of an array "NAME[3]"; any other name as it is.
std::string sequenceName(const std::string &array);

/// The tensor under the type that the model wants, where numpy has a stand-in
/// for it.
Expected<Tensor> asWanted(Tensor tensor, OnnxAotType wanted);

/// Adds to the arrays what stands for the model's sequences and optionals.
Status joinInputs(const runtime::Module &module,
                  std::map<std::string, Tensor> &arrays);

/// What a run leaves behind, under the names that files have for it. The
/// tensors are views of the given ones.
Status splitOutputs(const runtime::Module &module,
                    std::vector<std::string> &names,
                    std::vector<OnnxAotTensor> &tensors);

} // namespace onnx_aot::run

#endif // ONNX_AOT_TOOLS_RUN_SEQUENCES_H

//===- Inputs.h - the inputs of a run --------------------------*- C++ -*-===//
#ifndef ONNX_AOT_TOOLS_RUN_INPUTS_H
#define ONNX_AOT_TOOLS_RUN_INPUTS_H

#include "Options.h"

#include "onnx-aot/runtime/Module.h"

namespace onnx_aot::run {

/// Values for the symbolic dimensions by --dim; -1 for those not given.
Expected<std::vector<int64_t>> parseDims(const runtime::Module &module,
                                         const std::vector<std::string> &dims);

/// All inputs in the model's order: from files, the rest at random if asked
/// for. Checks them only as far as it has to; the session checks the rest.
Expected<std::vector<Tensor>> gatherInputs(const runtime::Module &module,
                                           const Options &options);

} // namespace onnx_aot::run

#endif // ONNX_AOT_TOOLS_RUN_INPUTS_H

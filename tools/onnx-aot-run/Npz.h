//===- Npz.h - numpy's archives of arrays ----------------------*- C++ -*-===//
#ifndef ONNX_AOT_TOOLS_RUN_NPZ_H
#define ONNX_AOT_TOOLS_RUN_NPZ_H

#include "Npy.h"

#include <map>
#include <set>

namespace onnx_aot::run {

/// Reads those arrays of an .npz file whose names `wanted` holds, and the
/// entries NAME[0], NAME[1], ... of sequences of such names. Names are the
/// entries' without ".npy". Other entries are not looked at; with `ignored`,
/// those whose names it does not hold are an error that tells them all.
Expected<std::map<std::string, Tensor>>
readNpz(const std::string &path, const std::set<std::string> &wanted,
        const std::set<std::string> *ignored = nullptr);

/// Writes arrays under their names as numpy's savez does. The file appears when
/// it is complete; the same arrays give the same bytes.
Status writeNpz(const std::string &path, const std::vector<std::string> &names,
                const std::vector<OnnxAotTensor> &tensors);

} // namespace onnx_aot::run

#endif // ONNX_AOT_TOOLS_RUN_NPZ_H

//===- Report.h - what onnx-aot-run prints ---------------------*- C++ -*-===//
#ifndef ONNX_AOT_TOOLS_RUN_REPORT_H
#define ONNX_AOT_TOOLS_RUN_REPORT_H

#include "Compare.h"

#include "onnx-aot/runtime/Module.h"

#include <nlohmann/json.hpp>

namespace onnx_aot::run {

/// Keys in the order in which they were set.
using Json = nlohmann::ordered_json;

/// Times of one invocation.
struct Timing {
  double loadMs = 0, firstRunMs = 0;
  std::vector<double> runsMs; ///< of the measured runs; at least one
  double medianMs() const;
  double minMs() const;
};

/// Inputs, outputs, symbolic dimensions and memory of a module; `plan` if all
/// symbols have values.
Json moduleInfo(const runtime::Module &module, const runtime::Plan *plan);
std::string moduleInfoText(const Json &info);

/// load_ms, first_run_ms, median_ms, min_ms, runs, arena_bytes, weight_bytes.
Json timingJson(const Timing &timing, uint64_t arenaBytes,
                uint64_t weightBytes);
std::string timingText(const Json &timing);

/// One line: the distance from what was expected.
std::string differenceText(const std::string &name,
                           const Difference &difference);
Json differenceJson(const std::string &name, const Difference &difference);

/// Shape, type, first values; the largest five of a row of scores.
std::string tensorText(const std::string &name, const OnnxAotTensor &tensor);

} // namespace onnx_aot::run

#endif // ONNX_AOT_TOOLS_RUN_REPORT_H

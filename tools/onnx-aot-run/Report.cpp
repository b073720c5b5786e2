//===- Report.cpp - what onnx-aot-run prints ------------------------------===//
#include "Report.h"

#include "Strings.h"

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <numeric>

namespace onnx_aot::run {

using json = Json;

namespace {

__attribute__((format(printf, 1, 2))) std::string format(const char *pattern,
                                                         ...) {
  char text[256];
  va_list arguments;
  va_start(arguments, pattern);
  std::vsnprintf(text, sizeof(text), pattern, arguments);
  va_end(arguments);
  return text;
}

bool isFloat(int32_t type) {
  return type == ONNX_AOT_FLOAT16 || type == ONNX_AOT_BFLOAT16 ||
         type == ONNX_AOT_FLOAT32 || type == ONNX_AOT_FLOAT64 ||
         (type >= ONNX_AOT_FLOAT8E4M3FN && type <= ONNX_AOT_FLOAT8E5M2FNUZ) ||
         type == ONNX_AOT_FLOAT4E2M1 || type == ONNX_AOT_FLOAT8E8M0;
}

std::string elementText(const OnnxAotTensor &tensor, int64_t index) {
  auto number = [&](int64_t i) {
    return elementAsDouble(tensor.type, tensor.data, i);
  };
  switch (tensor.type) {
  case ONNX_AOT_STRING:
    return "\"" + std::string(stringAt(tensor, index)) + "\"";
  case ONNX_AOT_BOOL:
    return number(index) != 0 ? "true" : "false";
  case ONNX_AOT_INT64:
    return std::to_string(static_cast<const int64_t *>(tensor.data)[index]);
  case ONNX_AOT_UINT64:
    return std::to_string(static_cast<const uint64_t *>(tensor.data)[index]);
  case ONNX_AOT_COMPLEX64:
  case ONNX_AOT_COMPLEX128:
    return format("%.6g%+.6gi", number(2 * index), number(2 * index + 1));
  default:
    return format(isFloat(tensor.type) ? "%.6g" : "%.0f", number(index));
  }
}

/// "[1, N, 3]"; an output's -1 is "?".
std::string shapeText(const json &shape) {
  std::string text;
  for (const json &dim : shape)
    text +=
        (text.empty() ? "" : ", ") + (dim.is_string() ? dim.get<std::string>()
                                      : dim.is_null() ? "?"
                                                      : dim.dump());
  return "[" + text + "]";
}

json valueInfo(const OnnxAotModule &module, const OnnxAotValueInfo &info,
               bool isInput) {
  json shape = json::array();
  for (int32_t d = 0; d < info.rank; ++d) {
    int64_t dim = info.dims[d];
    if (dim >= 0)
      shape.push_back(dim);
    else if (isInput)
      shape.push_back(module.symbols[-(dim + 1)]);
    else
      shape.push_back(nullptr);
  }
  json value = {{"name", info.name},
                {"type", onnxAotTypeName(info.type)},
                {"shape", shape}};
  if (info.flags & ONNX_AOT_VALUE_IN_OUT)
    value["updated"] = true;
  return value;
}

/// The indices of the five largest elements of a row of numbers.
std::string topFive(const OnnxAotTensor &tensor, int64_t count) {
  std::vector<int64_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  auto value = [&](int64_t i) {
    double v = elementAsDouble(tensor.type, tensor.data, i);
    return std::isnan(v) ? -INFINITY : v;
  };
  std::partial_sort(order.begin(), order.begin() + 5, order.end(),
                    [&](int64_t a, int64_t b) {
                      double x = value(a), y = value(b);
                      return x != y ? x > y : a < b;
                    });
  std::string text = "\n  top 5:";
  for (int i = 0; i < 5; ++i)
    text += (i ? ", " : " ") + std::to_string(order[i]) + " (" +
            elementText(tensor, order[i]) + ")";
  return text;
}

} // namespace

double Timing::medianMs() const {
  std::vector<double> sorted = runsMs;
  std::sort(sorted.begin(), sorted.end());
  size_t half = sorted.size() / 2;
  return sorted.size() % 2 ? sorted[half]
                           : (sorted[half - 1] + sorted[half]) / 2;
}

double Timing::minMs() const {
  return *std::min_element(runsMs.begin(), runsMs.end());
}

json moduleInfo(const runtime::Module &module, const runtime::Plan *plan) {
  json info = {{"name", module->name ? module->name : ""},
               {"target", module->target ? module->target : ""},
               {"inputs", json::array()},
               {"outputs", json::array()},
               {"symbols", json::array()},
               {"weight_bytes", module->weight_bytes},
               {"weights_file", nullptr},
               {"arena_bytes", nullptr}};
  for (int32_t i = 0; i < module->num_inputs; ++i)
    info["inputs"].push_back(
        valueInfo(module.descriptor(), module->inputs[i], true));
  for (int32_t i = 0; i < module->num_outputs; ++i) {
    info["outputs"].push_back(
        valueInfo(module.descriptor(), module->outputs[i], false));
    for (int32_t d = 0; plan && d < module->outputs[i].rank; ++d)
      if (plan->outputDims[i][d] >= 0)
        info["outputs"][i]["shape"][d] = plan->outputDims[i][d];
  }
  for (int32_t i = 0; i < module->num_symbols; ++i)
    info["symbols"].push_back(module->symbols[i]);
  if (module->weight_bytes && !module->weights)
    info["weights_file"] = module->weights_file;
  if (plan)
    info["arena_bytes"] = plan->arenaBytes;
  return info;
}

std::string moduleInfoText(const json &info) {
  std::string text = "model    " + info["name"].get<std::string>() +
                     "\ntarget   " + info["target"].get<std::string>() + "\n";
  for (const char *kind : {"inputs", "outputs"})
    for (const json &value : info[kind])
      text += std::string(kind == std::string("inputs") ? "input    "
                                                        : "output   ") +
              value["name"].get<std::string>() + ": " +
              value["type"].get<std::string>() + " " +
              shapeText(value["shape"]) + "\n";
  for (const json &symbol : info["symbols"])
    text += "symbol   " + symbol.get<std::string>() + "\n";
  text += "weights  " + info["weight_bytes"].dump() + " bytes" +
          (info["weights_file"].is_null()
               ? ""
               : " in " + info["weights_file"].get<std::string>()) +
          "\narena    ";
  return text + (info["arena_bytes"].is_null()
                     ? "depends on the symbolic dimensions (see --dim)\n"
                     : info["arena_bytes"].dump() + " bytes\n");
}

json timingJson(const Timing &timing, uint64_t arenaBytes,
                uint64_t weightBytes) {
  return {{"load_ms", timing.loadMs},       {"first_run_ms", timing.firstRunMs},
          {"median_ms", timing.medianMs()}, {"min_ms", timing.minMs()},
          {"runs", timing.runsMs.size()},   {"arena_bytes", arenaBytes},
          {"weight_bytes", weightBytes}};
}

std::string timingText(const json &timing) {
  return format(
      "load %.3f ms, first run %.3f ms, then median %.3f ms, "
      "min %.3f ms of %llu runs; arena %llu bytes, weights %llu "
      "bytes\n",
      timing["load_ms"].get<double>(), timing["first_run_ms"].get<double>(),
      timing["median_ms"].get<double>(), timing["min_ms"].get<double>(),
      timing["runs"].get<unsigned long long>(),
      timing["arena_bytes"].get<unsigned long long>(),
      timing["weight_bytes"].get<unsigned long long>());
}

std::string differenceText(const std::string &name,
                           const Difference &difference) {
  if (!difference.mismatch.empty())
    return name + ": DIFFERS: " + difference.mismatch + "\n";
  std::string ulp = difference.maxUlp == UINT64_MAX
                        ? std::string("inf")
                        : std::to_string(difference.maxUlp);
  std::string text = name + (difference.ok() ? ": ok: " : ": DIFFERS: ") +
                     format("max abs %.3g, max rel %.3g, max ulp ",
                            difference.maxAbs, difference.maxRel) +
                     ulp + format(" (largest expected %.3g)", difference.scale);
  if (difference.outside)
    text += format("; %lld of %lld elements are outside, worst at %lld: %.9g, "
                   "expected %.9g",
                   static_cast<long long>(difference.outside),
                   static_cast<long long>(difference.elements),
                   static_cast<long long>(difference.worst),
                   difference.worstFound, difference.worstExpected);
  return text + "\n";
}

json differenceJson(const std::string &name, const Difference &difference) {
  json result = {{"name", name}, {"ok", difference.ok()}};
  if (!difference.mismatch.empty()) {
    result["mismatch"] = difference.mismatch;
    return result;
  }
  // JSON has no infinity: null.
  auto number = [](double value) {
    return std::isfinite(value) ? json(value) : json();
  };
  result["max_abs"] = number(difference.maxAbs);
  result["max_rel"] = number(difference.maxRel);
  result["max_ulp"] =
      difference.maxUlp == UINT64_MAX ? json() : json(difference.maxUlp);
  result["scale"] = difference.scale;
  result["elements"] = difference.elements;
  result["outside"] = difference.outside;
  return result;
}

std::string tensorText(const std::string &name, const OnnxAotTensor &tensor) {
  int64_t count = 1;
  json shape = json::array();
  for (int32_t d = 0; d < tensor.rank; ++d) {
    shape.push_back(tensor.dims[d]);
    count *= tensor.dims[d];
  }
  std::string text = name + ": " + onnxAotTypeName(tensor.type) + " " +
                     shapeText(shape) + "\n ";
  constexpr int64_t shown = 8;
  for (int64_t i = 0; i < std::min(count, shown); ++i)
    text += " " + elementText(tensor, i);
  if (count > shown)
    text += " ...";
  if (tensor.rank == 2 && tensor.dims[0] == 1 && count > 5 &&
      isFloat(tensor.type))
    text += topFive(tensor, count);
  return text + "\n";
}

} // namespace onnx_aot::run

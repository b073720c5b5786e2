//===- CheckpointText.cpp - values of a checkpoint as text ----------------===//
#include "CheckpointText.h"

#include "Text.h"
#include "Types.h"

namespace onnx_aot::runtime {

namespace {

const std::string prefix = "onnx_aot.";
const std::string formatVersion = "1";
const char *const contentsNames[] = {"parameters", "training", "nominal"};
const char *const kindNames[] = {"int", "float", "string"}; // as in Property

/// Calls `visit(key, field)` for each number of the progress.
template <typename Target, typename Visit>
void forEachNumber(Target &progress, Visit visit) {
  visit("updates", progress.updates);
  visit("steps", progress.steps);
  visit("accumulated", progress.accumulated);
  visit("seed", progress.seed);
  visit("learning_rate", progress.learningRate);
  visit("schedule_position", progress.schedulePosition);
  visit("loss_scale", progress.lossScale);
  visit("loss_scale_interval", progress.lossScaleInterval);
  visit("steps_at_loss_scale", progress.stepsAtLossScale);
}

/// "float32 3 4".
std::string shapeKey(const CheckpointTensor &tensor) {
  std::string text = typeInfo(tensor.type)->name;
  for (int64_t dim : tensor.dims)
    text += concat(" ", dim);
  return text;
}

bool parseShape(const std::string &text, CheckpointTensor &tensor) {
  size_t end = text.find(' ');
  std::string name = text.substr(0, end);
  for (int32_t type = 1; typeInfo(type); ++type)
    if (name == typeInfo(type)->name && typeInfo(type)->bytes)
      tensor.type = type;
  while (end != text.npos) {
    size_t begin = end + 1;
    end = text.find(' ', begin);
    int64_t dim;
    if (!parseNumber(text.substr(begin, end == text.npos ? end : end - begin),
                     dim) ||
        dim < 0 || tensor.dims.size() == ONNX_AOT_MAX_RANK)
      return false;
    tensor.dims.push_back(dim);
  }
  return tensor.type;
}

bool parseProperty(size_t kind, const std::string &text, Property &property) {
  int64_t integer;
  float real;
  switch (kind) {
  case 0:
    property = int64_t();
    return parseNumber(text, integer) && (property = integer, true);
  case 1:
    return parseNumber(text, real) && (property = real, true);
  default:
    property = text;
    return true;
  }
}

/// True if `key` begins with `start` and '.'; `rest` is what follows.
bool splitKey(const std::string &key, const std::string &start,
              std::string &rest) {
  if (key.compare(0, start.size() + 1, start + "."))
    return false;
  rest = key.substr(start.size() + 1);
  return true;
}

Status wrongValue(const std::string &what, const std::string &key,
                  const std::string &value) {
  return invalidArgument(what, ": metadata ", quoted(key), " is ",
                         quoted(value), ", which is not understood");
}

} // namespace

bool isOwnKey(const std::string &key) {
  return !key.compare(0, prefix.size(), prefix);
}

std::map<std::string, std::string> writeMetadata(const Checkpoint &checkpoint) {
  std::map<std::string, std::string> metadata;
  auto put = [&](const std::string &key, const std::string &value) {
    metadata[prefix + key] = value;
  };
  put("format", formatVersion);
  put("contents", contentsNames[checkpoint.contents]);
  put("fingerprint", checkpoint.fingerprint);
  put("optimizer", checkpoint.optimizer);
  if (checkpoint.contents == Checkpoint::Training) {
    forEachNumber(checkpoint.progress, [&](const char *key, auto &value) {
      put(key, numberText(value));
    });
    put("schedule", checkpoint.progress.schedule);
  }
  for (const auto &[name, property] : checkpoint.properties) {
    std::string text = property.index() == 0 ? numberText(std::get<0>(property))
                       : property.index() == 1
                           ? numberText(std::get<1>(property))
                           : std::get<2>(property);
    put(concat("property.", kindNames[property.index()], ".", name), text);
  }
  if (checkpoint.contents == Checkpoint::Nominal)
    for (const CheckpointTensor &tensor : checkpoint.parameters)
      put("parameter." + tensor.name, shapeKey(tensor));
  return metadata;
}

Status readMetadata(const std::map<std::string, std::string> &metadata,
                    Checkpoint &checkpoint, const std::string &what) {
  auto format = metadata.find(prefix + "format");
  if (format == metadata.end())
    return invalidArgument(what, " does not say its format's version");
  if (format->second != formatVersion)
    return invalidArgument(what, " has format version ", quoted(format->second),
                           ", this runtime reads version ", formatVersion);
  bool hasContents = false;
  size_t numbers = 0;
  for (const auto &item : metadata) {
    const std::string &fullKey = item.first, &value = item.second;
    if (!isOwnKey(fullKey))
      continue;
    std::string key = fullKey.substr(prefix.size()), rest;
    bool good = true;
    if (key == "contents") {
      for (int i = 0; i < 3; ++i)
        if (value == contentsNames[i]) {
          checkpoint.contents = static_cast<Checkpoint::Contents>(i);
          hasContents = true;
        }
      good = hasContents;
    } else if (key == "fingerprint") {
      checkpoint.fingerprint = value;
    } else if (key == "optimizer") {
      checkpoint.optimizer = value;
    } else if (key == "schedule") {
      checkpoint.progress.schedule = value;
    } else if (splitKey(key, "parameter", rest)) {
      CheckpointTensor tensor;
      tensor.name = rest;
      good = parseShape(value, tensor);
      checkpoint.parameters.push_back(std::move(tensor));
    } else {
      for (size_t kind = 0; kind < 3; ++kind)
        if (splitKey(key, concat("property.", kindNames[kind]), rest)) {
          good = parseProperty(kind, value, checkpoint.properties[rest]);
          break;
        }
      forEachNumber(checkpoint.progress, [&](const char *name, auto &field) {
        if (key == name) {
          good = parseNumber(value, field);
          ++numbers;
        }
      });
    }
    if (!good)
      return wrongValue(what, fullKey, value);
  }
  if (!hasContents)
    return invalidArgument(what, " does not say what it contains");
  if (checkpoint.contents == Checkpoint::Training && numbers != 9)
    return invalidArgument(what, " lacks part of the training's progress");
  const Progress &progress = checkpoint.progress;
  if (progress.updates < 0 || progress.steps < 0 || progress.accumulated < 0 ||
      progress.schedulePosition < 0 || progress.stepsAtLossScale < 0)
    return invalidArgument(what, " counts a negative number of steps");
  return Status();
}

} // namespace onnx_aot::runtime

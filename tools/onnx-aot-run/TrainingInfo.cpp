//===- TrainingInfo.cpp - what a training module says of itself -----------===//
#include "TrainingInfo.h"

#include "Dataset.h"

namespace onnx_aot::run {

namespace {

Json shapeOf(const int64_t *dims, int32_t rank) {
  Json shape = Json::array();
  for (int32_t d = 0; d < rank; ++d)
    shape.push_back(dims[d] < 0 ? Json("?") : Json(dims[d]));
  return shape;
}

uint64_t bytesOf(int32_t type, const int64_t *dims, int32_t rank) {
  uint64_t bytes = onnxAotTypeBytes(type);
  for (int32_t d = 0; d < rank; ++d)
    bytes *= static_cast<uint64_t>(dims[d]);
  return bytes;
}

/// Arena and outputs of one program, and which optimizer state it has.
Json programInfo(const OnnxAotProgram &program) {
  const OnnxAotModule &module = *program.module;
  Json info = {
      {"arena_bytes", module.num_symbols ? Json() : Json(module.arena_bytes)},
      {"weight_bytes", module.weight_bytes},
      {"outputs", Json::array()}};
  for (int32_t i = 0; i < module.num_outputs; ++i)
    info["outputs"].push_back(module.outputs[i].name);
  return info;
}

/// Bytes of all optimizer state that one of the programs takes.
uint64_t slotBytes(const OnnxAotTraining &training) {
  const OnnxAotProgram &program =
      training.update.module ? training.update : training.fused;
  uint64_t bytes = 0;
  for (int32_t i = 0; program.module && i < program.module->num_inputs; ++i)
    if (program.inputs[i].role == ONNX_AOT_ROLE_SLOT) {
      const OnnxAotValueInfo &value = program.module->inputs[i];
      bytes += bytesOf(value.type, value.dims, value.rank);
    }
  return bytes;
}

std::string typeAndShape(const Json &value) {
  return value["type"].get<std::string>() + " " + value["shape"].dump();
}

} // namespace

Json trainingInfo(const runtime::TrainingModule &module) {
  const OnnxAotTraining &training = module.descriptor();
  Json info = {{"name", training.name},           {"loss", training.loss},
               {"optimizer", training.optimizer}, {"inputs", Json::array()},
               {"targets", Json::array()},        {"parameters", Json::array()},
               {"slots", Json::array()},          {"programs", Json::object()}};
  for (int32_t i = 0; i < training.num_inputs; ++i) {
    Json input = {{"name", training.inputs[i]}};
    if (const OnnxAotValueInfo *value = findInputInfo(training, i)) {
      input["type"] = onnxAotTypeName(value->type);
      input["shape"] = shapeOf(value->dims, value->rank);
    }
    info[i < training.num_inputs - training.num_targets ? "inputs" : "targets"]
        .push_back(input);
  }
  static const char *const kinds[] = {"trainable", "frozen", "state"};
  uint64_t parameterBytes = 0, gradientBytes = 0;
  for (int32_t i = 0; i < training.num_parameters; ++i) {
    const OnnxAotParameterInfo &value = training.parameters[i];
    uint64_t bytes = bytesOf(value.type, value.dims, value.rank);
    parameterBytes += bytes;
    if (value.kind == ONNX_AOT_PARAMETER_TRAINABLE && training.train.module)
      gradientBytes += bytes;
    info["parameters"].push_back({{"name", value.name},
                                  {"type", onnxAotTypeName(value.type)},
                                  {"shape", shapeOf(value.dims, value.rank)},
                                  {"kind", kinds[value.kind]},
                                  {"group", value.group}});
  }
  for (int32_t i = 0; i < training.num_slots; ++i)
    info["slots"].push_back(training.slots[i]);
  const std::pair<const char *, const OnnxAotProgram *> programs[] = {
      {"train", &training.train},
      {"eval", &training.eval},
      {"update", &training.update},
      {"fused", &training.fused},
      {"infer", &training.infer}};
  for (auto [name, program] : programs)
    if (program->module)
      info["programs"][name] = programInfo(*program);
  info["parameter_bytes"] = parameterBytes;
  info["gradient_bytes"] = gradientBytes;
  info["slot_bytes"] = slotBytes(training);
  info["has_model"] = training.model != nullptr;
  return info;
}

std::string trainingInfoText(const Json &info) {
  std::string text = "model     " + info["name"].get<std::string>() +
                     "\nloss      " + info["loss"].get<std::string>() +
                     "\noptimizer " + info["optimizer"].get<std::string>() +
                     "\n";
  for (const char *kind : {"inputs", "targets"})
    for (const Json &value : info[kind])
      text += (kind == std::string("inputs") ? "input     " : "target    ") +
              value["name"].get<std::string>() +
              (value.contains("type") ? ": " + typeAndShape(value) : "") + "\n";
  for (const Json &value : info["parameters"])
    text += "parameter " + value["name"].get<std::string>() + ": " +
            typeAndShape(value) + ", " + value["kind"].get<std::string>() +
            "\n";
  for (const auto &[name, program] : info["programs"].items())
    text += "program   " + name + ": arena " +
            (program["arena_bytes"].is_null()
                 ? std::string("depends on the batch")
                 : program["arena_bytes"].dump() + " bytes") +
            "\n";
  return text + "memory    parameters " + info["parameter_bytes"].dump() +
         ", gradients " + info["gradient_bytes"].dump() + ", optimizer state " +
         info["slot_bytes"].dump() + " bytes\n";
}

} // namespace onnx_aot::run

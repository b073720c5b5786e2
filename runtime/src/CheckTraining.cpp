//===- CheckTraining.cpp - can this runtime train with a module -----------===//
#include "LoadedTraining.h"
#include "Text.h"
#include "Types.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace onnx_aot::runtime {

namespace {

/// What a role stands for: a number of this type with so many elements, or
/// (type 0) something that is checked by its role.
struct RoleInfo {
  const char *name;
  int32_t type;
  int64_t elements;
  bool isInput, isOutput;
};

const RoleInfo *roleInfo(int32_t role) {
  static const RoleInfo table[] = {
      {"a value of the caller", 0, 0, true, true},
      {"a parameter", 0, 0, true, false},
      {"a gradient", 0, 0, true, false},
      {"optimizer state", 0, 0, true, false},
      {"the accumulation flag", ONNX_AOT_BOOL, 1, true, false},
      {"the learning rate", ONNX_AOT_FLOAT32, 1, true, false},
      {"the step", ONNX_AOT_INT64, 1, true, false},
      {"the seed", ONNX_AOT_INT64, 2, true, false},
      {"the loss scale", ONNX_AOT_FLOAT32, 1, true, false},
      {"the gradient scale", ONNX_AOT_FLOAT32, 1, true, false},
      {"the loss", 0, 0, false, true},
      {"the gradient norm", ONNX_AOT_FLOAT32, 1, false, true},
      {"the update flag", ONNX_AOT_BOOL, 1, false, true}};
  constexpr int32_t count = sizeof(table) / sizeof(table[0]);
  return role >= 0 && role < count ? &table[role] : nullptr;
}

bool sameShape(const OnnxAotValueInfo &value, int32_t type, int32_t rank,
               const int64_t *dims) {
  return value.type == type && value.rank == rank &&
         std::equal(dims, dims + rank, value.dims);
}

/// Elements of a value of fixed shape; -1 for others.
int64_t elementsOf(const OnnxAotValueInfo &value) {
  return static_cast<int64_t>(
      tensorBytes(1, value.dims, value.rank).value_or(UINT64_MAX));
}

class Checker {
public:
  Checker(const OnnxAotTraining &training, SlotTable &slots)
      : training(training), slots(slots) {}

  Status checkFields();
  Status checkProgram(const OnnxAotProgram &program, const char *name);
  Status checkInfer();

private:
  Status checkParameter(const OnnxAotParameterInfo &info);
  Status checkAdapter(const OnnxAotAdapter &adapter);
  Status checkBinding(const OnnxAotValueInfo &value,
                      const OnnxAotBinding &binding, bool isInput,
                      const std::string &who);
  Status checkState(const OnnxAotValueInfo &value,
                    const OnnxAotBinding &binding, const std::string &who);

  const OnnxAotTraining &training;
  SlotTable &slots;
  bool mayUpdate = true; ///< false for a program that only evaluates
};

Status Checker::checkParameter(const OnnxAotParameterInfo &info) {
  if (!info.name)
    return invalidModule("a parameter has no name");
  std::string who = concat("parameter ", quoted(info.name));
  const TypeInfo *type = typeInfo(info.type);
  if (!type || !type->bytes)
    return invalidModule(who, " has unknown type ", info.type);
  if (info.rank < 0 || info.rank > ONNX_AOT_MAX_RANK ||
      (info.rank && !info.dims) ||
      !tensorBytes(type->bytes, info.dims, info.rank))
    return invalidModule(who, " has no valid shape");
  if (info.kind < ONNX_AOT_PARAMETER_TRAINABLE ||
      info.kind > ONNX_AOT_PARAMETER_STATE)
    return invalidModule(who, " has unknown kind ", info.kind);
  return Status();
}

/// Both matrices are parameters of one type, and of shapes that fit.
Status Checker::checkAdapter(const OnnxAotAdapter &adapter) {
  if (!adapter.weight)
    return invalidModule("an adapter has no name");
  for (int32_t index : {adapter.a, adapter.b})
    if (index < 0 || index >= training.num_parameters ||
        training.parameters[index].rank != 2)
      return invalidModule("the adapter of ", quoted(adapter.weight),
                           " has no matrices");
  const OnnxAotParameterInfo &a = training.parameters[adapter.a],
                             &b = training.parameters[adapter.b];
  if (a.type != b.type || a.dims[0] != b.dims[1] ||
      (a.type != ONNX_AOT_FLOAT32 && a.type != ONNX_AOT_FLOAT64) ||
      a.dims[0] < 1 || a.dims[1] < 1)
    return invalidModule("the adapter of ", quoted(adapter.weight),
                         " has matrices that do not fit");
  return Status();
}

Status Checker::checkFields() {
  if (training.abi_version != ONNX_AOT_ABI_VERSION)
    return invalidModule("it has binary interface version ",
                         training.abi_version, ", this runtime supports ",
                         ONNX_AOT_ABI_VERSION);
  if (training.struct_bytes != sizeof(OnnxAotTraining))
    return invalidModule("its descriptor has ", training.struct_bytes,
                         " bytes, this runtime expects ",
                         sizeof(OnnxAotTraining));
  if (training.num_parameters < 0 || training.num_slots < 0 ||
      training.num_inputs < 0 || training.num_targets < 0 ||
      training.num_targets > training.num_inputs)
    return invalidModule("it has a wrong number of parameters, inputs, targets "
                         "or slots");
  if (!training.name || !training.loss || !training.optimizer ||
      (training.num_parameters && !training.parameters) ||
      (training.num_slots && !training.slots) ||
      (training.num_inputs && !training.inputs) ||
      (training.model_bytes && !training.model))
    return invalidModule("its descriptor lacks a text or table");
  if (!training.train.module && !training.fused.module)
    return invalidModule("it has no program that trains");
  for (int32_t i = 0; i < training.num_slots; ++i)
    if (!training.slots[i])
      return invalidModule("slot ", i, " has no name");
  std::set<std::string> names;
  for (int32_t i = 0; i < training.num_inputs; ++i)
    if (!training.inputs[i])
      return invalidModule("input ", i, " has no name");
  for (int32_t i = 0; i < training.num_parameters; ++i) {
    if (Status status = checkParameter(training.parameters[i]); !status.ok())
      return status;
    if (!names.insert(training.parameters[i].name).second)
      return invalidModule("parameter ", quoted(training.parameters[i].name),
                           " is there twice");
  }
  if (training.num_adapters < 0 ||
      (training.num_adapters && !training.adapters))
    return invalidModule("its adapters are missing");
  for (int32_t i = 0; i < training.num_adapters; ++i)
    if (Status status = checkAdapter(training.adapters[i]); !status.ok())
      return status;
  slots.assign(size_t(training.num_parameters) * size_t(training.num_slots),
               nullptr);
  return Status();
}

/// Checks what belongs to a parameter.
Status Checker::checkState(const OnnxAotValueInfo &value,
                           const OnnxAotBinding &binding,
                           const std::string &who) {
  if (binding.index < 0 || binding.index >= training.num_parameters)
    return invalidModule(who, " belongs to parameter ", binding.index, " of ",
                         training.num_parameters);
  const OnnxAotParameterInfo &info = training.parameters[binding.index];
  bool isParameter = binding.role == ONNX_AOT_ROLE_PARAMETER;
  if (!isParameter && info.kind != ONNX_AOT_PARAMETER_TRAINABLE)
    return invalidModule(who, " belongs to ", quoted(info.name),
                         ", which is not trainable");
  if (binding.role != ONNX_AOT_ROLE_SLOT) {
    if (!sameShape(value, info.type, info.rank, info.dims))
      return invalidModule(who, " has not the type and shape of parameter ",
                           quoted(info.name));
    return Status();
  }
  if (binding.slot < 0 || binding.slot >= training.num_slots)
    return invalidModule(who, " is slot ", binding.slot, " of ",
                         training.num_slots);
  const OnnxAotValueInfo *&known =
      slots[size_t(binding.index) * size_t(training.num_slots) +
            size_t(binding.slot)];
  if (!known)
    known = &value;
  if (elementsOf(value) < 0 ||
      !sameShape(value, known->type, known->rank, known->dims))
    return invalidModule(who, " has another type or shape than in another "
                              "place, or none that is fixed");
  return Status();
}

Status Checker::checkBinding(const OnnxAotValueInfo &value,
                             const OnnxAotBinding &binding, bool isInput,
                             const std::string &who) {
  const RoleInfo *role = roleInfo(binding.role);
  if (!role || !(isInput ? role->isInput : role->isOutput))
    return invalidModule(who, " has role ", binding.role,
                         ", which it cannot have");
  bool updates = value.flags & ONNX_AOT_VALUE_IN_OUT;
  bool isState = binding.role >= ONNX_AOT_ROLE_PARAMETER &&
                 binding.role <= ONNX_AOT_ROLE_SLOT;
  if (updates && !(isState && mayUpdate))
    return invalidModule(who, " is updated in place, which it cannot be");
  if (role->type &&
      (value.type != role->type || elementsOf(value) != role->elements))
    return invalidModule(who, " is ", role->name, " and not of its type (",
                         typeInfo(role->type)->name, ")");
  if (isState)
    return checkState(value, binding, who);
  if (binding.role == ONNX_AOT_ROLE_USER && isInput &&
      (binding.index < 0 || binding.index >= training.num_inputs))
    return invalidModule(who, " is input ", binding.index, " of ",
                         training.num_inputs);
  return Status();
}

Status Checker::checkProgram(const OnnxAotProgram &program, const char *name) {
  const OnnxAotModule *module = program.module;
  if (!module)
    return Status();
  if ((module->num_inputs && !program.inputs) ||
      (module->num_outputs && !program.outputs))
    return invalidModule("program ", name, " has no bindings");
  mayUpdate = &program != &training.eval && &program != &training.infer;
  // Nothing may be bound twice, and the outputs for the caller are numbered.
  std::set<std::tuple<bool, int32_t, int32_t, int32_t>> bound;
  int32_t userOutputs = 0;
  for (bool isInput : {true, false}) {
    int32_t count = isInput ? module->num_inputs : module->num_outputs;
    for (int32_t i = 0; i < count; ++i) {
      const OnnxAotValueInfo &value =
          isInput ? module->inputs[i] : module->outputs[i];
      const OnnxAotBinding &binding =
          isInput ? program.inputs[i] : program.outputs[i];
      std::string who =
          concat("program ", name, ": ", isInput ? "input " : "output ",
                 quoted(value.name));
      if (Status status = checkBinding(value, binding, isInput, who);
          !status.ok())
        return status;
      bool hasIndex = binding.role <= ONNX_AOT_ROLE_SLOT;
      bool hasSlot = binding.role == ONNX_AOT_ROLE_SLOT;
      if (!bound
               .insert({isInput, binding.role, hasIndex ? binding.index : -1,
                        hasSlot ? binding.slot : -1})
               .second)
        return invalidModule(who, " is bound like another");
      userOutputs += !isInput && binding.role == ONNX_AOT_ROLE_USER;
    }
  }
  for (int32_t i = 0; i < userOutputs; ++i)
    if (!bound.count({false, ONNX_AOT_ROLE_USER, i, -1}))
      return invalidModule("program ", name, " has ", userOutputs,
                           " outputs for the caller, but no output ", i);
  return Status();
}

/// What a session runs has no other inputs than the model's and parameters.
Status Checker::checkInfer() {
  const OnnxAotModule *module = training.infer.module;
  if (!module)
    return Status();
  bool inParameters = false;
  for (int32_t i = 0; i < module->num_inputs; ++i) {
    const OnnxAotBinding &binding = training.infer.inputs[i];
    bool isParameter = binding.role == ONNX_AOT_ROLE_PARAMETER;
    if (!isParameter && (binding.role != ONNX_AOT_ROLE_USER || inParameters ||
                         binding.index != i))
      return invalidModule("program infer: input ",
                           quoted(module->inputs[i].name),
                           " is at a wrong place");
    inParameters |= isParameter;
  }
  for (int32_t i = 0; i < module->num_outputs; ++i)
    if (training.infer.outputs[i].role != ONNX_AOT_ROLE_USER ||
        training.infer.outputs[i].index != i)
      return invalidModule("program infer: output ",
                           quoted(module->outputs[i].name),
                           " is at a wrong place");
  return Status();
}

} // namespace

Status checkTraining(const OnnxAotTraining &training, SlotTable &slots) {
  Checker checker(training, slots);
  if (Status status = checker.checkFields(); !status.ok())
    return status;
  const std::pair<const OnnxAotProgram *, const char *> programs[] = {
      {&training.train, "train"},
      {&training.eval, "eval"},
      {&training.update, "update"},
      {&training.fused, "fused"},
      {&training.infer, "infer"}};
  bool withDevice = false, withoutDevice = false;
  for (auto [program, name] : programs) {
    if (Status status = checker.checkProgram(*program, name); !status.ok())
      return status;
    if (program->module)
      (program->module->device_code ? withDevice : withoutDevice) = true;
  }
  // State stays on the device from program to program.
  if (withDevice && withoutDevice)
    return invalidModule("some of its programs have device code, others none");
  return checker.checkInfer();
}

} // namespace onnx_aot::runtime

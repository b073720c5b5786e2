//===- CApi.cpp - C interface of the runtime library ----------------------===//
#include "onnx-aot/runtime/Session.h"

#include "CApiSupport.h"
#include "CheckCall.h"
#include "Text.h"
#include "Types.h"

#include <new>

using namespace onnx_aot::runtime;

struct OnnxAotSession {
  Session session;
};

extern "C" {

const char *onnxAotVersion(void) { return ONNX_AOT_RUNTIME_VERSION; }

OnnxAotCode onnxAotModuleLoad(const char *path, const char *prefix,
                              OnnxAotLoadedModule **module,
                              OnnxAotError *error) {
  return guarded(error, [&] {
    if (!path || !module)
      return nullArgument(path ? "module" : "path");
    return publish(Module::load(path, prefix ? prefix : ""), module);
  });
}

OnnxAotCode onnxAotModuleFromLinked(const OnnxAotModule *descriptor,
                                    const char *weights_folder,
                                    OnnxAotLoadedModule **module,
                                    OnnxAotError *error) {
  return guarded(error, [&] {
    if (!descriptor || !module)
      return nullArgument(descriptor ? "module" : "descriptor");
    return publish(
        Module::fromLinked(*descriptor, weights_folder ? weights_folder : ""),
        module);
  });
}

void onnxAotModuleRelease(OnnxAotLoadedModule *module) { delete module; }

const OnnxAotModule *
onnxAotModuleDescriptor(const OnnxAotLoadedModule *module) {
  return module ? &module->module.descriptor() : nullptr;
}

int32_t onnxAotModuleFindInput(const OnnxAotLoadedModule *module,
                               const char *name) {
  return findByName(module, name, &Module::findInput);
}

int32_t onnxAotModuleFindOutput(const OnnxAotLoadedModule *module,
                                const char *name) {
  return findByName(module, name, &Module::findOutput);
}

int32_t onnxAotModuleFindSymbol(const OnnxAotLoadedModule *module,
                                const char *name) {
  return findByName(module, name, &Module::findSymbol);
}

OnnxAotCode onnxAotModulePlan(const OnnxAotLoadedModule *module,
                              const int64_t *symbols, int32_t num_symbols,
                              int64_t *output_dims, uint64_t *arena_bytes,
                              OnnxAotError *error) {
  return guarded(error, [&] {
    if (!module)
      return nullArgument("module");
    int32_t expected = module->module->num_symbols;
    if (num_symbols != expected)
      return invalidArgument(
          num_symbols, " symbol values are given, the model has ", expected);
    if (num_symbols && !symbols)
      return nullArgument("symbols");
    Expected<Plan> plan = module->module.plan(
        std::vector<int64_t>(symbols, symbols + num_symbols));
    if (!plan)
      return plan.status();
    if (arena_bytes)
      *arena_bytes = plan->arenaBytes;
    for (const std::vector<int64_t> &dims : plan->outputDims)
      for (int64_t dim : dims)
        if (output_dims)
          *output_dims++ = dim;
    return Status();
  });
}

uint64_t onnxAotTypeBytes(int32_t type) {
  const TypeInfo *info = typeInfo(type);
  return info ? info->bytes : 0;
}

const char *onnxAotTypeName(int32_t type) {
  const TypeInfo *info = typeInfo(type);
  return info ? info->name : "unknown";
}

int32_t onnxAotUsableCores(void) { return usableCores(); }

void onnxAotSessionOptionsInit(OnnxAotSessionOptions *options) {
  if (!options)
    return;
  *options = {};
  options->struct_bytes = sizeof(OnnxAotSessionOptions);
  options->threads = usableCores();
}

OnnxAotCode onnxAotSessionCreate(OnnxAotLoadedModule *module,
                                 const OnnxAotSessionOptions *options,
                                 OnnxAotSession **session,
                                 OnnxAotError *error) {
  return guarded(error, [&] {
    if (!module || !session)
      return nullArgument(module ? "session" : "module");
    SessionOptions chosen;
    if (options) {
      if (options->struct_bytes != sizeof(OnnxAotSessionOptions))
        return invalidArgument("the session options have ",
                               options->struct_bytes, " bytes instead of ",
                               sizeof(OnnxAotSessionOptions),
                               ": start from onnxAotSessionOptionsInit");
      chosen.threads = options->threads;
      chosen.arena = options->arena;
      chosen.arenaBytes = options->arena_bytes;
      chosen.stream = options->stream;
    }
    Expected<Session> created = Session::create(module->module, chosen);
    if (!created)
      return created.status();
    *session = new OnnxAotSession{std::move(*created)};
    return Status();
  });
}

void onnxAotSessionRelease(OnnxAotSession *session) { delete session; }

OnnxAotCode onnxAotSessionRun(OnnxAotSession *session,
                              const OnnxAotTensor *inputs, int32_t num_inputs,
                              OnnxAotTensor *outputs, int32_t num_outputs,
                              OnnxAotError *error) {
  return guarded(error, [&] {
    if (!session)
      return nullArgument("session");
    if (num_inputs < 0 || num_outputs < 0)
      return invalidArgument(
          "the number of ", num_inputs < 0 ? "inputs" : "outputs",
          " is negative (", num_inputs < 0 ? num_inputs : num_outputs, ")");
    return session->session.run(inputs, static_cast<size_t>(num_inputs),
                                outputs, static_cast<size_t>(num_outputs));
  });
}

uint64_t onnxAotSessionArenaBytes(const OnnxAotSession *session) {
  return session ? session->session.arenaBytes() : 0;
}

} // extern "C"

//===- Module.cpp - a compiled model with its weights ---------------------===//
#include "onnx-aot/runtime/Module.h"

#include "CheckCall.h"
#include "LoadedModule.h"
#include "Text.h"

namespace onnx_aot::runtime {

std::string folderOf(const std::string &path) {
  size_t slash = path.rfind('/');
  if (slash == std::string::npos)
    return ".";
  return slash ? path.substr(0, slash) : "/";
}

Expected<std::shared_ptr<const LoadedModule>>
finishModule(std::shared_ptr<const SharedObject> library,
             const OnnxAotModule &descriptor, const std::string &where,
             const std::string &weightsFolder) {
  if (Status status = checkDescriptor(descriptor, where); !status.ok())
    return status;
  std::optional<WeightsFile> file;
  if (descriptor.weight_bytes && !descriptor.weights) {
    if (weightsFolder.empty())
      return invalidArgument("module ", where, " has its weights in the file ",
                             quoted(descriptor.weights_file),
                             ": give the folder where that lies");
    Expected<WeightsFile> opened = WeightsFile::open(descriptor, weightsFolder);
    if (!opened)
      return opened.status();
    file.emplace(std::move(*opened));
  }
  return std::shared_ptr<const LoadedModule>(std::make_shared<LoadedModule>(
      std::move(library), descriptor, std::move(file)));
}

namespace {

int32_t findValue(const OnnxAotValueInfo *values, int32_t count,
                  const std::string &name) {
  for (int32_t i = 0; i < count; ++i)
    if (name == values[i].name)
      return i;
  return -1;
}

} // namespace

Expected<Module> Module::load(const std::string &path,
                              const std::string &prefix) {
  Expected<SharedObject> library = SharedObject::open(path);
  if (!library)
    return library.status();
  Expected<const OnnxAotModule *> descriptor = library->findModule(prefix);
  if (!descriptor)
    return descriptor.status();
  auto loaded =
      finishModule(std::make_shared<SharedObject>(std::move(*library)),
                   **descriptor, quoted(path), folderOf(path));
  if (!loaded)
    return loaded.status();
  return Module(std::move(*loaded));
}

Expected<Module> Module::fromLinked(const OnnxAotModule &descriptor,
                                    const std::string &weightsFolder) {
  auto loaded = finishModule(nullptr, descriptor, "linked into the program",
                             weightsFolder);
  if (!loaded)
    return loaded.status();
  return Module(std::move(*loaded));
}

const OnnxAotModule &Module::descriptor() const { return loaded->get(); }

const void *Module::weights() const { return loaded->weights(); }

int32_t Module::findInput(const std::string &name) const {
  return findValue(descriptor().inputs, descriptor().num_inputs, name);
}

int32_t Module::findOutput(const std::string &name) const {
  return findValue(descriptor().outputs, descriptor().num_outputs, name);
}

int32_t Module::findSymbol(const std::string &name) const {
  for (int32_t i = 0; i < descriptor().num_symbols; ++i)
    if (name == descriptor().symbols[i])
      return i;
  return -1;
}

Expected<Plan> Module::plan(const std::vector<int64_t> &symbols) const {
  const OnnxAotModule &module = descriptor();
  Plan plan;
  std::vector<int64_t> dims;
  for (int32_t i = 0; i < module.num_outputs; ++i)
    dims.insert(dims.end(), module.outputs[i].dims,
                module.outputs[i].dims + module.outputs[i].rank);
  if (Status status = planModule(module, symbols.data(), symbols.size(),
                                 dims.data(), &plan.arenaBytes);
      !status.ok())
    return status;
  auto next = dims.begin();
  for (int32_t i = 0; i < module.num_outputs; ++i) {
    plan.outputDims.emplace_back(next, next + module.outputs[i].rank);
    next += module.outputs[i].rank;
  }
  return plan;
}

} // namespace onnx_aot::runtime

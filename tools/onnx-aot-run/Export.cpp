//===- Export.cpp - a trained model as a file -----------------------------===//
#include "Export.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace onnx_aot::run {

namespace {

std::string suffixOf(const std::string &path) {
  return std::filesystem::path(path).extension().string();
}

bool isCompiled(const std::string &path) {
  std::string suffix = suffixOf(path);
  return suffix == ".so" || suffix == ".o" || suffix == ".a";
}

/// The compiler beside this program; else its name, for PATH to find.
std::string findCompiler() {
  std::error_code error;
  std::filesystem::path own =
      std::filesystem::read_symlink("/proc/self/exe", error);
  std::filesystem::path beside = own.parent_path() / "onnx-aot-compile";
  return !error && access(beside.c_str(), X_OK) == 0 ? beside.string()
                                                     : "onnx-aot-compile";
}

/// Compiles and waits; the compiler says itself what it refuses.
Status compile(const std::string &model, const std::string &path) {
  std::string compiler = findCompiler();
  std::string words[] = {compiler, model, "-o", path};
  char *arguments[5] = {};
  for (int i = 0; i < 4; ++i)
    arguments[i] = words[i].data();
  pid_t child = 0;
  if (int error = posix_spawnp(&child, compiler.c_str(), nullptr, nullptr,
                               arguments, environ))
    return userError("cannot run '" + compiler + "': " + std::strerror(error) +
                     " (export to .onnx needs no compiler)");
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR)
      return userError(std::string("cannot wait for the compiler: ") +
                       std::strerror(errno));
  if (!WIFEXITED(status) || WEXITSTATUS(status))
    return userError("the trained model could not be compiled to '" + path +
                     "'");
  return Status();
}

} // namespace

Status checkExport(const runtime::TrainingModule &module,
                   const std::string &path, const std::string &source) {
  if (!isCompiled(path) && suffixOf(path) != ".onnx")
    return userError("--export '" + path +
                     "': the name says what is written: .onnx, or .so, .o or "
                     ".a for a compiled module");
  if (source.empty() && !module->model)
    return userError("--export: the module does not keep its model: give the "
                     "ONNX file that was compiled as --model");
  return Status();
}

Status exportTrained(runtime::Trainer &trainer, const std::string &path,
                     const std::string &source) {
  if (!isCompiled(path))
    return trainer.exportModel(path, source);
  std::string model = path + "." + std::to_string(getpid()) + ".onnx";
  if (Status status = trainer.exportModel(model, source); !status.ok())
    return status;
  Status status = compile(model, path);
  unlink(model.c_str());
  return status;
}

std::string initialCheckpoint(const std::string &module) {
  return module.substr(0, module.rfind('.')) + ".safetensors";
}

Expected<int> exportCheckpoint(const Options &options) {
  const TrainOptions &chosen = options.train;
  auto module = runtime::TrainingModule::load(options.module, options.prefix);
  if (!module)
    return module.status();
  if (Status status = checkExport(*module, chosen.exported, chosen.model);
      !status.ok())
    return status;
  auto trainer = runtime::Trainer::create(*module);
  if (!trainer)
    return trainer.status();
  runtime::LoadOptions only;
  only.parametersOnly = true;
  if (Status status = trainer->load(chosen.checkpoint.empty()
                                        ? initialCheckpoint(options.module)
                                        : chosen.checkpoint,
                                    only);
      !status.ok())
    return status;
  if (Status status = exportTrained(*trainer, chosen.exported, chosen.model);
      !status.ok())
    return status;
  return 0;
}

} // namespace onnx_aot::run

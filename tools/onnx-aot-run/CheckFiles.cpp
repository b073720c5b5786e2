//===- CheckFiles.cpp - what a run reads and writes -----------------------===//
#include "CheckFiles.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <unistd.h>

namespace onnx_aot::run {

namespace {

namespace fs = std::filesystem;

/// A file and the option that names it.
struct UsedFile {
  std::string what, path;
  bool mustBeRegular = true; ///< else it may be a device or a pipe
};

std::string describe(const UsedFile &file) {
  return file.what + " '" + file.path + "'";
}

fs::path withSuffix(const std::string &path, const char *suffix) {
  return fs::path(path).replace_extension(suffix);
}

void add(std::vector<UsedFile> &files, const char *what,
         const std::string &path, bool mustBeRegular = true) {
  if (!path.empty())
    files.push_back({what, path, mustBeRegular});
}

std::vector<UsedFile> listInputs(const Options &options) {
  const TrainOptions &train = options.train;
  std::vector<UsedFile> files{
      {"MODULE", options.module},
      {"the module's weights", withSuffix(options.module, ".weights")}};
  // A name may hold '=', and so may a path.
  for (const std::string &input : options.inputs)
    for (size_t at = input.find('='); at != input.npos;
         at = input.find('=', at + 1))
      add(files, "--input", input.substr(at + 1));
  for (const std::string &library : options.libraries)
    add(files, "--library", library);
  add(files, "--inputs", options.inputsFile);
  add(files, "--expect", options.expectFile);
  add(files, "--train", train.data);
  add(files, "--eval", train.eval);
  add(files, "--checkpoint", train.checkpoint);
  add(files, "--model", train.model);
  if (!train.data.empty() || !train.exported.empty())
    files.push_back({"the module's initial parameters",
                     withSuffix(options.module, ".safetensors")});
  return files;
}

std::vector<UsedFile> listOutputs(const Options &options) {
  const TrainOptions &train = options.train;
  std::vector<UsedFile> files;
  add(files, "--outputs", options.outputsFile);
  add(files, "--save", train.save);
  add(files, "--metrics", train.metrics, false);
  add(files, "--plot", train.plot, false);
  add(files, "--export", train.exported);
  std::string suffix = fs::path(train.exported).extension();
  if (suffix == ".o" || suffix == ".a")
    files.push_back(
        {"the header of --export", withSuffix(train.exported, ".h")});
  return files;
}

bool isDeviceOrPipe(const std::string &path) {
  std::error_code error;
  fs::file_status status = fs::status(path, error);
  return fs::exists(status) && !fs::is_regular_file(status) &&
         !fs::is_directory(status);
}

/// Whether two names lead to one file.
bool isSameFile(const UsedFile &a, const UsedFile &b) {
  if (isDeviceOrPipe(a.path) || isDeviceOrPipe(b.path))
    return false; // nothing is lost there
  std::error_code error;
  if (fs::equivalent(a.path, b.path, error) && !error)
    return true;
  // One that is yet to be made: links in its folders are followed.
  fs::path first = fs::weakly_canonical(fs::absolute(a.path, error), error);
  fs::path second = fs::weakly_canonical(fs::absolute(b.path, error), error);
  return !error && first == second;
}

/// The folder is there and takes files; what is there can be replaced.
Status checkPlace(const UsedFile &file) {
  std::error_code error;
  std::string folder = fs::path(file.path).parent_path();
  if (folder.empty())
    folder = ".";
  auto refuse = [&](const std::string &reason) {
    return userError("cannot write " + describe(file) + ": " + reason);
  };
  if (fs::is_directory(file.path, error))
    return refuse("it is a folder");
  if (isDeviceOrPipe(file.path))
    return file.mustBeRegular ? refuse("it is a device or a pipe") : Status();
  if (!fs::is_directory(folder, error))
    return refuse("there is no folder '" + folder + "'");
  if (access(folder.c_str(), W_OK))
    return refuse("the folder '" + folder + "': " + std::strerror(errno));
  return Status();
}

bool mayReplace(const UsedFile &output, const UsedFile &input) {
  return output.what == "--save" && input.what == "--checkpoint";
}

/// What a training would miss only when it needs it.
Status checkReadable(const UsedFile &file) {
  for (const char *what : {"--train", "--eval", "--checkpoint", "--model"})
    if (file.what == what && access(file.path.c_str(), R_OK))
      return userError("cannot open " + describe(file) + ": " +
                       std::strerror(errno));
  return Status();
}

} // namespace

Status checkFiles(const Options &options) {
  std::vector<UsedFile> inputs = listInputs(options);
  std::vector<UsedFile> outputs = listOutputs(options);
  for (const UsedFile &input : inputs)
    if (Status status = checkReadable(input); !status.ok())
      return status;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (Status status = checkPlace(outputs[i]); !status.ok())
      return status;
    std::vector<UsedFile> others = inputs;
    others.insert(others.end(), outputs.begin(), outputs.begin() + i);
    for (const UsedFile &other : others)
      if (!mayReplace(outputs[i], other) && isSameFile(outputs[i], other))
        return userError(describe(outputs[i]) + " would overwrite " +
                         describe(other));
  }
  return Status();
}

} // namespace onnx_aot::run

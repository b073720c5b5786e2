//===- CheckFiles.cpp - what an invocation reads and writes ---------------===//

#include "CheckFiles.h"
#include "Compilation.h"

#include "onnx-aot/Emit/Artifact.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <set>

using namespace onnx_aot;
using llvm::StringRef;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

namespace {
/// A file and what it is to the invocation.
struct UsedFile {
  std::string what; ///< in words, such as "the model"
  std::string path;
  bool mustBeRegular = true; ///< else it may be a device, a pipe or "-"
};
} // namespace

static std::string describe(const UsedFile &file) {
  return file.path == "-" ? file.what + " (standard output)"
                          : file.what + " '" + file.path + "'";
}

/// The path without links, also of a file that is yet to be made.
static std::string getCanonicalPath(StringRef name) {
  llvm::SmallString<128> real;
  StringRef folder = path::parent_path(name);
  if (!fs::real_path(name, real))
    return real.str().str();
  if (fs::real_path(folder.empty() ? "." : folder, real))
    return name.str();
  path::append(real, path::filename(name));
  return real.str().str();
}

static bool isDeviceOrPipe(StringRef name) {
  fs::file_status status;
  return !fs::status(name, status) &&
         status.type() != fs::file_type::regular_file &&
         status.type() != fs::file_type::directory_file;
}

/// Whether two names lead to one file.
static bool isSameFile(const UsedFile &a, const UsedFile &b) {
  if (a.path == "-" || b.path == "-")
    return a.path == b.path;
  if (isDeviceOrPipe(a.path) || isDeviceOrPipe(b.path))
    return false; // nothing is lost there
  bool isSame = false;
  if (!fs::equivalent(a.path, b.path, isSame) && isSame)
    return true;
  return getCanonicalPath(a.path) == getCanonicalPath(b.path);
}

static std::vector<UsedFile> listInputs(const CompilerInvocation &invocation) {
  std::vector<UsedFile> files{{"the model", invocation.input}};
  if (!invocation.device.assembler.empty())
    files.push_back({"the assembler", invocation.device.assembler});
  if (!invocation.tuningFile.empty())
    files.push_back({"the cost model", invocation.tuningFile});
  for (const std::string &library : invocation.libraries)
    files.push_back({"the library", library});
  if (invocation.training)
    for (const std::string &loss : invocation.training->getLossFiles())
      files.push_back({"the loss", loss});
  return files;
}

/// Every file that may be written, the output first.
static std::vector<UsedFile> listOutputs(const CompilerInvocation &invocation) {
  std::vector<UsedFile> files;
  StringRef output = invocation.output;
  bool isText =
      invocation.printPhase && *invocation.printPhase != Phase::Object;
  if (!invocation.checkOnly && !output.empty()) {
    auto kind = invocation.printPhase == Phase::Object
                    ? ArtifactKind::Object
                    : getArtifactKind(output).value_or(ArtifactKind::Object);
    files.push_back({"the output", output.str(), !isText});
    std::vector<std::string> all =
        listArtifactFiles(output, kind, invocation.externalWeights,
                          invocation.training.has_value());
    if (!isText)
      for (const std::string &beside : llvm::ArrayRef(all).drop_front())
        files.push_back({"the output", beside});
  }
  if (!invocation.reportFile.empty())
    files.push_back({"the report", invocation.reportFile, false});
  if (invocation.json)
    files.push_back({"the list of problems", "-", false});
  if (invocation.dumpDirectory.empty())
    return files;
  std::vector<std::string> programs{""};
  if (invocation.training)
    for (unsigned i = 0; i < numPrograms; ++i)
      programs.push_back(getProgramName(ProgramKind(i)).str());
  for (const std::string &program : programs)
    for (unsigned i = 0; i < numPhases; ++i)
      files.push_back({"a dump",
                       getDumpPath(invocation.dumpDirectory, program, Phase(i)),
                       false});
  return files;
}

llvm::SmallVector<std::string>
onnx_aot::listOutputPaths(const CompilerInvocation &invocation) {
  llvm::SmallVector<std::string> paths;
  for (const UsedFile &file : listOutputs(invocation))
    paths.push_back(file.path);
  return paths;
}

/// The folder is there and takes files; what is there can be replaced.
static void checkPlace(const UsedFile &file, std::set<std::string> &folders,
                       ProblemCollector &problems) {
  if (file.path == "-")
    return;
  StringRef folder = path::parent_path(file.path);
  bool isNew = folders.insert(folder.str()).second;
  if (fs::is_directory(file.path))
    problems.add("'" + file.path + "' is a folder");
  else if (isDeviceOrPipe(file.path) && file.mustBeRegular)
    problems.add("'" + file.path + "' is a device or a pipe, which " +
                 file.what + " cannot be written to");
  else if (isNew && !folder.empty() && !fs::is_directory(folder))
    problems.add("there is no folder '" + folder + "' to write to");
  else if (isNew && !isDeviceOrPipe(file.path) &&
           (folder.empty() || fs::is_directory(folder)) &&
           fs::access(folder.empty() ? "." : folder, fs::AccessMode::Write))
    problems.add("the folder '" + (folder.empty() ? "." : folder) +
                 "' cannot be written to");
}

void onnx_aot::checkFiles(const CompilerInvocation &invocation,
                          ProblemCollector &problems) {
  std::vector<UsedFile> inputs = listInputs(invocation);
  std::vector<UsedFile> outputs = listOutputs(invocation);
  if (!fs::exists(invocation.input))
    problems.add("there is no file '" + invocation.input + "'");
  else if (fs::is_directory(invocation.input))
    problems.add("the model '" + invocation.input + "' is a folder");
  if (invocation.training)
    for (const std::string &loss : invocation.training->getLossFiles())
      if (!fs::exists(loss))
        problems.add("there is no file '" + loss + "' for the loss");
  std::set<std::string> folders; // each is told once
  for (const UsedFile &output : outputs)
    if (output.what != "a dump") // its folder is made
      checkPlace(output, folders, problems);
  for (const auto &[i, output] : llvm::enumerate(outputs)) {
    for (const UsedFile &input : inputs)
      if (isSameFile(output, input))
        problems.add(describe(output) + " would overwrite " + describe(input));
    for (const UsedFile &other : llvm::ArrayRef(outputs).take_front(i))
      if (isSameFile(output, other))
        problems.add(describe(output) + " would overwrite " + describe(other));
  }
}

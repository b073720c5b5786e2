//===- Artifact.cpp - from the LLVM dialect to a file ---------------------===//

#include "onnx-aot/Emit/Artifact.h"
#include "Stages.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <chrono>

using namespace onnx_aot;
using llvm::createStringError;
using llvm::StringRef;

std::optional<ArtifactKind> onnx_aot::getArtifactKind(StringRef path) {
  return llvm::StringSwitch<std::optional<ArtifactKind>>(
             llvm::sys::path::extension(path))
      .Case(".so", ArtifactKind::SharedObject)
      .Case(".o", ArtifactKind::Object)
      .Case(".a", ArtifactKind::Archive)
      .Default(std::nullopt);
}

std::string onnx_aot::getWeightsSymbol(StringRef prefix) {
  return (prefix + "_weights").str();
}

std::string onnx_aot::getWeightsFileName(StringRef artifactPath) {
  return (llvm::sys::path::stem(artifactPath) + ".weights").str();
}

std::string onnx_aot::getSibling(StringRef artifactPath, StringRef name) {
  llvm::SmallString<128> path(llvm::sys::path::parent_path(artifactPath));
  llvm::sys::path::append(path, name);
  return path.str().str();
}

std::string onnx_aot::getHeaderPath(StringRef artifactPath) {
  return getSibling(artifactPath,
                    (llvm::sys::path::stem(artifactPath) + ".h").str());
}

std::string onnx_aot::getCheckpointPath(StringRef artifactPath) {
  return getSibling(
      artifactPath,
      (llvm::sys::path::stem(artifactPath) + ".safetensors").str());
}

std::vector<std::string> onnx_aot::listArtifactFiles(StringRef path,
                                                     ArtifactKind kind,
                                                     bool externalWeights,
                                                     bool isTraining) {
  std::vector<std::string> files{path.str()};
  if (kind != ArtifactKind::SharedObject)
    files.push_back(getHeaderPath(path));
  if (externalWeights)
    files.push_back(getSibling(path, getWeightsFileName(path)));
  if (isTraining)
    files.push_back(getCheckpointPath(path));
  return files;
}

llvm::Error onnx_aot::checkName(StringRef what, StringRef name) {
  if (!name.contains('\0'))
    return llvm::Error::success();
  return createStringError("the name of " + what + " '" +
                           name.split('\0').first +
                           "...' contains a NUL character");
}

llvm::Error onnx_aot::checkNames(const ModuleInfo &info) {
  for (const ValueInfo &value : info.inputs)
    if (llvm::Error error = checkName("input", value.name))
      return error;
  for (const ValueInfo &value : info.outputs)
    if (llvm::Error error = checkName("output", value.name))
      return error;
  for (const std::string &symbol : info.symbols)
    if (llvm::Error error = checkName("dimension", symbol))
      return error;
  return checkName("graph", info.name);
}

/// Bytes of machine code in object files.
static uint64_t getCodeBytes(llvm::ArrayRef<ObjectBuffer> objects) {
  uint64_t bytes = 0;
  for (const ObjectBuffer &object : objects) {
    auto file = llvm::object::ObjectFile::createObjectFile(
        llvm::MemoryBufferRef({object.data(), object.size()}, "part"));
    if (!file) {
      llvm::consumeError(file.takeError());
      continue;
    }
    for (const llvm::object::SectionRef &section : (*file)->sections())
      if (section.isText())
        bytes += section.getSize();
  }
  return bytes;
}

/// Writes the objects and, if embedded, the weights where the linker and the
/// archive writer find them.
static llvm::Expected<std::vector<std::string>>
writeInputs(llvm::ArrayRef<ObjectBuffer> objects, const WeightImage &weights,
            const ArtifactOptions &options, OutputFiles &files) {
  std::vector<std::string> paths;
  for (const ObjectBuffer &object : objects) {
    auto path = files.writeScratch([&](llvm::raw_ostream &os) {
      os.write(object.data(), object.size());
      return llvm::Error::success();
    });
    if (!path)
      return path.takeError();
    paths.push_back(*path);
  }
  if (weights.empty() || options.externalWeights)
    return paths;
  StringRef code(objects.front().data(), objects.front().size());
  auto path = files.writeScratch([&](llvm::raw_ostream &os) {
    return writeWeightObject(
        weights, getWeightsSymbol(options.prefix), code,
        /*isPlaceholder=*/options.kind != ArtifactKind::Archive, os);
  });
  if (!path)
    return path.takeError();
  paths.push_back(*path);
  return paths;
}

/// Makes the artifact itself from the object files.
static llvm::Error writeMain(llvm::ArrayRef<std::string> objects,
                             const WeightImage &weights,
                             const ArtifactOptions &options, StringRef exported,
                             OutputFiles &files) {
  if (options.kind == ArtifactKind::Archive)
    return files.write(options.path, [&](llvm::raw_ostream &os) {
      return writeStaticLibrary(objects, options.prefix, os);
    });
  std::vector<std::string> inputs(objects);
  std::string versionScript;
  if (!options.libraries.empty()) {
    inputs.insert(inputs.end(), options.libraries.begin(),
                  options.libraries.end());
    auto script = files.writeScratch([&](llvm::raw_ostream &os) {
      os << "{ global: " << exported << "; local: *; };\n";
      return llvm::Error::success();
    });
    if (!script)
      return script.takeError();
    versionScript = *script;
  }
  return files.writeByPath(options.path, [&](StringRef path) -> llvm::Error {
    llvm::Error error =
        options.kind == ArtifactKind::Object
            ? linkRelocatable(objects, path)
            : linkSharedObject(inputs, path,
                               llvm::sys::path::filename(options.path),
                               exported, versionScript);
    if (error || weights.empty() || options.externalWeights)
      return error;
    return fillWeights(path, weights);
  });
}

/// Writes the files that lie beside the artifact.
static llvm::Error writeSiblings(const ModuleInfo &info,
                                 const WeightImage &weights,
                                 const ArtifactOptions &options,
                                 OutputFiles &files) {
  if (options.externalWeights && !weights.empty())
    if (llvm::Error error = files.write(
            getSibling(options.path, getWeightsFileName(options.path)),
            [&](llvm::raw_ostream &os) {
              weights.write(os);
              return llvm::Error::success();
            }))
      return error;
  if (options.kind == ArtifactKind::SharedObject)
    return llvm::Error::success();
  return files.write(getHeaderPath(options.path), [&](llvm::raw_ostream &os) {
    writeHeader(info, weights, options, os);
    return llvm::Error::success();
  });
}

llvm::Expected<ArtifactReport> onnx_aot::writeArtifact(
    llvm::ArrayRef<llvm::SmallVector<char, 0>> parts,
    const WeightImage &weights, const TargetOptions &target,
    const ArtifactOptions &options, StringRef exported,
    llvm::function_ref<llvm::Error(OutputFiles &)> writeSiblings) {
  ArtifactReport report;
  auto objects = generateObjects(parts, target, options.optLevel, report);
  if (!objects)
    return objects.takeError();
  std::vector<std::string> allowed = options.externalFunctions;
  allowed.push_back(getWeightsSymbol(options.prefix));
  if (llvm::Error error = checkUndefinedSymbols(*objects, allowed))
    return error;
  report.codeBytes = getCodeBytes(*objects);
  report.weightBytes = weights.getSize();

  auto start = std::chrono::steady_clock::now();
  OutputFiles files(options.path);
  auto inputs = writeInputs(*objects, weights, options, files);
  if (!inputs)
    return inputs.takeError();
  if (llvm::Error error = writeMain(*inputs, weights, options, exported, files))
    return error;
  if (llvm::Error error = writeSiblings(files))
    return error;
  report.files = files.getPaths();
  report.linkSeconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  if (!options.reportPath.empty())
    if (llvm::Error error =
            files.write(options.reportPath, [&](llvm::raw_ostream &os) {
              options.writeReport(report, os);
              return llvm::Error::success();
            }))
      return error;
  if (llvm::Error error = files.commit())
    return error;
  return report;
}

llvm::Expected<ArtifactReport>
onnx_aot::emitArtifact(mlir::ModuleOp source, const ModuleInfo &info,
                       const WeightImage &weights, const TargetOptions &target,
                       const ArtifactOptions &givenOptions) {
  ArtifactOptions options = givenOptions;
  if (options.kind == ArtifactKind::SharedObject)
    options.prefix = "onnx_aot";
  if (llvm::Error error = checkNames(info))
    return error;
  auto machine = createTargetMachine(target);
  if (!machine)
    return machine.takeError();

  std::vector<llvm::SmallVector<char, 0>> parts;
  {
    llvm::LLVMContext context;
    auto module =
        translateToLLVMIR(source, context, info, weights, **machine, options,
                          {getWeightsSymbol(options.prefix)});
    if (!module)
      return module.takeError();
    parts = splitModule(**module);
  }
  return writeArtifact(parts, weights, target, options,
                       options.prefix + "_module", [&](OutputFiles &files) {
                         return writeSiblings(info, weights, options, files);
                       });
}

llvm::Error onnx_aot::printLLVMIR(mlir::ModuleOp source, const ModuleInfo &info,
                                  const WeightImage &weights,
                                  const TargetOptions &target,
                                  const ArtifactOptions &options,
                                  llvm::raw_ostream &os) {
  auto machine = createTargetMachine(target);
  if (!machine)
    return machine.takeError();
  llvm::LLVMContext context;
  auto module = translateToLLVMIR(source, context, info, weights, **machine,
                                  options, {getWeightsSymbol(options.prefix)});
  if (!module)
    return module.takeError();
  (*module)->print(os, nullptr);
  return llvm::Error::success();
}

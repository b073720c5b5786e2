//===- Compilation.cpp - one model on its way through the phases ----------===//

#include "Compilation.h"
#include "CheckFiles.h"
#include "Report.h"

#include "onnx-aot/Autodiff/Passes.h"
#include "onnx-aot/Codegen/GPU/Pipeline.h"
#include "onnx-aot/Conversion/Passes.h"
#include "onnx-aot/Emit/OutputFiles.h"
#include "onnx-aot/Import/Importer.h"
#include "onnx-aot/Support/EntryAttributes.h"
#include "onnx-aot/Transforms/Passes.h"
#include "onnx-aot/Transforms/Pipeline.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;
using namespace onnx_aot;

//===--- The phases -------------------------------------------------------===//

LogicalResult Compilation::run() {
  if (failed(describeTarget()))
    return failure();
  if (invocation.training)
    return runTraining();
  std::pair<Phase, LogicalResult (Compilation::*)()> steps[] = {
      {Phase::Import, &Compilation::import},
      {Phase::Optimize, &Compilation::optimize},
      {Phase::Linalg, &Compilation::lowerToLinalg},
      {Phase::Codegen, &Compilation::generateCode},
      {Phase::Object, &Compilation::emit},
  };
  for (auto [phase, step] : steps) {
    progress.begin(phase);
    if (failed((this->*step)()))
      return failure();
    if (phase != Phase::Object && failed(finish(phase)))
      return failure();
    if (invocation.checkOnly && phase == getLastCheckedPhase())
      return success();
    if (invocation.printPhase == phase)
      return success();
  }
  return success();
}

/// Everything that can refuse a model has had its say by Linalg; what a device
/// leaves to the host is known one phase later.
Phase Compilation::getLastCheckedPhase() const {
  return invocation.device.enabled ? Phase::Codegen : Phase::Linalg;
}

LogicalResult Compilation::describeTarget() {
  auto machine = createTargetMachine(invocation.target);
  if (!machine) {
    problems.add(machine.takeError());
    return failure();
  }
  target = getTargetInfo(**machine, invocation.target);
  if (invocation.tuningFile.empty())
    return success();
  llvm::Expected<Tuning> read = readTuning(invocation.tuningFile);
  if (!read) {
    problems.add(read.takeError());
    return failure();
  }
  tuning = *read;
  return success();
}

/// The phase whose result a module is: MLIR input may come from any of them.
static Phase getLastPhase(ModuleOp module) {
  if (!module.getOps<LLVM::LLVMFuncOp>().empty())
    return Phase::Codegen;
  return module->hasAttr(kAbiSymbolsAttr) ? Phase::Linalg : Phase::Import;
}

bool onnx_aot::isMlirFile(StringRef path) {
  StringRef extension = llvm::sys::path::extension(path);
  return extension == ".mlir" || extension == ".mlirbc";
}

LogicalResult Compilation::import() {
  if (isMlirFile(invocation.input)) {
    module = parseSourceFile<ModuleOp>(invocation.input, &context);
  } else {
    ImportOptions options;
    options.dims.append(invocation.dims.begin(), invocation.dims.end());
    options.nameInitializers = invocation.training.has_value();
    options.customOps = invocation.customOps;
    options.outputs = listOutputPaths(invocation);
    module = importOnnxModel(invocation.input, &context, options);
  }
  if (!module)
    return failure();
  lastPhase = getLastPhase(*module);
  return success();
}

LogicalResult Compilation::optimize() {
  if (lastPhase >= Phase::Optimize)
    return success();
  return runPasses([&](PassManager &manager) {
    // The importer has fixed the dimensions of an ONNX model.
    if (!invocation.dims.empty() && isMlirFile(invocation.input) &&
        !invocation.training) {
      SpecializeDimsOptions options;
      for (const auto &[name, size] : invocation.dims)
        options.dims.push_back(name + "=" + std::to_string(size));
      manager.addPass(createSpecializeDims(options));
    }
    manager.addPass(createExpandGradients());
    buildOptimizePipeline(manager, invocation.optLevel,
                          /*keepBlocks=*/!invocation.device.enabled);
  });
}

LogicalResult Compilation::lowerToLinalg() {
  if (lastPhase >= Phase::Linalg)
    return success();
  return runPasses([&](PassManager &manager) {
    manager.addPass(createConvertOnnxToLinalg());
  });
}

/// A device sees no addresses of the host, which strings are.
static LogicalResult refuseStrings(ModuleOp module) {
  auto isString = [](Type type) {
    return getElementTypeOrSelf(type).isInteger(128);
  };
  WalkResult found = module.walk([&](Operation *op) {
    if (llvm::none_of(op->getOperandTypes(), isString) &&
        llvm::none_of(op->getResultTypes(), isString))
      return WalkResult::advance();
    op->emitError("tensors of strings are not compiled for a device yet "
                  "(supported: cpu)");
    return WalkResult::interrupt();
  });
  return failure(found.wasInterrupted());
}

LogicalResult Compilation::generateCode() {
  if (invocation.device.enabled && lastPhase < Phase::Codegen &&
      failed(refuseStrings(*module)))
    return failure();
  if (lastPhase < Phase::Codegen) {
    CodegenOptions options;
    options.target = target;
    options.optLevel = invocation.optLevel;
    options.strictFp = invocation.strictFp;
    options.tuning = tuning;
    options.memory = memory;
    options.memory.record = !invocation.reportFile.empty();
    GpuCodegenOptions gpu;
    gpu.host = options;
    gpu.emulate = invocation.device.emulate;
    gpu.architecture = invocation.device.getLowestArchitecture();
    gpu.allowTf32 = invocation.device.allowTf32;
    gpu.report = invocation.checkOnly;
    if (failed(runPasses([&](PassManager &manager) {
          if (invocation.device.enabled)
            buildGpuPipeline(manager, gpu);
          else
            buildCpuPipeline(manager, options);
        })))
      return failure();
  }
  FailureOr<CodegenResult> codegenResult = getCodegenResult(*module);
  if (failed(codegenResult))
    return failure();
  result = std::move(*codegenResult);
  for (auto function : module->getOps<LLVM::LLVMFuncOp>())
    if (!function.isExternal())
      kernels.push_back(function.getName().str());
  return success();
}

LogicalResult Compilation::compileKernels() {
  auto code = compileDeviceCode(*module, invocation.target, invocation.device);
  if (!code) {
    problems.add(code.takeError());
    return failure();
  }
  device = std::move(*code);
  return success();
}

void Compilation::printKernels(llvm::raw_ostream &os) const {
  for (const DeviceImage &image : device.images)
    if (image.kind == ONNX_AOT_IMAGE_PTX)
      os << StringRef(image.bytes).drop_back();
}

LogicalResult Compilation::emit() {
  if (invocation.device.enabled && failed(compileKernels()))
    return failure();
  if (invocation.printPhase == Phase::Device)
    return writeText(invocation.output, [&](llvm::raw_ostream &os) {
      printKernels(os);
      return llvm::Error::success();
    });
  if (failed(finish(Phase::LLVM)))
    return failure();
  if (invocation.printPhase == Phase::LLVM)
    return success();
  auto written = emitArtifact(*module, result.info, result.weights,
                              invocation.target, getArtifactOptions());
  if (written)
    return success();
  problems.add(written.takeError());
  return failure();
}

//===--- Helpers ----------------------------------------------------------===//

ArtifactOptions Compilation::getArtifactOptions() const {
  ArtifactOptions options;
  options.kind =
      getArtifactKind(invocation.output).value_or(ArtifactKind::Object);
  if (invocation.printPhase == Phase::Object)
    options.kind = ArtifactKind::Object;
  options.path = invocation.output;
  options.prefix = invocation.prefix.empty()
                       ? makeIdentifier(llvm::sys::path::stem(options.path))
                       : invocation.prefix;
  options.externalWeights = invocation.externalWeights;
  options.optLevel = invocation.optLevel;
  options.device = invocation.device.enabled ? &device : nullptr;
  for (const auto &op : invocation.customOps)
    for (const std::string &function :
         {op.second.callee, op.second.shapeCallee})
      if (!function.empty())
        options.externalFunctions.push_back(function);
  options.libraries = invocation.libraries;
  options.reportPath = invocation.reportFile;
  options.writeReport = [this](const ArtifactReport &artifact,
                               llvm::raw_ostream &os) {
    progress.lap();
    printReport(invocation, *this, progress, artifact, os);
  };
  return options;
}

LogicalResult Compilation::runPasses(function_ref<void(PassManager &)> build) {
  PassManager manager(&context, ModuleOp::getOperationName());
  if (failed(applyPassManagerCLOptions(manager)))
    return failure();
  applyDefaultTimingPassManagerCLOptions(manager);
  build(manager);
  return manager.run(*module);
}

LogicalResult
Compilation::writeText(StringRef path,
                       function_ref<llvm::Error(llvm::raw_ostream &)> print) {
  OutputFiles files(path);
  llvm::Error error = files.write(path, print);
  if (!error && path == invocation.output && !invocation.reportFile.empty())
    error = files.write(invocation.reportFile, [&](llvm::raw_ostream &os) {
      progress.lap();
      printReport(invocation, *this, progress, ArtifactReport(), os);
      return llvm::Error::success();
    });
  if (!error)
    error = files.commit();
  if (!error)
    return success();
  problems.add(std::move(error));
  return failure();
}

std::string onnx_aot::getDumpPath(StringRef folder, StringRef program,
                                  Phase phase) {
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, program,
                          Twine(unsigned(phase)) + "-" + getPhaseName(phase) +
                              (phase == Phase::LLVM ? ".ll" : ".mlir"));
  return path.str().str();
}

LogicalResult Compilation::finish(Phase phase) {
  auto print = [&](llvm::raw_ostream &os, bool isDump) -> llvm::Error {
    if (phase == Phase::LLVM)
      return printLLVMIR(*module, result.info, result.weights,
                         invocation.target, getArtifactOptions(), os);
    OpPrintingFlags flags;
    if (isDump) // to be read by people
      flags.elideLargeElementsAttrs(64).elideLargeResourceString(64);
    module->print(os, flags);
    os << "\n";
    return llvm::Error::success();
  };
  auto printTo = [&](StringRef path, bool isDump) {
    return writeText(path,
                     [&](llvm::raw_ostream &os) { return print(os, isDump); });
  };
  if (!invocation.dumpDirectory.empty()) {
    std::string path =
        getDumpPath(invocation.dumpDirectory, programName, phase);
    StringRef folder = llvm::sys::path::parent_path(path);
    if (std::error_code error = llvm::sys::fs::create_directories(folder)) {
      problems.add(llvm::createFileError(folder, error));
      return failure();
    }
    if (failed(printTo(path, /*isDump=*/true)))
      return failure();
  }
  if (invocation.printPhase != phase)
    return success();
  if (programName.empty())
    return printTo(invocation.output, /*isDump=*/false);
  llvm::raw_string_ostream os(printed);
  os << "// ----- " << programName << "\n";
  llvm::Error error = print(os, /*isDump=*/false);
  if (!error)
    return success();
  problems.add(std::move(error));
  return failure();
}

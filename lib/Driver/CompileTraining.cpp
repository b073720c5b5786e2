//===- CompileTraining.cpp - the programs of a training module ------------===//

#include "CheckFiles.h"
#include "Compilation.h"

#include "onnx-aot/Dialect/Train/IR/Train.h"
#include "onnx-aot/Import/Importer.h"
#include "onnx-aot/Transforms/Passes.h"
#include "onnx-aot/Transforms/Pipeline.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace onnx_aot;

/// Whether an input or output of the model is a sequence or an optional, which
/// training does not take apart.
static bool hasComposites(ModuleOp module) {
  auto entry = module.lookupSymbol<func::FuncOp>("main");
  auto isComposite = [](Type type) {
    return isa<onnx::SequenceType, onnx::OptionalType>(type);
  };
  return entry && (llvm::any_of(entry.getArgumentTypes(), isComposite) ||
                   llvm::any_of(entry.getResultTypes(), isComposite));
}

/// Adds passes that find types, and what sizes decide; no value of a parameter
/// is folded into others.
static void addInference(PassManager &manager,
                         const TrainingOptions &training) {
  if (training.widensFloats) {
    manager.addPass(createWidenFloats());
    manager.addPass(createInferShapes());
  }
  FoldConstantsOptions decided;
  decided.smallIntegersOnly = true;
  manager.addPass(createFoldConstants(decided));
  // Only tensors of known rank have gradients.
  manager.addPass(createDecideBranches());
}

OwningOpRef<ModuleOp> Compilation::importLoss(StringRef path) {
  ImportOptions options;
  options.customOps = invocation.customOps;
  options.outputs = listOutputPaths(invocation);
  OwningOpRef<ModuleOp> graph = importOnnxModel(path, &context, options);
  if (!graph)
    return {};
  // Of the dimensions that are fixed, it may have some.
  auto symbols = (*graph)->getAttrOfType<ArrayAttr>(onnx::kSymbolsAttr);
  SpecializeDimsOptions fixed;
  for (const auto &[name, size] : invocation.dims)
    if (symbols && llvm::is_contained(symbols, StringAttr::get(&context, name)))
      fixed.dims.push_back(name + "=" + std::to_string(size));
  PassManager manager(&context, ModuleOp::getOperationName());
  manager.addPass(createSpecializeDims(fixed));
  manager.addPass(createInferShapes());
  addInference(manager, *invocation.training);
  if (failed(manager.run(*graph)))
    return {};
  return graph;
}

LogicalResult Compilation::prepareTraining(TrainingBuilder &builder) {
  progress.begin(Phase::Import);
  if (failed(import()))
    return failure();
  if (lastPhase != Phase::Import) {
    problems.add("'" + invocation.input +
                 "' is compiled too far to be trained: give the model");
    return failure();
  }
  if (failed(finish(Phase::Import)))
    return failure();
  if (invocation.printPhase == Phase::Import)
    return success();
  progress.begin(Phase::Optimize);
  auto infer = [&](PassManager &manager) {
    // The importer has fixed the dimensions of an ONNX model.
    if (!invocation.dims.empty() && isMlirFile(invocation.input)) {
      SpecializeDimsOptions options;
      for (const auto &[name, size] : invocation.dims)
        options.dims.push_back(name + "=" + std::to_string(size));
      manager.addPass(createSpecializeDims(options));
    }
    addInference(manager, *invocation.training);
    if (!hasComposites(*module))
      manager.addPass(createSplitComposites());
  };
  auto readLoss = [&](StringRef path) { return importLoss(path); };
  if (failed(runPasses(infer)) || failed(builder.prepare(*module, readLoss)))
    return failure();
  return runPasses([&](PassManager &manager) {
    if (invocation.optLevel >= 1) {
      buildSimplifyPipeline(manager);
      buildSimplifyPipeline(manager);
    }
  });
}

/// The bytes of a constant; a splat's are written out.
static FailureOr<InitialValue> getBytes(ElementsAttr value) {
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(value)) {
    AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    if (!blob)
      return failure();
    return InitialValue{blob->getData(), nullptr};
  }
  auto dense = dyn_cast<DenseElementsAttr>(value);
  if (!dense)
    return failure();
  ArrayRef<char> raw = dense.getRawData();
  if (!dense.isSplat())
    return InitialValue{raw, nullptr};
  auto bytes = std::make_shared<std::vector<char>>();
  for (int64_t i = 0; i < dense.getNumElements(); ++i)
    bytes->insert(bytes->end(), raw.begin(), raw.end());
  return InitialValue{*bytes, bytes};
}

LogicalResult Compilation::keepModel() {
  // What is fixed here stays open in the file.
  if (!invocation.training->keepModel || isMlirFile(invocation.input))
    return success();
  std::vector<std::string> names;
  for (const ParameterInfo &parameter : training.parameters)
    names.push_back(parameter.value.name);
  auto model = readModelWithout(invocation.input, &context, names);
  if (failed(model))
    return failure();
  training.model = std::move(*model);
  return success();
}

LogicalResult Compilation::emitTraining(const TrainingBuilder &builder) {
  if (failed(keepModel()))
    return failure();
  std::vector<InitialValue> values;
  for (ElementsAttr value : builder.getInitialValues()) {
    FailureOr<InitialValue> bytes = getBytes(value);
    if (failed(bytes)) {
      problems.add("an initializer has no data");
      return failure();
    }
    values.push_back(*bytes);
  }
  progress.begin(Phase::Object);
  auto written = emitTrainingArtifact(training, programs, values,
                                      invocation.target, getArtifactOptions());
  if (written)
    return success();
  problems.add(written.takeError());
  return failure();
}

LogicalResult Compilation::divideBudget(const ProgramInfo &program) {
  if (invocation.memoryBudget == 0)
    return success();
  bool hasGradients = llvm::any_of(program.inputs, [](const Binding &input) {
    return input.role == ONNX_AOT_ROLE_GRADIENT;
  });
  memory.stateBytes = 0;
  for (const ParameterInfo &parameter : training.parameters) {
    int64_t bytes = getTypeBytes(parameter.value.type);
    for (int64_t size : parameter.value.dims)
      bytes *= size;
    int64_t copies = 1;
    if (parameter.kind == ONNX_AOT_PARAMETER_TRAINABLE)
      copies += int64_t(training.slots.size()) + int64_t(hasGradients);
    memory.stateBytes += bytes * copies;
  }
  memory.arenaBudget = invocation.memoryBudget - memory.stateBytes;
  if (memory.arenaBudget > 0)
    return success();
  problems.add("program '" + getProgramName(program.kind) + "': parameters, " +
               (hasGradients ? "gradients, " : "") +
               "and optimizer state alone have " + Twine(memory.stateBytes) +
               " bytes, the memory budget is " +
               Twine(invocation.memoryBudget));
  return failure();
}

LogicalResult Compilation::runTraining() {
  auto builder = TrainingBuilder::create(*invocation.training);
  if (!builder) {
    problems.add(builder.takeError());
    return failure();
  }
  // Gradient rules are attached when both dialects are there.
  context.loadDialect<train::TrainDialect>();
  if (failed(prepareTraining(**builder)))
    return failure();
  if (invocation.printPhase == Phase::Import)
    return success();
  auto made = (*builder)->makePrograms(*module);
  if (failed(made))
    return failure();
  std::pair<Phase, LogicalResult (Compilation::*)()> steps[] = {
      {Phase::Optimize, &Compilation::optimize},
      {Phase::Linalg, &Compilation::lowerToLinalg},
      {Phase::Codegen, &Compilation::generateCode},
  };
  training = (*builder)->getInfo();
  bool bad = false;
  for (TrainingProgram &program : *made) {
    programName = getProgramName(program.info.kind).str();
    if (failed(divideBudget(program.info))) {
      bad = true;
      continue;
    }
    module = std::move(program.module);
    bool isDone = false;
    for (auto [phase, step] : steps) {
      progress.begin(phase);
      // Programs share most nodes, but each may have reasons of its own.
      if (failed((this->*step)()) || failed(finish(phase))) {
        bad = isDone = true;
        break;
      }
      if ((invocation.checkOnly && phase == getLastCheckedPhase()) ||
          invocation.printPhase == phase) {
        isDone = true;
        break;
      }
    }
    if (isDone)
      continue;
    if (invocation.device.enabled && failed(compileKernels()))
      return failure();
    if (invocation.printPhase == Phase::Device) {
      llvm::raw_string_ostream os(printed);
      os << "// ----- " << programName << "\n";
      printKernels(os);
      continue;
    }
    if (failed(finish(Phase::LLVM)))
      return failure();
    programs.push_back(
        {program.info, *module, result.info, result.weights, std::nullopt});
    if (invocation.device.enabled)
      programs.back().device = std::move(device);
    programMemory.push_back(std::move(result.memory));
    programModules.push_back(std::move(module));
  }
  if (bad || invocation.checkOnly)
    return failure(bad);
  if (!invocation.printPhase || *invocation.printPhase == Phase::Object)
    return emitTraining(**builder);
  return writeText(invocation.output,
                   [&](llvm::raw_ostream &os) -> llvm::Error {
                     os << printed;
                     return llvm::Error::success();
                   });
}

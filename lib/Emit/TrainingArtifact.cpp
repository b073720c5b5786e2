//===- TrainingArtifact.cpp - several programs in one file ----------------===//

#include "DescriptorBuilder.h"
#include "Stages.h"

#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/Path.h"

using namespace onnx_aot;
using llvm::Constant;
using llvm::StringRef;

static std::string getProgramPrefix(StringRef prefix, ProgramKind kind) {
  return (prefix + "_" + getProgramName(kind)).str();
}

//===--- The descriptor ---------------------------------------------------===//

static Constant *makeBindings(DescriptorBuilder &b,
                              llvm::ArrayRef<Binding> bindings) {
  llvm::SmallVector<Constant *> elements;
  for (const Binding &binding : bindings)
    elements.push_back(llvm::ConstantStruct::getAnon(
        {b.i32(binding.role), b.i32(binding.index), b.i32(binding.slot)}));
  return b.array(elements);
}

/// OnnxAotProgram; the descriptor of the module is defined elsewhere.
static Constant *makeProgram(llvm::Module &module, DescriptorBuilder &b,
                             const ArtifactProgram *program, StringRef prefix) {
  if (!program)
    return llvm::ConstantStruct::getAnon({b.null(), b.null(), b.null()});
  auto *descriptor = new llvm::GlobalVariable(
      module, llvm::Type::getInt8Ty(module.getContext()), /*isConstant=*/true,
      llvm::GlobalValue::ExternalLinkage, nullptr,
      getProgramPrefix(prefix, program->program.kind) + "_module");
  return llvm::ConstantStruct::getAnon(
      {descriptor, makeBindings(b, program->program.inputs),
       makeBindings(b, program->program.outputs)});
}

static Constant *makeStrings(DescriptorBuilder &b,
                             llvm::ArrayRef<std::string> texts) {
  llvm::SmallVector<Constant *> elements;
  for (const std::string &text : texts)
    elements.push_back(b.string(text));
  return b.array(elements);
}

static Constant *makeParameters(DescriptorBuilder &b,
                                llvm::ArrayRef<ParameterInfo> parameters) {
  llvm::SmallVector<Constant *> elements;
  for (const ParameterInfo &parameter : parameters) {
    llvm::SmallVector<Constant *> dims;
    for (int64_t dim : parameter.value.dims)
      dims.push_back(b.i64(dim));
    elements.push_back(llvm::ConstantStruct::getAnon(
        {b.string(parameter.value.name), b.i32(parameter.value.type),
         b.i32(dims.size()), b.array(dims), b.i32(parameter.kind),
         b.i32(parameter.group)}));
  }
  return b.array(elements);
}

static Constant *makeAdapters(DescriptorBuilder &b,
                              llvm::ArrayRef<AdapterInfo> adapters) {
  llvm::SmallVector<Constant *> elements;
  for (const AdapterInfo &adapter : adapters)
    elements.push_back(llvm::ConstantStruct::getAnon(
        {b.string(adapter.weight), b.i32(adapter.a), b.i32(adapter.b),
         b.i32(adapter.isTransposed), b.i32(0), b.f64(adapter.scale)}));
  return b.array(elements);
}

void onnx_aot::addTrainingDescriptor(llvm::Module &module,
                                     const TrainingInfo &info,
                                     llvm::ArrayRef<ArtifactProgram> programs,
                                     StringRef prefix) {
  DescriptorBuilder b(module);
  auto find = [&](ProgramKind kind) {
    const ArtifactProgram *found = nullptr;
    for (const ArtifactProgram &program : programs)
      if (program.program.kind == kind)
        found = &program;
    return makeProgram(module, b, found, prefix);
  };
  auto *fingerprint = llvm::ConstantArray::get(
      llvm::ArrayType::get(llvm::Type::getInt64Ty(module.getContext()), 2),
      {b.i64(info.fingerprint[0]), b.i64(info.fingerprint[1])});
  Constant *value = llvm::ConstantStruct::getAnon({
      b.i32(ONNX_AOT_ABI_VERSION),
      b.i32(sizeof(OnnxAotTraining)),
      b.string(info.name),
      b.string(info.loss),
      b.string(info.optimizer),
      fingerprint,
      b.i32(info.parameters.size()),
      b.i32(info.slots.size()),
      makeParameters(b, info.parameters),
      makeStrings(b, info.slots),
      b.i32(info.inputs.size()),
      b.i32(info.numTargets),
      makeStrings(b, info.inputs),
      find(ProgramKind::Train),
      find(ProgramKind::Eval),
      find(ProgramKind::Optimizer),
      find(ProgramKind::Fused),
      find(ProgramKind::Infer),
      b.bytes(info.model),
      b.i64(info.model.size()),
      makeAdapters(b, info.adapters),
      b.i32(info.adapters.size()),
      b.i32(0),
  });
  assert(module.getDataLayout().getTypeAllocSize(value->getType()) ==
             sizeof(OnnxAotTraining) &&
         "the constant follows abi/Training.h");
  new llvm::GlobalVariable(module, value->getType(), /*isConstant=*/true,
                           llvm::GlobalValue::ExternalLinkage, value,
                           prefix + "_training");
}

//===--- The artifact -----------------------------------------------------===//

/// Bindings and module say the same.
static llvm::Error checkProgram(const ArtifactProgram &program) {
  if (program.program.inputs.size() == program.info.inputs.size() &&
      program.program.outputs.size() == program.info.outputs.size())
    return llvm::Error::success();
  return llvm::createStringError(
      "the inputs of program '" + getProgramName(program.program.kind) +
      "' got lost on the way: this is a bug in onnx-aot");
}

static llvm::Error checkInfo(const TrainingInfo &info) {
  for (const ParameterInfo &parameter : info.parameters)
    if (llvm::Error error = checkName("parameter", parameter.value.name))
      return error;
  for (const std::string &input : info.inputs)
    if (llvm::Error error = checkName("input", input))
      return error;
  return checkName("graph", info.name);
}

/// The bitcode of a module that holds the descriptor alone.
static llvm::Expected<llvm::SmallVector<char, 0>>
makeDescriptorPart(const TrainingInfo &info,
                   llvm::ArrayRef<ArtifactProgram> programs,
                   const llvm::TargetMachine &machine, StringRef prefix) {
  llvm::LLVMContext context;
  llvm::Module module(prefix, context);
  module.setTargetTriple(machine.getTargetTriple());
  module.setDataLayout(machine.createDataLayout());
  module.setPICLevel(llvm::PICLevel::BigPIC);
  addTrainingDescriptor(module, info, programs, prefix);
  std::string problem;
  llvm::raw_string_ostream stream(problem);
  if (llvm::verifyModule(module, &stream))
    return llvm::createStringError("the descriptor is invalid: " + problem);
  llvm::SmallVector<char, 0> bitcode;
  llvm::raw_svector_ostream os(bitcode);
  llvm::WriteBitcodeToFile(module, os);
  return bitcode;
}

llvm::Expected<ArtifactReport> onnx_aot::emitTrainingArtifact(
    const TrainingInfo &info, llvm::ArrayRef<ArtifactProgram> programs,
    llvm::ArrayRef<InitialValue> values, const TargetOptions &target,
    const ArtifactOptions &givenOptions) {
  ArtifactOptions options = givenOptions;
  if (options.kind == ArtifactKind::SharedObject)
    options.prefix = "onnx_aot";
  if (llvm::Error error = checkInfo(info))
    return error;
  if (llvm::Error error = checkCheckpoint(info))
    return error;
  auto machine = createTargetMachine(target);
  if (!machine)
    return machine.takeError();

  // The programs' constants lie one after the other.
  WeightImage weights;
  std::vector<llvm::SmallVector<char, 0>> parts;
  for (const ArtifactProgram &program : programs) {
    if (llvm::Error error = checkNames(program.info))
      return error;
    if (llvm::Error error = checkProgram(program))
      return error;
    WeightPlace place{getWeightsSymbol(options.prefix), weights.getSize()};
    for (const WeightImage::Segment &segment : program.weights.getSegments()) {
      uint64_t offset = weights.append(segment.bytes, segment.owner);
      assert(offset == place.offset + segment.offset && "segments are dense");
      (void)offset;
    }
    ArtifactOptions own = options;
    own.prefix = getProgramPrefix(options.prefix, program.program.kind);
    own.device = program.device ? &*program.device : nullptr;
    llvm::LLVMContext context;
    auto module = translateToLLVMIR(program.module, context, program.info,
                                    program.weights, **machine, own, place);
    if (!module)
      return module.takeError();
    for (llvm::SmallVector<char, 0> &part : splitModule(**module))
      parts.push_back(std::move(part));
  }
  auto descriptor =
      makeDescriptorPart(info, programs, **machine, options.prefix);
  if (!descriptor)
    return descriptor.takeError();
  parts.push_back(std::move(*descriptor));

  return writeArtifact(
      parts, weights, target, options, options.prefix + "_training",
      [&](OutputFiles &files) -> llvm::Error {
        if (llvm::Error error = files.write(getCheckpointPath(options.path),
                                            [&](llvm::raw_ostream &os) {
                                              writeCheckpoint(info, values, os);
                                              return llvm::Error::success();
                                            }))
          return error;
        if (options.kind == ArtifactKind::SharedObject)
          return llvm::Error::success();
        return files.write(getHeaderPath(options.path),
                           [&](llvm::raw_ostream &os) {
                             writeTrainingHeader(info, programs, options, os);
                             return llvm::Error::success();
                           });
      });
}

//===- TranslateToLLVMIR.cpp - LLVM dialect to a checked LLVM module ------===//

#include "Stages.h"
#include "onnx-aot/Support/EntryAttributes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/MCSubtargetInfo.h"

using namespace mlir;
using namespace onnx_aot;
using llvm::createStringError;

/// Finds an entry function and checks that it takes `numArguments` pointers and
/// returns a status.
static llvm::Expected<llvm::Function *>
getEntry(llvm::Module &module, StringRef name, unsigned numArguments) {
  llvm::Function *function = module.getFunction(name);
  if (!function || function->isDeclaration())
    return createStringError("the module does not define '" + name.str() + "'");
  llvm::LLVMContext &context = module.getContext();
  SmallVector<llvm::Type *> arguments(numArguments,
                                      llvm::PointerType::get(context, 0));
  auto *expected = llvm::FunctionType::get(llvm::Type::getInt32Ty(context),
                                           arguments, /*isVarArg=*/false);
  if (function->getFunctionType() == expected)
    return function;
  return createStringError(
      "'" + name.str() + "' does not take " + std::to_string(numArguments) +
      " pointers and return i32, as the binary interface wants");
}

/// A module has no state and does nothing when it is loaded.
static llvm::Error checkStateless(const llvm::Module &module) {
  for (const llvm::GlobalVariable &global : module.globals()) {
    if (global.getName().starts_with("llvm."))
      return createStringError("'" + global.getName().str() +
                               "' is not allowed in a compiled module");
    if (!global.isDeclaration() && !global.isConstant())
      return createStringError("global '" + global.getName().str() +
                               "' is not constant: a compiled module has no "
                               "state");
  }
  return llvm::Error::success();
}

/// The part of a symbol that is safe in every linker: node names may hold
/// anything, and '@' would be read as a symbol version.
static std::string makeSymbol(StringRef name) {
  std::string result;
  for (char c : name)
    result += llvm::isAlnum(c) || c == '_' || c == '.' ? c : '_';
  return result;
}

/// Names and hides everything that is defined; sets what holds for all code.
static void normalizeDefinitions(llvm::Module &module, StringRef prefix) {
  auto hide = [&](llvm::GlobalValue &value) {
    // LLVM makes the names unique where making them safe made them equal.
    value.setName(prefix + "." + makeSymbol(value.getName()));
    value.setLinkage(llvm::GlobalValue::ExternalLinkage);
    value.setVisibility(llvm::GlobalValue::HiddenVisibility);
    value.setDSOLocal(true);
  };
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    hide(function);
    function.setDoesNotThrow();
    // Lets profilers and debuggers walk through kernels.
    function.setUWTableKind(llvm::UWTableKind::Async);
  }
  // Constants become private copies wherever they are used.
  for (llvm::GlobalVariable &global : module.globals())
    if (!global.isDeclaration())
      global.setLinkage(llvm::GlobalValue::PrivateLinkage);
}

/// Hands the marks that Codegen left on functions through the translation.
static void keepMarks(ModuleOp source, llvm::Module &module) {
  for (auto function : source.getOps<LLVM::LLVMFuncOp>())
    if (function->hasAttr(kScalarLoopsAttr))
      if (llvm::Function *target = module.getFunction(function.getName()))
        target->addFnAttr(scalarLoopsFnAttr);
}

/// Triple, processor and the features that a loader can ask it for.
static std::string describeTarget(const llvm::TargetMachine &machine) {
  static const StringRef x86[] = {
#define ONNX_AOT_X86_64_FEATURE(name, leaf, subleaf, reg, bit, states) name,
#include "onnx-aot/abi/CpuFeatures.def"
  };
  static const StringRef aarch64[] = {
#define ONNX_AOT_AARCH64_FEATURE(name, word, bit) name,
#include "onnx-aot/abi/CpuFeatures.def"
  };
  static const StringRef riscv[] = {
#define ONNX_AOT_RISCV64_FEATURE(name, bit) name,
#include "onnx-aot/abi/CpuFeatures.def"
  };
  const llvm::Triple &triple = machine.getTargetTriple();
  llvm::ArrayRef<StringRef> known = riscv;
  if (triple.isX86())
    known = x86;
  else if (triple.isAArch64())
    known = aarch64;
  std::string features;
  for (StringRef name : known)
    if (machine.getMCSubtargetInfo()->checkFeatures(("+" + name).str()))
      features += (features.empty() ? "" : ",") + name.str();
  StringRef cpu = machine.getTargetCPU();
  return triple.str() + " " + (cpu.empty() ? "generic" : cpu.str()) +
         (features.empty() ? "" : " " + features);
}

llvm::Expected<std::unique_ptr<llvm::Module>> onnx_aot::translateToLLVMIR(
    ModuleOp source, llvm::LLVMContext &context, const ModuleInfo &info,
    const WeightImage &weights, const llvm::TargetMachine &machine,
    const ArtifactOptions &options, const WeightPlace &place) {
  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  source->getContext()->appendDialectRegistry(registry);
  std::unique_ptr<llvm::Module> module = translateModuleToLLVMIR(
      source, context, options.prefix, /*disableVerification=*/true);
  if (!module)
    return createStringError("translation to LLVM IR failed");
  // Neither paths nor names of files get into the artifact.
  module->setSourceFileName(options.prefix);
  module->setTargetTriple(machine.getTargetTriple());
  module->setDataLayout(machine.createDataLayout());

  llvm::Expected<llvm::Function *> run = getEntry(*module, info.runFunction, 6);
  if (!run)
    return run.takeError();
  llvm::Expected<llvm::Function *> plan =
      getEntry(*module, info.planFunction, 3);
  if (!plan)
    return plan.takeError();
  if (llvm::Error error = checkStateless(*module))
    return error;

  keepMarks(source, *module);
  normalizeDefinitions(*module, options.prefix);
  (*run)->setName(options.prefix + "_run");
  (*plan)->setName(options.prefix + "_plan");
  addDescriptor(*module, info, weights, *run, *plan, describeTarget(machine),
                options, place);

  std::string problem;
  llvm::raw_string_ostream os(problem);
  if (llvm::verifyModule(*module, &os))
    return createStringError("the LLVM module is invalid: " + problem);
  return module;
}

//===- TargetMachine.cpp - LLVM's view of the target ----------------------===//

#include "onnx-aot/Emit/TargetMachine.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/CodeGen/TargetLowering.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"

#include <mutex>
#include <unistd.h>

using namespace onnx_aot;
using llvm::createStringError;
using llvm::StringRef;
using llvm::Triple;

/// Registers the three families of targets that artifacts are made for.
static void initializeTargets() {
  static std::once_flag once;
  std::call_once(once, [] {
#define INITIALIZE(arch)                                                       \
  LLVMInitialize##arch##TargetInfo();                                          \
  LLVMInitialize##arch##Target();                                              \
  LLVMInitialize##arch##TargetMC();                                            \
  LLVMInitialize##arch##AsmPrinter();                                          \
  LLVMInitialize##arch##AsmParser();
    INITIALIZE(X86)
    INITIALIZE(AArch64)
    INITIALIZE(RISCV)
#undef INITIALIZE
  });
}

static bool isHost(const Triple &triple) {
  Triple host(Triple::normalize(llvm::sys::getDefaultTargetTriple()));
  return triple.getArch() == host.getArch() && triple.getOS() == host.getOS() &&
         triple.getEnvironment() == host.getEnvironment();
}

static Triple getTriple(const TargetOptions &options) {
  std::string text = options.triple.empty()
                         ? llvm::sys::getDefaultTargetTriple()
                         : options.triple;
  return Triple(Triple::normalize(text));
}

/// Whether the processor to generate for is the one that runs the compiler.
static bool isNative(const TargetOptions &options, const Triple &triple) {
  return options.cpu == "native" || (options.cpu.empty() && isHost(triple));
}

/// The features of the processor that runs the compiler, in a fixed order.
static std::string getHostFeatures() {
  llvm::SmallVector<std::string> features;
  for (const auto &feature : llvm::sys::getHostCPUFeatures())
    features.push_back((feature.second ? "+" : "-") + feature.first().str());
  llvm::sort(features);
  return llvm::join(features, ",");
}

/// The features that every Linux system of an architecture has, where LLVM's
/// generic processor has fewer.
static StringRef getBaselineFeatures(const Triple &triple) {
  // The psABI of Linux distributions: RV64GC with hard-float calls.
  return triple.isRISCV64() ? "+m,+a,+f,+d,+c,+zicsr,+zifencei" : "";
}

/// The features that code generation wants otherwise than LLVM: a few wide
/// operations between others may lower the clock more than they save, so on
/// many processors with registers of 512 bits LLVM uses half of them. Kernels
/// are nothing but wide operations, and twice as fast on whole registers.
static StringRef getPreferences(const Triple &triple) {
  return triple.isX86_64() ? "-prefer-256-bit" : "";
}

/// What a processor must have: the features without which LLVM stops, and those
/// that the platform's calling convention needs.
static llvm::Error checkRequired(const llvm::MCSubtargetInfo &subtarget) {
  llvm::SmallVector<StringRef> required;
  switch (subtarget.getTargetTriple().getArch()) {
  case Triple::x86_64:
    required = {"64bit", "sse2"};
    break;
  case Triple::aarch64:
    required = {"neon"};
    break;
  default:
    required = {"64bit", "m", "a", "f", "d"};
  }
  for (StringRef feature : required)
    if (!subtarget.checkFeatures(("+" + feature).str()))
      return createStringError("processor '" + subtarget.getCPU().str() +
                               "' lacks '" + feature.str() +
                               "', which compiled modules need on " +
                               subtarget.getTargetTriple().str());
  return llvm::Error::success();
}

/// Refuses names that LLVM would only warn about and then ignore.
static llvm::Error checkNames(const llvm::Target &target, const Triple &triple,
                              const TargetOptions &options) {
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget(
      target.createMCSubtargetInfo(triple, "", ""));
  if (!options.cpu.empty() && options.cpu != "native" &&
      !subtarget->isCPUStringValid(options.cpu)) {
    std::string known;
    for (const auto &cpu : subtarget->getAllProcessorDescriptions())
      known += std::string(known.empty() ? "" : ", ") + cpu.Key;
    return createStringError("unknown processor '" + options.cpu + "' for " +
                             triple.str() + " (supported: " + known + ")");
  }
  llvm::SmallVector<StringRef> features;
  StringRef(options.features).split(features, ',', -1, /*KeepEmpty=*/false);
  for (StringRef feature : features) {
    StringRef name = feature;
    bool isSigned = name.consume_front("+") || name.consume_front("-");
    auto matches = [&](const llvm::SubtargetFeatureKV &entry) {
      return name == entry.Key;
    };
    if (!isSigned ||
        llvm::none_of(subtarget->getAllProcessorFeatures(), matches))
      return createStringError("unknown feature '" + feature.str() + "' for " +
                               triple.str() +
                               " (expected +name or -name, as in +avx2,-fma)");
  }
  return llvm::Error::success();
}

llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
onnx_aot::createTargetMachine(const TargetOptions &options) {
  initializeTargets();
  Triple triple = getTriple(options);
  bool isSupported = triple.isOSBinFormatELF() && triple.isOSLinux() &&
                     (triple.getArch() == Triple::x86_64 ||
                      triple.getArch() == Triple::aarch64 ||
                      triple.getArch() == Triple::riscv64);
  if (!isSupported)
    return createStringError("target '" + triple.str() +
                             "' is not supported (supported: x86_64, aarch64 "
                             "and riscv64 on Linux)");
  if (options.cpu == "native" && !isHost(triple))
    return createStringError("processor 'native' names this machine, which is "
                             "not a " +
                             triple.str());
  std::string error;
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return createStringError(error);
  if (llvm::Error error = checkNames(*target, triple, options))
    return error;

  std::string cpu = options.cpu, features;
  if (isNative(options, triple)) {
    cpu = llvm::sys::getHostCPUName().str();
    features = getHostFeatures();
  } else if (cpu.empty()) {
    features = getBaselineFeatures(triple);
  }
  for (StringRef more : {getPreferences(triple), StringRef(options.features)})
    if (!more.empty())
      features += (features.empty() ? "" : ",") + more.str();
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget(
      target->createMCSubtargetInfo(triple, cpu, features));
  if (llvm::Error error = checkRequired(*subtarget))
    return error;

  llvm::TargetOptions llvmOptions;
  // Honours `contract` flags and nothing else.
  llvmOptions.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  llvmOptions.FunctionSections = true;
  llvmOptions.DataSections = true;
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      triple, cpu, features, llvmOptions, llvm::Reloc::PIC_, std::nullopt,
      llvm::CodeGenOptLevel::Aggressive));
  if (!machine)
    return createStringError("LLVM cannot generate code for " + triple.str());
  return machine;
}

/// Sizes that the operating system reports for this machine's caches.
static void measureCaches(TargetInfo &info) {
#ifdef _SC_LEVEL1_DCACHE_SIZE
  auto read = [](int name, uint64_t fallback) -> uint64_t {
    long value = sysconf(name);
    return value > 0 ? value : fallback;
  };
  info.l1 = read(_SC_LEVEL1_DCACHE_SIZE, info.l1);
  info.l2 = read(_SC_LEVEL2_CACHE_SIZE, info.l2);
  info.l3 = read(_SC_LEVEL3_CACHE_SIZE, info.l3);
#endif
}

/// What the instruction set offers, by the names of LLVM's features.
static void readFeatures(TargetInfo &info, const Triple &triple,
                         const llvm::MCSubtargetInfo &subtarget) {
  auto has = [&](StringRef feature) {
    return subtarget.checkFeatures(("+" + feature).str());
  };
  if (triple.getArch() == Triple::x86_64) {
    info.hasF16Conversion = has("f16c");
    info.hasF16Arithmetic = has("avx512fp16");
    info.hasInt8Dot = has("avxvnni") || has("avx512vnni");
  } else if (triple.getArch() == Triple::aarch64) {
    info.hasF16Conversion = true;
    info.hasF16Arithmetic = has("fullfp16");
    info.hasInt8Dot = has("dotprod");
  } else {
    info.hasF16Conversion = has("zvfhmin") || has("zvfh");
    info.hasF16Arithmetic = has("zvfh");
  }
}

TargetInfo onnx_aot::getTargetInfo(llvm::TargetMachine &machine,
                                   const TargetOptions &options) {
  TargetInfo info;
  info.triple = machine.getTargetTriple().str();
  info.cpu = machine.getTargetCPU().str();
  info.features = machine.getTargetFeatureString().str();
  llvm::DataLayout layout = machine.createDataLayout();
  info.dataLayout = layout.getStringRepresentation();

  // The target answers for a function, so ask on behalf of an empty one.
  llvm::LLVMContext context;
  llvm::Module module("target", context);
  module.setTargetTriple(machine.getTargetTriple());
  module.setDataLayout(layout);
  auto *function = llvm::Function::Create(
      llvm::FunctionType::get(llvm::Type::getVoidTy(context), false),
      llvm::Function::ExternalLinkage, "target", module);
  using TTI = llvm::TargetTransformInfo;
  TTI tti = machine.getTargetTransformInfo(*function);

  llvm::Type *f32 = llvm::Type::getFloatTy(context);
  unsigned bits =
      tti.getRegisterBitWidth(TTI::RGK_FixedWidthVector).getFixedValue();
  if (bits >= 128) {
    info.vectorBytes = bits / 8;
    auto *vector = llvm::FixedVectorType::get(f32, bits / 32);
    info.vectorRegisters =
        tti.getNumberOfRegisters(tti.getRegisterClassForType(true, vector));
    info.hasMaskedMemory =
        tti.isLegalMaskedLoad(vector, llvm::Align(4), /*AddressSpace=*/0);
  } else {
    // Without vectors LLVM spreads 16 bytes over four scalar registers.
    info.vectorRegisters =
        tti.getNumberOfRegisters(tti.getRegisterClassForType(false, f32)) / 4;
  }
  info.hasScalableVectors =
      tti.getRegisterBitWidth(TTI::RGK_ScalableVector).getKnownMinValue() > 0;

  const llvm::TargetLowering *lowering =
      machine.getSubtargetImpl(*function)->getTargetLowering();
  auto type = bits >= 128 ? llvm::MVT::getVectorVT(llvm::MVT::f32, bits / 32)
                          : llvm::MVT(llvm::MVT::f32);
  info.hasFma = lowering->isOperationLegalOrCustom(llvm::ISD::FMA, type);

  if (auto size = tti.getCacheSize(TTI::CacheLevel::L1D))
    info.l1 = *size;
  if (auto size = tti.getCacheSize(TTI::CacheLevel::L2D))
    info.l2 = *size;
  if (unsigned line = tti.getCacheLineSize())
    info.cacheLine = line;
  if (isNative(options, machine.getTargetTriple()))
    measureCaches(info);
  readFeatures(info, machine.getTargetTriple(), *machine.getMCSubtargetInfo());
  return info;
}

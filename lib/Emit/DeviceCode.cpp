//===- DeviceCode.cpp - kernels as images for a device --------------------===//

#include "onnx-aot/Emit/DeviceCode.h"
#include "Stages.h"

#include "onnx-aot/Support/EntryAttributes.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/TargetSelect.h"

#include <mutex>
#include <set>

using namespace mlir;
using namespace onnx_aot;
using llvm::createStringError;

//===--- Options ----------------------------------------------------------===//

llvm::Expected<DeviceOptions>
onnx_aot::parseDeviceOptions(StringRef device, StringRef architectures) {
  DeviceOptions options;
  if (device.empty() || device == "cpu") {
    if (architectures.empty())
      return options;
    return createStringError("--gpu-arch wants --device=cuda");
  }
  if (device != "cuda")
    return createStringError("unknown device '" + device.str() +
                             "' (supported: cpu, cuda)");
  options.enabled = true;
  SmallVector<StringRef> names;
  architectures.split(names, ',', -1, /*KeepEmpty=*/false);
  for (StringRef name : names) {
    if (name == "emu") {
      options.emulate = true;
      continue;
    }
    unsigned number = 0;
    StringRef digits = name;
    if (!digits.consume_front("sm_") || digits.getAsInteger(10, number) ||
        number < kLowestArchitecture || number > 130)
      return createStringError("unknown architecture '" + name.str() +
                               "' (supported: sm_75 and later, emu)");
    options.architectures.push_back(number);
  }
  if (options.emulate && !options.architectures.empty())
    return createStringError("--gpu-arch=emu stands alone");
  if (!options.emulate && options.architectures.empty())
    options.architectures.push_back(kLowestArchitecture);
  return options;
}

//===--- Translation ------------------------------------------------------===//

static llvm::Expected<std::unique_ptr<llvm::Module>>
translate(gpu::GPUModuleOp kernels, llvm::LLVMContext &context) {
  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerGPUDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
  kernels->getContext()->appendDialectRegistry(registry);
  std::unique_ptr<llvm::Module> module =
      translateModuleToLLVMIR(kernels, context, "kernels");
  if (!module)
    return createStringError("translation of the kernels to LLVM IR failed");
  module->setSourceFileName("kernels");
  return module;
}

/// Intrinsics that become instructions on every architecture.
static bool isDeviceIntrinsic(StringRef name) {
  if (name.starts_with("llvm.nvvm."))
    return true;
  static constexpr StringLiteral known[] = {
      "abs",          "assume",    "bitreverse", "bswap",      "ceil",
      "copysign",     "ctlz",      "ctpop",      "cttz",       "fabs",
      "floor",        "fma",       "fshl",       "fshr",       "is",
      "lifetime",     "maximum",   "maxnum",     "maximumnum", "minimumnum",
      "experimental", "minimum",   "minnum",     "fmuladd",    "rint",
      "round",        "roundeven", "nearbyint",  "sadd",       "sqrt",
      "smax",         "smin",      "smul",       "ssub",       "trunc",
      "uadd",         "umax",      "umin",       "umul",       "usub"};
  return llvm::is_contained(known, name.drop_front(5).split('.').first);
}

/// Names of the functions that nothing defines.
static llvm::Error checkUndefined(const llvm::Module &module) {
  std::set<std::string> missing;
  for (const llvm::Function &function : module)
    if (function.isDeclaration() && !function.use_empty() &&
        !(function.isIntrinsic() && isDeviceIntrinsic(function.getName())))
      missing.insert(function.getName().str());
  if (missing.empty())
    return llvm::Error::success();
  return createStringError("kernels call functions that the device lacks: " +
                           llvm::join(missing, ", "));
}

//===--- PTX --------------------------------------------------------------===//

static void initializeDevice() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
}

static llvm::Error emit(llvm::Module &module, llvm::TargetMachine &machine,
                        llvm::CodeGenFileType type,
                        llvm::SmallVectorImpl<char> &bytes) {
  llvm::raw_svector_ostream os(bytes);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, os, nullptr, type))
    return createStringError("the target does not write this kind of file");
  passes.run(module);
  return llvm::Error::success();
}

static llvm::Expected<DeviceImage> emitPtx(gpu::GPUModuleOp kernels,
                                           unsigned architecture) {
  initializeDevice();
  llvm::LLVMContext context;
  auto module = translate(kernels, context);
  if (!module)
    return module.takeError();
  llvm::Triple triple("nvptx64-nvidia-cuda");
  std::string problem;
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(triple, problem);
  if (!target)
    return createStringError(problem);
  // Without features the PTX version is the lowest of the architecture: what
  // most drivers can read.
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      triple, ("sm_" + Twine(architecture)).str(), "", {}, std::nullopt,
      std::nullopt, llvm::CodeGenOptLevel::Aggressive));
  if (!machine)
    return createStringError("LLVM cannot generate code for the device");
  (*module)->setTargetTriple(triple);
  (*module)->setDataLayout(machine->createDataLayout());
  if (llvm::Error error = checkUndefined(**module))
    return error;
  optimizeFully(**module, *machine);
  llvm::raw_string_ostream os(problem);
  if (llvm::verifyModule(**module, &os))
    return createStringError("the kernels are invalid: " + problem);
  if (llvm::Error error = checkUndefined(**module))
    return error;
  llvm::SmallVector<char, 0> text;
  if (llvm::Error error =
          emit(**module, *machine, llvm::CodeGenFileType::AssemblyFile, text))
    return error;
  // The driver wants its end marked.
  text.push_back('\0');
  return DeviceImage{ONNX_AOT_IMAGE_PTX, architecture,
                     std::string(text.begin(), text.end())};
}

//===--- Machine code
//-------------------------------------------------------===//

/// Calls `use` with the names of two temporary files.
static llvm::Error
withFiles(StringRef from, StringRef to,
          llvm::function_ref<llvm::Error(StringRef, StringRef)> use) {
  llvm::SmallString<128> fromPath, toPath;
  using llvm::sys::fs::createTemporaryFile;
  if (std::error_code error = createTemporaryFile("kernels", from, fromPath))
    return llvm::errorCodeToError(error);
  llvm::FileRemover removeFrom(fromPath);
  if (std::error_code error = createTemporaryFile("kernels", to, toPath))
    return llvm::errorCodeToError(error);
  llvm::FileRemover removeTo(toPath);
  return use(fromPath, toPath);
}

static llvm::Error writeFile(StringRef path, StringRef bytes) {
  return llvm::writeToOutput(path, [&](llvm::raw_ostream &os) {
    os << bytes;
    return llvm::Error::success();
  });
}

static llvm::Expected<std::string> readFile(StringRef path) {
  auto file = llvm::MemoryBuffer::getFile(path);
  if (!file)
    return llvm::errorCodeToError(file.getError());
  return (*file)->getBuffer().str();
}

static llvm::Expected<DeviceImage> assemble(const DeviceImage &ptx,
                                            StringRef assembler) {
  DeviceImage image{ONNX_AOT_IMAGE_CUBIN, ptx.architecture, ""};
  llvm::Error error = withFiles(
      "ptx", "cubin", [&](StringRef text, StringRef code) -> llvm::Error {
        if (llvm::Error error =
                writeFile(text, StringRef(ptx.bytes).drop_back()))
          return error;
        std::string architecture =
                        ("-arch=sm_" + Twine(ptx.architecture)).str(),
                    reason;
        int status = llvm::sys::ExecuteAndWait(
            assembler, {assembler, architecture, text, "-o", code},
            std::nullopt, {}, 0, 0, &reason);
        if (status != 0)
          return createStringError("'" + assembler.str() +
                                   "' does not assemble the kernels" +
                                   (reason.empty() ? "" : ": " + reason));
        auto bytes = readFile(code);
        if (!bytes)
          return bytes.takeError();
        image.bytes = std::move(*bytes);
        return llvm::Error::success();
      });
  if (error)
    return error;
  return image;
}

//===--- Emulation --------------------------------------------------------===//

/// Kernels as a shared object of the host, which the emulating driver loads.
static llvm::Expected<DeviceImage> emitEmulated(gpu::GPUModuleOp kernels,
                                                const TargetOptions &host) {
  llvm::LLVMContext context;
  auto module = translate(kernels, context);
  if (!module)
    return module.takeError();
  auto machine = createTargetMachine(host);
  if (!machine)
    return machine.takeError();
  (*module)->setTargetTriple((*machine)->getTargetTriple());
  (*module)->setDataLayout((*machine)->createDataLayout());
  optimize(**module, **machine, /*optLevel=*/1);
  llvm::SmallVector<char, 0> object;
  if (llvm::Error error =
          emit(**module, **machine, llvm::CodeGenFileType::ObjectFile, object))
    return error;

  DeviceImage image{ONNX_AOT_IMAGE_EMULATOR, 0, ""};
  llvm::Error error =
      withFiles("o", "so", [&](StringRef from, StringRef to) -> llvm::Error {
        if (llvm::Error error =
                writeFile(from, StringRef(object.data(), object.size())))
          return error;
        if (llvm::Error error =
                linkSharedObject({from.str()}, to, "kernels", "kernels"))
          return error;
        auto bytes = readFile(to);
        if (!bytes)
          return bytes.takeError();
        image.bytes = std::move(*bytes);
        return llvm::Error::success();
      });
  if (error)
    return error;
  return image;
}

//===--- All --------------------------------------------------------------===//

llvm::Expected<DeviceCode>
onnx_aot::compileDeviceCode(ModuleOp module, const TargetOptions &host,
                            const DeviceOptions &options) {
  DeviceCode code;
  auto modules = llvm::to_vector(module.getOps<gpu::GPUModuleOp>());
  if (modules.empty())
    return code;
  gpu::GPUModuleOp kernels = modules.front();
  auto list = kernels->getAttrOfType<ArrayAttr>(kDeviceKernelsAttr);
  if (modules.size() != 1 || !list)
    return createStringError("the module's kernels are not listed");
  for (auto kernel : list.getAsRange<DictionaryAttr>()) {
    auto name = kernel.getAs<StringAttr>("name");
    auto threads = kernel.getAs<IntegerAttr>("threads");
    auto shared = kernel.getAs<IntegerAttr>("shared_bytes");
    if (!name || !threads || !shared)
      return createStringError("the module's list of kernels is malformed");
    code.kernels.push_back(
        {name.str(), (unsigned)threads.getInt(), (unsigned)shared.getInt()});
  }
  if (options.emulate) {
    auto image = emitEmulated(kernels, host);
    if (!image)
      return image.takeError();
    code.images.push_back(std::move(*image));
  }
  for (unsigned architecture : options.architectures) {
    auto image = emitPtx(kernels, architecture);
    if (!image)
      return image.takeError();
    if (!options.assembler.empty()) {
      auto assembled = assemble(*image, options.assembler);
      if (!assembled)
        return assembled.takeError();
      code.images.push_back(std::move(*assembled));
    }
    code.images.push_back(std::move(*image));
  }
  kernels.erase();
  return code;
}

//===- EmitObject.cpp - bitcode parts to object files ---------------------===//

#include "Stages.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/ThreadPool.h"

#include <atomic>
#include <chrono>
#include <mutex>
#include <set>

using namespace onnx_aot;
using llvm::createStringError;

namespace {
/// Collects LLVM's errors instead of printing them and leaving the process.
struct ErrorCollector : llvm::DiagnosticHandler {
  explicit ErrorCollector(std::string &text) : text(text) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo &info) override {
    if (info.getSeverity() != llvm::DS_Error)
      return true;
    llvm::raw_string_ostream os(text);
    llvm::DiagnosticPrinterRawOStream printer(os);
    info.print(printer);
    return true;
  }
  std::string &text;
};

/// Seconds since construction.
class Stopwatch {
public:
  double seconds() const {
    return std::chrono::duration<double>(Clock::now() - start).count();
  }

private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start = Clock::now();
};
} // namespace

static llvm::CodeGenOptLevel getCodeGenLevel(unsigned optLevel) {
  switch (optLevel) {
  case 0:
    return llvm::CodeGenOptLevel::None;
  case 1:
    return llvm::CodeGenOptLevel::Default;
  default:
    return llvm::CodeGenOptLevel::Aggressive;
  }
}

/// Compiles one part with its own context and target machine, so that parts can
/// be compiled at the same time.
static llvm::Expected<ObjectBuffer>
generateObject(llvm::ArrayRef<char> bitcode, const TargetOptions &target,
               unsigned optLevel, std::atomic<double> &optimizeSeconds,
               std::atomic<double> &objectSeconds) {
  auto add = [](std::atomic<double> &sum, double value) {
    double old = sum.load();
    while (!sum.compare_exchange_weak(old, old + value))
      ;
  };
  llvm::LLVMContext context;
  std::string problem;
  context.setDiagnosticHandler(std::make_unique<ErrorCollector>(problem));
  auto machine = createTargetMachine(target);
  if (!machine)
    return machine.takeError();
  (*machine)->setOptLevel(getCodeGenLevel(optLevel));
  auto module = llvm::parseBitcodeFile(
      llvm::MemoryBufferRef({bitcode.data(), bitcode.size()}, "part"), context);
  if (!module)
    return module.takeError();

  Stopwatch optimizeTime;
  optimize(**module, **machine, optLevel);
  add(optimizeSeconds, optimizeTime.seconds());

  Stopwatch objectTime;
  ObjectBuffer object;
  llvm::raw_svector_ostream os(object);
  llvm::legacy::PassManager passes;
  if ((*machine)->addPassesToEmitFile(passes, os, nullptr,
                                      llvm::CodeGenFileType::ObjectFile))
    return createStringError("the target does not write object files");
  passes.run(**module);
  add(objectSeconds, objectTime.seconds());
  if (!problem.empty())
    return createStringError("code generation failed: " + problem);
  return object;
}

llvm::Expected<std::vector<ObjectBuffer>>
onnx_aot::generateObjects(llvm::ArrayRef<llvm::SmallVector<char, 0>> parts,
                          const TargetOptions &target, unsigned optLevel,
                          ArtifactReport &report) {
  std::vector<ObjectBuffer> objects(parts.size());
  std::atomic<double> optimizeSeconds = 0, objectSeconds = 0;
  llvm::Error errors = llvm::Error::success();
  std::mutex mutex;
  {
    llvm::DefaultThreadPool pool(llvm::hardware_concurrency(parts.size()));
    for (size_t i = 0; i < parts.size(); ++i)
      pool.async([&, i] {
        auto object = generateObject(parts[i], target, optLevel,
                                     optimizeSeconds, objectSeconds);
        if (object) {
          objects[i] = std::move(*object);
          return;
        }
        std::lock_guard<std::mutex> lock(mutex);
        errors = llvm::joinErrors(std::move(errors), object.takeError());
      });
    pool.wait();
  }
  report.optimizeSeconds = optimizeSeconds;
  report.objectSeconds = objectSeconds;
  if (errors)
    return errors;
  return objects;
}

/// Calls `visit(name, flags)` for the symbols of an object file.
template <typename Visit>
static llvm::Error visitSymbols(const ObjectBuffer &object, Visit visit) {
  auto file = llvm::object::ObjectFile::createObjectFile(
      llvm::MemoryBufferRef({object.data(), object.size()}, "part"));
  if (!file)
    return file.takeError();
  for (const llvm::object::SymbolRef &symbol : (*file)->symbols()) {
    auto name = symbol.getName();
    auto flags = symbol.getFlags();
    if (!name)
      return name.takeError();
    if (!flags)
      return flags.takeError();
    visit(*name, *flags);
  }
  return llvm::Error::success();
}

llvm::Error
onnx_aot::checkUndefinedSymbols(llvm::ArrayRef<ObjectBuffer> objects,
                                llvm::ArrayRef<std::string> allowed) {
  llvm::StringSet<> known;
#define EXTERNAL_FUNCTION(name) known.insert(#name);
#include "onnx-aot/Emit/ExternalFunctions.def"
  for (const std::string &name : allowed)
    known.insert(name);
  known.insert(""); // the null symbol
  using Flags = llvm::object::BasicSymbolRef::Flags;
  std::set<std::string> missing;
  for (bool isSecondPass : {false, true})
    for (const ObjectBuffer &object : objects)
      if (llvm::Error error =
              visitSymbols(object, [&](llvm::StringRef name, uint32_t flags) {
                bool isUndefined = flags & Flags::SF_Undefined;
                if (!isSecondPass && !isUndefined)
                  known.insert(name);
                if (isSecondPass && isUndefined && !known.contains(name))
                  missing.insert(name.str());
              }))
        return error;
  if (missing.empty())
    return llvm::Error::success();
  return createStringError(
      "the compiled code calls functions that it must not depend on: " +
      llvm::join(missing, ", "));
}

//===- OptimizeLLVM.cpp - LLVM IR passes of a part ------------------------===//
//
// Code generation leaves vectorised kernels that need little more than a
// clean-up: measured, the whole O2 and O3 pipelines give the same speed and
// cost many times the compile time. Functions with scalar loops get LLVM's
// whole optimizer, which vectorises and unrolls them. No pass may use
// fast-math: only flags on instructions count.
//
//===----------------------------------------------------------------------===//

#include "Stages.h"

#include "llvm/Passes/PassBuilder.h"

using namespace onnx_aot;

/// Promotes stack tiles and aggregates to registers and removes what is
/// repeated; nothing here changes loops.
static constexpr llvm::StringLiteral cleanup =
    "globaldce,function(sroa,early-cse,instcombine<no-verify-fixpoint>,"
    "simplifycfg,loop-mssa(licm),vector-combine,"
    "instcombine<no-verify-fixpoint>,simplifycfg)";

static bool hasScalarLoops(const llvm::Module &module) {
  return llvm::any_of(module, [](const llvm::Function &function) {
    return !function.isDeclaration() &&
           function.hasFnAttribute(scalarLoopsFnAttr);
  });
}

/// Runs the passes that `build` chooses.
static void
run(llvm::Module &module, llvm::TargetMachine &machine,
    llvm::PipelineTuningOptions tuning,
    llvm::function_ref<llvm::ModulePassManager(llvm::PassBuilder &)> build) {
  llvm::PassBuilder builder(&machine, tuning);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager callGraph;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(callGraph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, callGraph, modules);
  build(builder).run(module, modules);
}

void onnx_aot::optimize(llvm::Module &module, llvm::TargetMachine &machine,
                        unsigned optLevel) {
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = tuning.SLPVectorization = optLevel >= 2;
  run(module, machine, tuning, [&](llvm::PassBuilder &builder) {
    if (optLevel >= 2 && hasScalarLoops(module))
      return builder.buildPerModuleDefaultPipeline(
          optLevel == 3 ? llvm::OptimizationLevel::O3
                        : llvm::OptimizationLevel::O2);
    llvm::ModulePassManager passes;
    llvm::StringRef text = optLevel == 0 ? "globaldce" : cleanup;
    llvm::cantFail(builder.parsePassPipeline(passes, text));
    return passes;
  });
}

void onnx_aot::optimizeFully(llvm::Module &module,
                             llvm::TargetMachine &machine) {
  run(module, machine, {}, [](llvm::PassBuilder &builder) {
    return builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3);
  });
}

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

void onnx_aot::optimize(llvm::Module &module, llvm::TargetMachine &machine,
                        unsigned optLevel) {
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = tuning.SLPVectorization = optLevel >= 2;
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

  llvm::ModulePassManager passes;
  if (optLevel >= 2 && hasScalarLoops(module)) {
    auto level = optLevel == 3 ? llvm::OptimizationLevel::O3
                               : llvm::OptimizationLevel::O2;
    passes = builder.buildPerModuleDefaultPipeline(level);
  } else {
    llvm::StringRef text = optLevel == 0 ? "globaldce" : cleanup;
    llvm::cantFail(builder.parsePassPipeline(passes, text));
  }
  passes.run(module, modules);
}

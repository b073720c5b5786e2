//===- Compilation.h - one model on its way through the phases --*- C++ -*-===//
#ifndef ONNX_AOT_LIB_DRIVER_COMPILATION_H
#define ONNX_AOT_LIB_DRIVER_COMPILATION_H

#include "Problems.h"
#include "Progress.h"

#include "onnx-aot/Codegen/Pipeline.h"
#include "onnx-aot/Driver/CompilerInvocation.h"
#include "onnx-aot/Emit/Artifact.h"

#include "mlir/IR/OwningOpRef.h"

namespace onnx_aot {

/// Whether an input is MLIR by its name, not a model.
bool isMlirFile(llvm::StringRef path);

/// The file of --dump-phases for a phase; `program` is empty for inference.
std::string getDumpPath(llvm::StringRef folder, llvm::StringRef program,
                        Phase phase);

/// Runs the phases that an invocation needs.
class Compilation {
public:
  Compilation(const CompilerInvocation &invocation, mlir::MLIRContext &context,
              ProblemCollector &problems, Progress &progress)
      : invocation(invocation), context(context), problems(problems),
        progress(progress) {}

  mlir::LogicalResult run();

  /// The programs of a training module, with sizes; empty for inference.
  llvm::ArrayRef<ArtifactProgram> getPrograms() const { return programs; }
  llvm::ArrayRef<MemoryUse> getProgramMemory() const { return programMemory; }
  const TrainingInfo &getTraining() const { return training; }
  /// What is known once all phases have run.
  const TargetInfo &getTarget() const { return target; }
  const CodegenResult &getResult() const { return result; }
  /// Names of the functions with code, in the module's order.
  llvm::ArrayRef<std::string> getKernels() const { return kernels; }

private:
  /// All of a training module: its programs one after the other.
  mlir::LogicalResult runTraining();
  mlir::LogicalResult prepareTraining(TrainingBuilder &builder);
  /// The graph of a file that is a loss; null after an error.
  mlir::OwningOpRef<mlir::ModuleOp> importLoss(llvm::StringRef path);
  /// Takes the model's file into the descriptor.
  mlir::LogicalResult keepModel();
  /// Takes what a program's state needs off the memory budget.
  mlir::LogicalResult divideBudget(const ProgramInfo &program);
  mlir::LogicalResult emitTraining(const TrainingBuilder &builder);

  mlir::LogicalResult describeTarget();
  mlir::LogicalResult import();
  mlir::LogicalResult optimize();
  mlir::LogicalResult lowerToLinalg();
  mlir::LogicalResult generateCode();
  mlir::LogicalResult emit();
  mlir::LogicalResult compileKernels();
  /// Writes the kernels as text.
  void printKernels(llvm::raw_ostream &os) const;
  /// Where --check ends.
  Phase getLastCheckedPhase() const;

  /// Runs the passes that `build` adds.
  mlir::LogicalResult
  runPasses(llvm::function_ref<void(mlir::PassManager &)> build);
  /// Dumps and prints the result of a phase as far as asked for.
  mlir::LogicalResult finish(Phase phase);
  /// Writes what `print` prints to a file; with it the report, if the file is
  /// the invocation's output.
  mlir::LogicalResult
  writeText(llvm::StringRef path,
            llvm::function_ref<llvm::Error(llvm::raw_ostream &)> print);
  ArtifactOptions getArtifactOptions() const;

  const CompilerInvocation &invocation;
  mlir::MLIRContext &context;
  ProblemCollector &problems;
  Progress &progress;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// The phase whose result the input was.
  Phase lastPhase = Phase::Import;
  TargetInfo target;
  Tuning tuning;
  CodegenResult result;
  DeviceCode device;
  std::vector<std::string> kernels;
  std::vector<mlir::OwningOpRef<mlir::ModuleOp>> programModules;
  std::vector<ArtifactProgram> programs;
  std::vector<MemoryUse> programMemory;
  TrainingInfo training;
  /// The program at work; empty for inference.
  std::string programName;
  /// What its arena may take.
  MemoryOptions memory;
  /// What --emit prints of the programs.
  std::string printed;
};

} // namespace onnx_aot

#endif // ONNX_AOT_LIB_DRIVER_COMPILATION_H

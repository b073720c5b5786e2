//===- Compile.cpp - the compiler as one function -------------------------===//

#include "onnx-aot/Driver/Compile.h"
#include "CheckFiles.h"
#include "Compilation.h"
#include "Report.h"

#include "onnx-aot/Emit/Artifact.h"
#include "onnx-aot/Emit/OutputFiles.h"
#include "onnx-aot/InitAll.h"

#include "llvm/Support/FileSystem.h"

using namespace mlir;
using namespace onnx_aot;

/// Finds what is wrong with the flags before any work is done.
static void checkInvocation(const CompilerInvocation &invocation,
                            ProblemCollector &problems) {
  checkFiles(invocation, problems);
  if (invocation.checkOnly)
    return;
  StringRef output = invocation.output;
  bool isText =
      invocation.printPhase && *invocation.printPhase != Phase::Object;
  if (output.empty())
    problems.add("give the file to write with -o");
  else if (output == "-" && !isText)
    problems.add("objects are not written to standard output; give -o FILE");
  else if (!invocation.printPhase && !getArtifactKind(output))
    problems.add("the suffix of '" + output +
                 "' does not say what to write (supported: .so, .o, .a)");
  if (invocation.training && invocation.externalWeights)
    problems.add("a training module has its parameters in a checkpoint and its "
                 "few constants inside: --weights=external does not apply");
  if (invocation.training && invocation.printPhase == Phase::Object)
    problems.add("--emit=obj does not apply to training: give -o FILE.o");
  for (const std::string &library : invocation.libraries)
    if (!llvm::sys::fs::exists(library))
      problems.add("there is no file '" + library + "' to link");
  if (!invocation.libraries.empty() && !output.ends_with(".so"))
    problems.add("--library is for shared objects: link '" + output +
                 "' and the library into your program");
  for (const auto &op : invocation.customOps)
    for (const std::string &function :
         {op.second.callee, op.second.shapeCallee})
      if (!function.empty() && function != makeIdentifier(function))
        problems.add("'" + function +
                     "' of --custom-op is not a C identifier "
                     "that begins with a letter");
  const std::string &prefix = invocation.prefix;
  if (!prefix.empty() && prefix != makeIdentifier(prefix))
    problems.add("prefix '" + prefix +
                 "' is not a C identifier that begins with a letter");
}

/// Writes the report of a compilation without an output.
static void writeReport(const CompilerInvocation &invocation,
                        const Compilation &compilation,
                        const Progress &progress, ProblemCollector &problems) {
  if (invocation.reportFile.empty())
    return;
  OutputFiles files(invocation.reportFile);
  llvm::Error error =
      files.write(invocation.reportFile, [&](llvm::raw_ostream &os) {
        printReport(invocation, compilation, progress, ArtifactReport(), os);
        return llvm::Error::success();
      });
  if (!error)
    error = files.commit();
  if (error)
    problems.add(std::move(error));
}

/// Prints what was found; on success only warnings.
static void printProblems(const CompilerInvocation &invocation,
                          const ProblemCollector &problems) {
  unsigned numErrors = problems.getNumErrors();
  if (invocation.json) {
    llvm::json::Object object{{"model", llvm::json::fixUTF8(invocation.input)},
                              {"ok", numErrors == 0},
                              {"problems", problems.toJSON()}};
    llvm::outs() << llvm::formatv("{0:2}\n",
                                  llvm::json::Value(std::move(object)));
    return;
  }
  problems.print(llvm::errs());
  if (numErrors > 1)
    llvm::errs() << numErrors << " errors\n";
  if (invocation.checkOnly && numErrors == 0)
    llvm::outs() << invocation.input << ": can be compiled\n";
}

LogicalResult onnx_aot::compile(const CompilerInvocation &invocation) {
  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext context(registry);
  context.printOpOnDiagnostic(false); // the node's name says it
  ProblemCollector problems(&context);
  checkInvocation(invocation, problems);
  if (problems.getNumErrors() == 0) {
    Progress progress(invocation.input);
    Compilation compilation(invocation, context, problems, progress);
    LogicalResult result = compilation.run();
    progress.end();
    if (failed(result) && problems.getNumErrors() == 0)
      problems.add("the compilation failed and no reason was given: this is a "
                   "bug in onnx-aot");
    // Elsewhere the report appears together with the output.
    if (succeeded(result) && invocation.checkOnly)
      writeReport(invocation, compilation, progress, problems);
  }
  printProblems(invocation, problems);
  return failure(problems.getNumErrors() != 0);
}

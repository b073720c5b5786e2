//===- onnx-aot-compile.cpp - compile an ONNX model -----------------------===//

#include "Options.h"

#include "onnx-aot/Driver/Compile.h"

#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>

/// A full disk behind standard output is an error like any other, also for
/// what --help prints.
static void checkStandardOutput() {
  llvm::outs().flush();
  if (!llvm::outs().has_error())
    return;
  llvm::errs() << "error: cannot write to standard output: "
               << llvm::outs().error().message() << "\n";
  llvm::outs().clear_error();
  std::_Exit(1);
}

int main(int argc, char **argv) {
  llvm::setBugReportMsg("this is a bug in onnx-aot; please report it with the "
                        "model and the lines below\n");
  llvm::InitLLVM init(argc, argv);
  // The stream is made first, so that it is destroyed after the check.
  llvm::outs();
  std::atexit(checkStandardOutput);
  return mlir::failed(
      onnx_aot::compile(onnx_aot::parseCommandLine(argc, argv)));
}

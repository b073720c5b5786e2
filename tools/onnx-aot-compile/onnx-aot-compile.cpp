//===- onnx-aot-compile.cpp - compile an ONNX model -----------------------===//

#include "Options.h"

#include "onnx-aot/Driver/Compile.h"

#include "llvm/Support/InitLLVM.h"

int main(int argc, char **argv) {
  llvm::setBugReportMsg("this is a bug in onnx-aot; please report it with the "
                        "model and the lines below\n");
  llvm::InitLLVM init(argc, argv);
  return mlir::failed(
      onnx_aot::compile(onnx_aot::parseCommandLine(argc, argv)));
}

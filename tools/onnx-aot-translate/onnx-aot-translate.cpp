//===- onnx-aot-translate.cpp - ONNX files as MLIR, for tests -------------===//

#include "onnx-aot/Dialect/Onnx/IR/Onnx.h"
#include "onnx-aot/Import/Importer.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Tools/mlir-translate/MlirTranslateMain.h"
#include "mlir/Tools/mlir-translate/Translation.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/SourceMgr.h"

static llvm::cl::list<std::string>
    dims("dim", llvm::cl::desc("Give a symbolic dimension a size: NAME=N"));

/// The file is read by its name: external data lies beside it.
static mlir::OwningOpRef<mlir::Operation *>
importFile(const std::shared_ptr<llvm::SourceMgr> &sources,
           mlir::MLIRContext *context) {
  onnx_aot::ImportOptions options;
  for (llvm::StringRef dim : dims) {
    auto [name, text] = dim.rsplit('=');
    int64_t size = -1;
    if (text.getAsInteger(10, size))
      size = -1;
    options.dims.emplace_back(name.str(), size);
  }
  auto *file = sources->getMemoryBuffer(sources->getMainFileID());
  return mlir::OwningOpRef<mlir::Operation *>(
      onnx_aot::importOnnxModel(file->getBufferIdentifier(), context, options)
          .release());
}

int main(int argc, char **argv) {
  mlir::TranslateToMLIRRegistration registration(
      "import-onnx", "import an ONNX model", importFile,
      [](mlir::DialectRegistry &registry) {
        registry.insert<mlir::func::FuncDialect, onnx_aot::onnx::OnnxDialect>();
      });
  return failed(
      mlir::mlirTranslateMain(argc, argv, "onnx-aot translation driver"));
}

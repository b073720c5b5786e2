//===- onnx-aot-reduce.cpp - shrink a program that shows a bug ------------===//

#include "onnx-aot/InitAll.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Tools/mlir-reduce/MlirReduceMain.h"

int main(int argc, char **argv) {
  onnx_aot::registerAllPasses();
  mlir::DialectRegistry registry;
  onnx_aot::registerAllDialects(registry);
  mlir::MLIRContext context(registry);
  return mlir::failed(mlir::mlirReduceMain(argc, argv, context));
}

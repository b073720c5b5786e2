//===- onnx-aot-opt.cpp - run any pass on any stretch of the compiler -----===//

#include "onnx-aot/InitAll.h"

#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  onnx_aot::registerAllPasses();
  mlir::DialectRegistry registry;
  onnx_aot::registerAllDialects(registry);
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "onnx-aot optimizer driver\n", registry));
}

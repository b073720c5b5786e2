//===- InitAll.cpp - register everything ----------------------------------===//

#include "onnx-aot/InitAll.h"
#include "onnx-aot/Autodiff/Passes.h"
#include "onnx-aot/Codegen/CPU/Passes.h"
#include "onnx-aot/Codegen/Common/Passes.h"
#include "onnx-aot/Codegen/Common/RegisterInterfaces.h"
#include "onnx-aot/Codegen/GPU/Passes.h"
#include "onnx-aot/Codegen/GPU/Pipeline.h"
#include "onnx-aot/Codegen/Pipeline.h"
#include "onnx-aot/Conversion/Passes.h"
#include "onnx-aot/Dialect/Kernel/IR/Kernel.h"
#include "onnx-aot/Dialect/Onnx/IR/Onnx.h"
#include "onnx-aot/Dialect/Train/IR/Train.h"
#include "onnx-aot/Transforms/Passes.h"
#include "onnx-aot/Transforms/Pipeline.h"

#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"

void onnx_aot::registerAllDialects(mlir::DialectRegistry &registry) {
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  registry
      .insert<onnx::OnnxDialect, kernel::KernelDialect, train::TrainDialect>();
  registerGradientRules(registry);
  registerCodegenInterfaces(registry);
}

void onnx_aot::registerAllPasses() {
  mlir::registerAllPasses();
  registerTransformsPasses();
  registerTransformsPipelines();
  registerAutodiffPasses();
  registerConversionPasses();
  registerCodegenCommonPasses();
  registerCodegenCPUPasses();
  registerCodegenGPUPasses();
  registerCodegenPipelines();
  registerGpuPipelines();
}

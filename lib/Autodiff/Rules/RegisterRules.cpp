//===- RegisterRules.cpp - attach all gradient rules ----------------------===//

#include "Rules.h"
#include "onnx-aot/Autodiff/Passes.h"

using namespace mlir;
using namespace onnx_aot;

void onnx_aot::registerGradientRules(DialectRegistry &registry) {
  registry.addExtension(
      +[](MLIRContext *context, onnx::OnnxDialect *, train::TrainDialect *) {
#define ONNX_AOT_GRADIENT_CATEGORY(NAME) populate##NAME##GradientRules(context);
#include "RuleCategories.def"
      });
}

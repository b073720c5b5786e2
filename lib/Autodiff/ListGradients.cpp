//===- ListGradients.cpp - print which ops have a gradient ----------------===//

#include "onnx-aot/Autodiff/GradientBuilder.h"
#include "onnx-aot/Autodiff/Passes.h"
#include "onnx-aot/Dialect/Train/IR/Train.h"

using namespace mlir;
using namespace onnx_aot;

namespace onnx_aot {
#define GEN_PASS_DEF_LISTGRADIENTS
#include "onnx-aot/Autodiff/Passes.h.inc"
} // namespace onnx_aot

namespace {
struct ListGradients : onnx_aot::impl::ListGradientsBase<ListGradients> {
  void runOnOperation() override {
    SmallVector<StringRef> names;
    for (RegisteredOperationName name : getContext().getRegisteredOperations())
      if (name.hasInterface<GradientOpInterface>())
        names.push_back(name.getStringRef());
    llvm::sort(names);
    for (StringRef name : names)
      llvm::outs() << name << "\n";
    markAllAnalysesPreserved();
  }
};
} // namespace

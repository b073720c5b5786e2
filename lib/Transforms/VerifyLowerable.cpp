//===- VerifyLowerable.cpp - what Conversion may assume -------------------===//

#include "onnx-aot/Dialect/Onnx/IR/Onnx.h"
#include "onnx-aot/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace onnx_aot;

namespace onnx_aot {
#define GEN_PASS_DEF_VERIFYLOWERABLE
#include "onnx-aot/Transforms/Passes.h.inc"
} // namespace onnx_aot

/// Whether the rank of every tensor in the type is known.
static bool hasKnownRank(Type type) {
  if (auto sequence = dyn_cast<onnx::SequenceType>(type))
    return hasKnownRank(sequence.getElementType());
  if (auto optional = dyn_cast<onnx::OptionalType>(type))
    return hasKnownRank(optional.getElementType());
  return !isa<UnrankedTensorType>(type);
}

namespace {
struct VerifyLowerable : onnx_aot::impl::VerifyLowerableBase<VerifyLowerable> {
  void runOnOperation() override {
    bool bad = false;
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      for (auto [index, type] : llvm::enumerate(function.getArgumentTypes())) {
        if (hasKnownRank(type))
          continue;
        auto name =
            function.getArgAttrOfType<StringAttr>(index, onnx::kNameAttr);
        function.emitError("input ")
            << (name ? "'" + name.getValue() + "'" : Twine(index))
            << " of type " << type
            << " has no known rank, which cannot be compiled (give the "
            << "input a shape; single dimensions may be symbolic)";
        bad = true;
      }
      function.walk([&](Operation *op) { bad |= failed(verifyOp(op)); });
    }
    if (bad)
      signalPassFailure();
  }

private:
  /// Reports the first thing wrong with the op; what follows from an operand
  /// that was reported already is not said again.
  LogicalResult verifyOp(Operation *op) {
    if (!op->isRegistered())
      return op->emitOpError("is not an operator that can be compiled");
    if (!llvm::all_of(op->getOperandTypes(), hasKnownRank))
      return success();
    for (Value result : op->getResults())
      if (!hasKnownRank(result.getType()) && !result.use_empty())
        return op->emitOpError("has an output of unknown rank (")
               << result.getType()
               << "); its rank must follow from constants or input shapes";
    return success();
  }
};
} // namespace

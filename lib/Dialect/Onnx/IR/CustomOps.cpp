//===- CustomOps.cpp - verifier and shape function ------------------------===//

#include "onnx-aot/Dialect/Onnx/IR/Custom.h"

using namespace mlir;
using namespace onnx_aot::onnx;

LogicalResult CustomCallOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  llvm::append_range(types, getOutputTypes().getAsValueRange<TypeAttr>());
  return success();
}

LogicalResult CustomCallOp::verify() {
  if (llvm::count(getPresent(), true) !=
      static_cast<int64_t>(getInputs().size()))
    return emitOpError("has ")
           << getInputs().size() << " inputs that `present` does not list";
  if (getOutputTypes().size() != getNumResults())
    return emitOpError("has ") << getNumResults() << " outputs of "
                               << getOutputTypes().size() << " types";
  for (Type type : getOutputTypes().getAsValueRange<TypeAttr>()) {
    std::optional<Shape> shape = getShape(type);
    if (!shape)
      return emitOpError("has an output without a declared rank: ") << type;
    for (Dim dim : *shape)
      if (!dim.isKnown() && getShapeCallee().empty())
        return emitOpError("has an output of unknown size and no function that "
                           "tells it: ")
               << type;
  }
  return success();
}

//===- ReplaceSizes.cpp - other sizes in all types ------------------------===//

#include "onnx-aot/Dialect/Onnx/IR/ReplaceSizes.h"

#include "onnx-aot/Dialect/Onnx/IR/Shape.h"

#include "mlir/IR/AttrTypeSubElements.h"

using namespace mlir;
using namespace onnx_aot::onnx;

void onnx_aot::onnx::replaceSizes(
    Operation *op, const DenseMap<AffineExpr, AffineExpr> &sizes) {
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](RankedTensorType type) -> std::optional<Type> {
    if (!type.getEncoding())
      return std::nullopt;
    Shape shape = *getShape(type);
    for (Dim &dim : shape)
      if (dim.isKnown())
        dim = Dim(dim.getExpr().replace(sizes));
    return getTensorType(shape, type.getElementType());
  });
  replacer.recursivelyReplaceElementsIn(op, /*replaceAttrs=*/true,
                                        /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
}

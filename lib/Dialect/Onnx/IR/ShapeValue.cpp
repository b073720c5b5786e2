//===- ShapeValue.cpp - integer tensors known at compile time ---------------===//
//
// Exported models compute shapes with tensor ops: Shape -> Gather -> Concat ->
// Reshape. This evaluates such chains over symbolic dimensions.
//
//===----------------------------------------------------------------------===//

#include "onnx-aot/Dialect/Onnx/IR/Onnx.h"

using namespace mlir;

namespace onnx_aot::onnx {

/// Shape tensors are short; longer ones are data.
static constexpr int64_t kMaxElements = 64;
/// Chains in real models are about ten ops long.
static constexpr unsigned kMaxDepth = 64;

std::optional<SmallVector<int64_t>> getConstantIntegers(Value value) {
  auto constant = value ? value.getDefiningOp<ConstantOp>() : ConstantOp();
  if (!constant)
    return std::nullopt;
  auto elements = dyn_cast<DenseElementsAttr>(constant.getValue());
  if (!elements || !isa<IntegerType>(elements.getElementType()))
    return std::nullopt;
  bool isUnsigned = elements.getElementType().isUnsignedInteger();
  SmallVector<int64_t> result;
  for (const APInt &element : elements.getValues<APInt>())
    result.push_back(isUnsigned ? static_cast<int64_t>(element.getLimitedValue())
                                : element.getSExtValue());
  return result;
}

static std::optional<SmallVector<Dim>> evaluate(Value value, unsigned depth);

std::optional<SmallVector<Dim>> getShapeValue(Value value) {
  return evaluate(value, 0);
}

static std::optional<SmallVector<Dim>> evaluate(Value value, unsigned depth) {
  if (!value || depth > kMaxDepth)
    return std::nullopt;
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || type.getRank() > 1 || !isa<IntegerType>(type.getElementType()))
    return std::nullopt;
  MLIRContext *context = value.getContext();
  if (type.hasStaticShape() && type.getNumElements() > kMaxElements)
    return std::nullopt;
  if (std::optional<SmallVector<int64_t>> constant = getConstantIntegers(value)) {
    SmallVector<Dim> result;
    for (int64_t element : *constant)
      result.push_back(Dim::constant(context, element));
    return result;
  }
  // The ops of the Shape category add their cases here.
  if (!type.hasStaticShape())
    return std::nullopt;
  return SmallVector<Dim>(type.getNumElements(), Dim::unknown());
}

} // namespace onnx_aot::onnx

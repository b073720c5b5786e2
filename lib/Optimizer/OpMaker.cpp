//===- OpMaker.cpp - arithmetic as onnx ops -------------------------------===//

#include "onnx-aot/Optimizer/OpMaker.h"

using namespace mlir;
using namespace onnx_aot;

Value OpMaker::cast(Value x, Type elementType) {
  if (onnx::getElementType(x) == elementType)
    return x;
  return create<onnx::CastOp>(x, "up", /*saturate=*/1,
                              *onnx::getDataTypeOf(elementType));
}

Value OpMaker::sumAll(Value x) {
  if (*onnx::getRank(x) == 0)
    return x;
  // Of all dimensions at once: what makes the elements is then part of the
  // kernel.
  return create<onnx::ReduceSumOp>(x, /*axes=*/Value(), /*keepdims=*/0);
}

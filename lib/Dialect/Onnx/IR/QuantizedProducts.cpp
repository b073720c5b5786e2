//===- QuantizedProducts.cpp - quantized products as integer products -----===//

#include "onnx-aot/Dialect/Onnx/IR/Onnx.h"
#include "onnx-aot/Dialect/Onnx/IR/Quantization.h"

using namespace mlir;

namespace onnx_aot::onnx {

bool isSingleElement(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.hasStaticShape() && type.getNumElements() == 1;
}

Value createScaledSum(OpBuilder &builder, Location loc, Value sum, Value aScale,
                      Value bScale, int64_t axis) {
  Value scale = createInferred<MulOp>(builder, loc, aScale, bScale);
  Value number =
      createInferred<CastOp>(builder, loc, sum, StringRef("up"), uint64_t(1),
                             uint64_t(*getDataTypeOf(builder.getF32Type())));
  // One scale per channel lies along `axis`.
  int64_t rank = getRank(sum).value_or(0);
  if (getRank(scale).value_or(0) == 1 && axis + 1 < rank) {
    SmallVector<int64_t> shape(rank - axis, 1);
    shape[0] = -1;
    scale = createInferred<ReshapeOp>(builder, loc, scale,
                                      createIntegers(builder, loc, shape));
  }
  return createInferred<MulOp>(builder, loc, number, scale);
}

/// Scales of 16 bits as float32, in which the sum is scaled.
static Value widenScale(OpBuilder &builder, Location loc, Value scale) {
  if (getElementType(scale).isF32())
    return scale;
  return createInferred<CastOp>(builder, loc, scale, StringRef("up"),
                                uint64_t(1),
                                uint64_t(*getDataTypeOf(builder.getF32Type())));
}

FailureOr<Value> decomposeQuantizedProduct(OpBuilder &builder,
                                           QLinearMatMulOp op) {
  for (Value scale : {op.getAScale(), op.getYScale()})
    if (!isSingleElement(scale)) {
      op.emitOpError(
          "scales by row are not supported (supported: one scale per "
          "tensor, or per column of b)");
      return failure();
    }
  Location loc = op.getLoc();
  Value sum =
      createInferred<MatMulIntegerOp>(builder, loc, op.getA(), op.getB(),
                                      op.getAZeroPoint(), op.getBZeroPoint());
  Value real = createScaledSum(
      builder, loc, sum, widenScale(builder, loc, op.getAScale()),
      widenScale(builder, loc, op.getBScale()), getRank(sum).value_or(0) - 1);
  return Value(createInferred<QuantizeLinearOp>(
      builder, loc, real, widenScale(builder, loc, op.getYScale()),
      op.getYZeroPoint()));
}

FailureOr<Value> decomposeQuantizedProduct(OpBuilder &builder,
                                           QLinearConvOp op) {
  Location loc = op.getLoc();
  Value sum = createInferred<ConvIntegerOp>(
      builder, loc, op.getX(), op.getW(), op.getXZeroPoint(),
      op.getWZeroPoint(), op.getAutoPadAttr(), op.getDilationsAttr(),
      op.getGroupAttr(), op.getKernelShapeAttr(), op.getPadsAttr(),
      op.getStridesAttr());
  if (op.getB()) {
    SmallVector<int64_t> shape(getRank(sum).value_or(2) - 1, 1);
    shape[0] = -1;
    Value bias = createInferred<ReshapeOp>(builder, loc, op.getB(),
                                           createIntegers(builder, loc, shape));
    sum = createInferred<AddOp>(builder, loc, sum, bias);
  }
  Value real = createScaledSum(builder, loc, sum, op.getXScale(),
                               op.getWScale(), /*axis=*/1);
  return Value(createInferred<QuantizeLinearOp>(
      builder, loc, real, op.getYScale(), op.getYZeroPoint()));
}

} // namespace onnx_aot::onnx

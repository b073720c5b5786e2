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

/// A number for each row as a column beside the matrix. A list of unknown
/// length may as well hold one number for all: both broadcast.
static Value makeColumn(OpBuilder &builder, Location loc, Value list) {
  if (getRank(list).value_or(0) != 1 || isSingleElement(list))
    return list;
  return createInferred<ReshapeOp>(builder, loc, list,
                                   createIntegers(builder, loc, {-1, 1}));
}

/// Quantizes by scales and zero points that broadcast.
static Value quantizeRows(OpBuilder &builder, Location loc, Value real,
                          Value scale, Value zero) {
  Type f32 = builder.getF32Type();
  auto cast = [&](Value value, Type type) -> Value {
    return createInferred<CastOp>(builder, loc, value, StringRef("up"),
                                  uint64_t(1), uint64_t(*getDataTypeOf(type)));
  };
  auto type = mlir::cast<IntegerType>(getElementType(zero));
  double low = type.isUnsigned() ? 0 : -128, high = low + 255;
  Value number = createInferred<DivOp>(builder, loc, real, scale);
  number = createInferred<RoundOp>(builder, loc, number);
  number = createInferred<AddOp>(builder, loc, number, cast(zero, f32));
  number = createInferred<ClipOp>(builder, loc, number,
                                  createScalar(builder, loc, low, f32),
                                  createScalar(builder, loc, high, f32));
  return cast(number, type);
}

FailureOr<Value> decomposeQuantizedProduct(OpBuilder &builder,
                                           QLinearMatMulOp op) {
  Location loc = op.getLoc();
  Value aScale = widenScale(builder, loc, op.getAScale()),
        bScale = widenScale(builder, loc, op.getBScale()),
        yScale = widenScale(builder, loc, op.getYScale());
  bool byRow = !isSingleElement(yScale) || !isSingleElement(op.getYZeroPoint());
  bool isMatrix = getRank(op.getA()).value_or(0) >= 2;
  if ((byRow || !isSingleElement(aScale)) &&
      (!isMatrix || !getElementType(op.getYZeroPoint()).isInteger(8))) {
    op.emitOpError("scales by row are only supported for matrices of integers "
                   "of 8 bits");
    return failure();
  }
  Value sum =
      createInferred<MatMulIntegerOp>(builder, loc, op.getA(), op.getB(),
                                      op.getAZeroPoint(), op.getBZeroPoint());
  Value real =
      createScaledSum(builder, loc, sum, makeColumn(builder, loc, aScale),
                      bScale, getRank(sum).value_or(0) - 1);
  Value y =
      byRow ? quantizeRows(builder, loc, real, makeColumn(builder, loc, yScale),
                           makeColumn(builder, loc, op.getYZeroPoint()))
            : Value(createInferred<QuantizeLinearOp>(builder, loc, real, yScale,
                                                     op.getYZeroPoint()));
  // Scales that do not fit would make the result larger: the run notices here.
  if (getShape(y) != getShape(sum))
    y = createInferred<ReshapeOp>(
        builder, loc, y,
        createInferred<ShapeOp>(builder, loc, sum, IntegerAttr()), uint64_t(1));
  return y;
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

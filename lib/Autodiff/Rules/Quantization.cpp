//===- Quantization.cpp - gradients of quantization -----------------------===//
//
// Straight through: rounding counts as the identity, what is clipped gets
// nothing. A quantized value has a gradient of floats.
//
//===----------------------------------------------------------------------===//

#include "RuleUtils.h"
#include "Rules.h"

using namespace mlir;
using namespace onnx_aot;
using namespace onnx_aot::onnx;

/// A scale or zero point as a tensor that broadcasts to x, or null after a
/// refusal. Blocks are repeated.
template <typename OpTy>
static Value spreadOver(OpTy op, Value parameter, Value x, GradientBuilder &b) {
  int64_t rank = b.getRank(x), own = b.getRank(parameter);
  int64_t axis = op.getAxis(), block = op.getBlockSize();
  axis = axis < 0 ? axis + rank : axis;
  if (own == 0 || (own == 1 && getShape(parameter)->front().isStatic(1)))
    return b.reshape(parameter, b.integers({}));
  if (axis < 0 || axis >= rank || (block == 0 && own != 1) ||
      (block != 0 && own != rank)) {
    (void)b.unsupported(op, "has no gradient for scales of this shape");
    return {};
  }
  if (block == 0) {
    SmallVector<int64_t> axes;
    for (int64_t i = axis + 1; i < rank; ++i)
      axes.push_back(i - axis);
    return b.unsqueeze(parameter, axes);
  }
  // (.., blocks, ..) to (.., blocks, block, ..), then as far as x goes.
  SmallVector<Value> repeated, merged;
  for (int64_t i = 0; i < rank; ++i) {
    Value size = b.sizeOf(parameter, i);
    repeated.push_back(size);
    if (i == axis)
      repeated.push_back(b.integers({block}));
    merged.push_back(i == axis ? b.mul(size, b.integers({block})) : size);
  }
  Value spread = b.create<ExpandOp>(b.unsqueeze(parameter, {axis + 1}),
                                    b.concat(repeated));
  return b.create<SliceOp>(b.reshape(spread, b.concat(merged)), b.integers({0}),
                           b.sizeOf(x, axis), b.integers({axis}), Value());
}

/// The smallest and largest quantized number.
static std::optional<std::pair<double, double>> getLimits(Type type) {
  if (auto integer = dyn_cast<IntegerType>(type)) {
    unsigned bits = integer.getWidth();
    if (integer.isUnsigned())
      return std::pair(0.0, std::ldexp(1.0, bits) - 1);
    return std::pair(-std::ldexp(1.0, bits - 1), std::ldexp(1.0, bits - 1) - 1);
  }
  if (auto floats = dyn_cast<FloatType>(type)) {
    double largest =
        APFloat::getLargest(floats.getFloatSemantics()).convertToDouble();
    return std::pair(-largest, largest);
  }
  return std::nullopt;
}

/// Hands the gradient of a scale on, from that of the scale at every element.
template <typename OpTy>
static LogicalResult accumulateScale(OpTy op, Value scale, Value each,
                                     GradientBuilder &b) {
  if (!b.isActive(scale))
    return success();
  int64_t rank = b.getRank(each), axis = op.getAxis();
  axis = axis < 0 ? axis + rank : axis;
  if (int64_t block = op.getBlockSize(); block != 0) {
    // (.., blocks, block, ..), the last block filled up with zeros.
    Value blocks = b.sizeOf(scale, axis);
    Value missing =
        b.sub(b.mul(blocks, b.integers({block})), b.sizeOf(each, axis));
    Value full = b.create<PadOp>(each, b.concat({b.integers({0}), missing}),
                                 Value(), b.integers({axis}), "constant");
    SmallVector<Value> cut{blocks, b.integers({block})};
    if (axis > 0)
      cut.insert(cut.begin(), getSizes(b, each, 0, axis));
    if (axis + 1 < rank)
      cut.push_back(getSizes(b, each, axis + 1));
    b.accumulate(scale, b.sum(b.reshape(full, b.concat(cut)), {axis + 1},
                              /*keepDims=*/false));
    return success();
  }
  bool isWhole = b.getRank(scale) == 0 || getShape(scale)->front().isStatic(1);
  SmallVector<int64_t> axes;
  for (int64_t i = 0; i < rank; ++i)
    if (isWhole || i != axis)
      axes.push_back(i);
  b.accumulate(scale, b.sum(each, axes, /*keepDims=*/false));
  return success();
}

/// y = saturate(round(x / scale) + zero)
static LogicalResult gradQuantizeLinear(QuantizeLinearOp op,
                                        GradientBuilder &b) {
  Value x = op.getX();
  std::optional<std::pair<double, double>> limits =
      getLimits(getElementType(op.getY()));
  Value scale = spreadOver(op, op.getYScale(), x, b);
  if (!scale)
    return failure();
  if (!limits)
    return b.unsupported(op, "to this type has no gradient");
  scale = b.castLike(scale, x);
  Value dy = b.castLike(b.getGradient(op.getY()), x);
  Value number = b.create<RoundOp>(b.div(x, scale));
  if (Value zero = op.getYZeroPoint()) {
    zero = spreadOver(op, zero, x, b);
    if (!zero)
      return failure();
    number = b.add(number, b.castLike(zero, x));
  }
  Value inside = b.create<AndOp>(
      b.create<GreaterOrEqualOp>(number, b.scalar(limits->first, x)),
      b.create<LessOrEqualOp>(number, b.scalar(limits->second, x)));
  Value dx = b.select(inside, b.div(dy, scale));
  b.accumulate(x, dx);
  return accumulateScale(op, op.getYScale(), b.neg(b.mul(dx, b.div(x, scale))),
                         b);
}

/// y = (x - zero) * scale
static LogicalResult gradDequantizeLinear(DequantizeLinearOp op,
                                          GradientBuilder &b) {
  Value x = op.getX(), dy = b.getGradient(op.getY());
  Value scale = spreadOver(op, op.getXScale(), x, b);
  if (!scale)
    return failure();
  b.accumulate(x, b.mul(dy, b.castLike(scale, dy)));
  Value number = b.castLike(x, dy);
  if (Value zero = op.getXZeroPoint()) {
    zero = spreadOver(op, zero, x, b);
    if (!zero)
      return failure();
    number = b.sub(number, b.castLike(zero, dy));
  }
  return accumulateScale(op, op.getXScale(), b.mul(dy, number), b);
}

/// y = round(x / scale) + zero, where scale and zero follow x but count as
/// constants
static LogicalResult gradDynamicQuantizeLinear(DynamicQuantizeLinearOp op,
                                               GradientBuilder &b) {
  if (Value dy = b.getGradient(op.getY()))
    b.accumulate(op.getX(), b.div(b.castLike(dy, op.getX()), op.getYScale()));
  return success();
}

void onnx_aot::populateQuantizationGradientRules(MLIRContext *context) {
  attachMovingRule<QuantizeLinearOp, gradQuantizeLinear>(context);
  attachMovingRule<DequantizeLinearOp, gradDequantizeLinear>(context);
  attachMovingRule<DynamicQuantizeLinearOp, gradDynamicQuantizeLinear>(context);
}

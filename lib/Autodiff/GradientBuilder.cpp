//===- GradientBuilder.cpp - what gradient rules are written with ---------===//

#include "onnx-aot/Autodiff/GradientBuilder.h"

using namespace mlir;
using namespace onnx_aot;
using namespace onnx_aot::onnx;

#include "onnx-aot/Autodiff/GradientInterface.cpp.inc"

bool onnx_aot::isDifferentiable(Type type) {
  if (auto sequence = dyn_cast<SequenceType>(type))
    return isDifferentiable(sequence.getElementType());
  if (auto optional = dyn_cast<OptionalType>(type))
    return isDifferentiable(optional.getElementType());
  auto tensor = dyn_cast<TensorType>(type);
  return tensor &&
         (tensor.getElementType().isF16() || tensor.getElementType().isBF16() ||
          tensor.getElementType().isF32() || tensor.getElementType().isF64());
}

/// Provably of one shape.
static bool haveSameShape(Value a, Value b) {
  std::optional<Shape> first = getShape(a), second = getShape(b);
  return first && second && first->size() == second->size() &&
         llvm::equal(*first, *second);
}

//===--- The differentiation ----------------------------------------------===//

Value GradientBuilder::getGradientOrZeros(Value result) {
  Value gradient = getGradient(result);
  return gradient ? gradient : zerosLike(result);
}

void GradientBuilder::accumulate(Value operand, Value gradient) {
  if (!operand || !isActive(operand))
    return;
  // A quantized value has a gradient of floats.
  if (isDifferentiable(operand.getType()))
    gradient = castLike(gradient, operand);
  if (!haveSameShape(gradient, operand))
    gradient = reshapeLike(gradient, operand);
  Value &sum = gradients[operand];
  sum = sum ? add(sum, gradient) : gradient;
}

void GradientBuilder::accumulateBroadcast(Value operand, Value gradient) {
  if (operand && isActive(operand))
    accumulate(operand, sumLike(gradient, operand));
}

LogicalResult GradientBuilder::unsupported(Operation *op, const Twine &why) {
  problems.emplace_back(op, why.str());
  return failure();
}

//===--- Arithmetic -------------------------------------------------------===//

Value GradientBuilder::add(Value a, Value b) { return create<AddOp>(a, b); }
Value GradientBuilder::sub(Value a, Value b) { return create<SubOp>(a, b); }
Value GradientBuilder::mul(Value a, Value b) { return create<MulOp>(a, b); }
Value GradientBuilder::div(Value a, Value b) { return create<DivOp>(a, b); }
Value GradientBuilder::neg(Value a) { return create<NegOp>(a); }

Value GradientBuilder::where(Value condition, Value a, Value b) {
  return create<WhereOp>(condition, a, b);
}

Value GradientBuilder::scalar(double value, Value like) {
  return createScalar(builder, loc, value, getElementType(like));
}

Value GradientBuilder::add(Value x, double number) {
  return add(x, scalar(number, x));
}

Value GradientBuilder::mul(Value x, double number) {
  return number == 1.0 ? x : mul(x, scalar(number, x));
}

Value GradientBuilder::sub(double number, Value x) {
  return sub(scalar(number, x), x);
}

Value GradientBuilder::square(Value x) { return mul(x, x); }

Value GradientBuilder::select(Value condition, Value x) {
  return where(condition, x, scalar(0.0, x));
}

Value GradientBuilder::cast(Value x, Type elementType) {
  if (getElementType(x) == elementType)
    return x;
  return create<CastOp>(x, "up", /*saturate=*/1, *getDataTypeOf(elementType));
}

Value GradientBuilder::castLike(Value x, Value like) {
  return cast(x, getElementType(like));
}

//===--- Shapes -----------------------------------------------------------===//

Value GradientBuilder::integer(int64_t value) {
  return createScalar(builder, loc, value, builder.getI64Type());
}

Value GradientBuilder::integers(ArrayRef<int64_t> values) {
  return createIntegers(builder, loc, values);
}

/// A tensor of one number in the shape of `like`.
static Value createFilledLike(GradientBuilder &b, double value, Value like) {
  Type elementType = getElementType(like);
  if (onnx::getRank(like) == 0)
    return b.scalar(value, like);
  OpBuilder &builder = b.getBuilder();
  auto type = RankedTensorType::get({1}, elementType);
  auto attribute = DenseElementsAttr::get(
      type, builder.getFloatAttr(elementType, value).getValue());
  return b.create<ConstantOfShapeOp>(b.shapeOf(like), attribute);
}

Value GradientBuilder::zerosLike(Value like) {
  return createFilledLike(*this, 0.0, like);
}

Value GradientBuilder::onesLike(Value like) {
  return createFilledLike(*this, 1.0, like);
}

Value GradientBuilder::shapeOf(Value x) {
  auto type = dyn_cast<RankedTensorType>(x.getType());
  if (type && type.hasStaticShape())
    return integers(type.getShape());
  return create<ShapeOp>(x, IntegerAttr());
}

Value GradientBuilder::sizeOf(Value x, int64_t axis) {
  auto type = mlir::cast<RankedTensorType>(x.getType());
  if (!type.isDynamicDim(axis))
    return integers({type.getDimSize(axis)});
  return create<ShapeOp>(x, builder.getI64IntegerAttr(axis + 1), axis);
}

Value GradientBuilder::concat(ValueRange parts) {
  return parts.size() == 1 ? parts.front() : create<ConcatOp>(parts, 0);
}

Value GradientBuilder::reshape(Value x, Value shape) {
  return create<ReshapeOp>(x, shape, /*allowzero=*/1);
}

Value GradientBuilder::reshapeLike(Value x, Value like) {
  return haveSameShape(x, like) ? x : reshape(x, shapeOf(like));
}

Value GradientBuilder::expandLike(Value x, Value like) {
  return haveSameShape(x, like) ? x : create<ExpandOp>(x, shapeOf(like));
}

Value GradientBuilder::sumLike(Value x, Value like) {
  std::optional<Shape> from = getShape(x), to = getShape(like);
  if (!from || !to || from->size() < to->size() || haveSameShape(x, like))
    return x;
  // A size that is 1 or that of x, which only the run tells, is reached by
  // cutting the dimension into quotient x size and summing the former.
  int64_t offset = from->size() - to->size();
  SmallVector<Value> cut;
  SmallVector<int64_t> axes;
  bool isCut = false;
  for (auto [index, dim] : llvm::enumerate(*from)) {
    int64_t axis = cut.size();
    cut.push_back(sizeOf(x, index));
    int64_t own = static_cast<int64_t>(index) - offset;
    if (own < 0) {
      axes.push_back(axis);
      continue;
    }
    Dim wanted = (*to)[own];
    if (wanted == dim || dim.isStatic(1))
      continue;
    if (wanted.isStatic()) {
      if (wanted.isStatic(1))
        axes.push_back(axis);
      continue;
    }
    Value size = sizeOf(like, own);
    cut.back() = div(cut.back(), size);
    cut.push_back(size);
    axes.push_back(axis);
    isCut = true;
  }
  if (isCut)
    x = reshape(x, concat(cut));
  if (!axes.empty())
    x = sum(x, axes, /*keepDims=*/false);
  return reshapeLike(x, like);
}

Value GradientBuilder::sum(Value x, ArrayRef<int64_t> axes, bool keepDims) {
  if (axes.empty())
    return x;
  return create<ReduceSumOp>(x, integers(axes), /*keepdims=*/keepDims);
}

Value GradientBuilder::unsqueeze(Value x, ArrayRef<int64_t> axes) {
  return axes.empty() ? x : create<UnsqueezeOp>(x, integers(axes));
}

Value GradientBuilder::squeeze(Value x, ArrayRef<int64_t> axes) {
  return axes.empty() ? x : create<SqueezeOp>(x, integers(axes));
}

Value GradientBuilder::transpose(Value x, ArrayRef<int64_t> permutation) {
  return create<TransposeOp>(x, builder.getDenseI64ArrayAttr(permutation));
}

//===- RandomOps.cpp - verifiers and shape functions ----------------------===//

#include "onnx-aot/Dialect/Onnx/IR/Onnx.h"
#include "onnx-aot/Dialect/Onnx/IR/ShapeInference.h"

using namespace mlir;
using namespace onnx_aot::onnx;

#define GET_OP_CLASSES
#include "onnx-aot/Dialect/Onnx/IR/RandomOps.cpp.inc"

void OnnxDialect::registerRandomOps() {
  addOperations<
#define GET_OP_LIST
#include "onnx-aot/Dialect/Onnx/IR/RandomOps.cpp.inc"
      >();
}

LogicalResult DropoutOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  for (Value scalar : {getRatio(), getTrainingMode()})
    if (scalar && getShape(scalar) &&
        !getProduct(getContext(), *getShape(scalar)).isStatic(1))
      return emitOpError("ratio and training_mode must be scalars");
  Type flag = IntegerType::get(getContext(), 1);
  std::optional<Shape> shape = getShape(getData());
  types.push_back(getData().getType());
  types.push_back(shape ? Type(getTensorType(*shape, flag))
                        : getUnrankedType(flag));
  return success();
}

/// The element type that `dtype` names, or the default.
static FailureOr<Type> getRandomType(Operation *op,
                                     std::optional<int64_t> dtype,
                                     Type byDefault, bool mustBeFloat) {
  Type type = dtype ? getElementTypeOf(op->getContext(), *dtype) : byDefault;
  bool fits =
      type && (mustBeFloat ? isa<FloatType>(type) : type.isIntOrFloat());
  if (!fits)
    return op->emitOpError("dtype ")
           << dtype.value_or(0) << " is not supported";
  return type;
}

/// Result of an op with a `shape` attribute.
static LogicalResult inferFromAttribute(Operation *op, ArrayRef<int64_t> sizes,
                                        int64_t dtype,
                                        SmallVectorImpl<Type> &types) {
  FailureOr<Type> type = getRandomType(op, dtype, {}, /*mustBeFloat=*/true);
  if (failed(type))
    return failure();
  for (int64_t size : sizes)
    if (size < 0)
      return op->emitOpError("shape has a negative size ") << size;
  types.push_back(RankedTensorType::get(sizes, *type));
  return success();
}

/// Result in the shape of the input.
static LogicalResult inferLikeInput(Operation *op, std::optional<int64_t> dtype,
                                    bool mustBeFloat,
                                    SmallVectorImpl<Type> &types) {
  Value input = op->getOperand(0);
  FailureOr<Type> type =
      getRandomType(op, dtype, getElementType(input), mustBeFloat);
  if (failed(type))
    return failure();
  std::optional<Shape> shape = getShape(input);
  types.push_back(shape ? Type(getTensorType(*shape, *type))
                        : getUnrankedType(*type));
  return success();
}

LogicalResult RandomNormalOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  return inferFromAttribute(*this, getShape(), getDtype(), types);
}

LogicalResult RandomUniformOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  return inferFromAttribute(*this, getShape(), getDtype(), types);
}

LogicalResult
RandomNormalLikeOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  return inferLikeInput(*this, getDtype(), true, types);
}

LogicalResult
RandomUniformLikeOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  return inferLikeInput(*this, getDtype(), true, types);
}

LogicalResult BernoulliOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  return inferLikeInput(*this, getDtype(), false, types);
}

LogicalResult MultinomialOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  Type type = getElementTypeOf(getContext(), getDtype());
  if (!type || !(type.isInteger(32) || type.isInteger(64)))
    return emitOpError("dtype ")
           << getDtype() << " is not supported (supported: int32, int64)";
  if (getSampleSize() < 1)
    return emitOpError("sample_size must be positive, found ")
           << getSampleSize();
  std::optional<Shape> shape = onnx_aot::onnx::getShape(getInput());
  if (shape && shape->size() != 2)
    return emitOpError("input must have rank 2, found ") << shape->size();
  types.push_back(getTensorType({shape ? (*shape)[0] : Dim::unknown(),
                                 Dim::constant(getContext(), getSampleSize())},
                                type));
  return success();
}

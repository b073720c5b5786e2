//===- SequenceOps.cpp - verifiers and shape functions --------------------===//

#include "onnx-aot/Dialect/Onnx/IR/Composite.h"
#include "onnx-aot/Dialect/Onnx/IR/Onnx.h"
#include "onnx-aot/Dialect/Onnx/IR/ShapeInference.h"

using namespace mlir;
using namespace onnx_aot::onnx;

#define GET_OP_CLASSES
#include "onnx-aot/Dialect/Onnx/IR/SequenceOps.cpp.inc"

void OnnxDialect::registerSequenceOps() {
  addOperations<
#define GET_OP_LIST
#include "onnx-aot/Dialect/Onnx/IR/SequenceOps.cpp.inc"
      >();
}

/// The type of a sequence's elements; an error where it is no sequence.
static FailureOr<Type> getSequenceElement(Operation *op, Value value) {
  if (auto sequence = dyn_cast<SequenceType>(value.getType()))
    return sequence.getElementType();
  return op->emitOpError("expects a sequence, found ") << value.getType();
}

/// What is known of entries of the one type or the other. The entries of a
/// sequence that has none have a bare element type.
static FailureOr<Type> joinElements(Operation *op, Type a, Type b) {
  if (getElementTypeOrSelf(a) != getElementTypeOrSelf(b) ||
      isa<SequenceType, OptionalType>(a) || isa<SequenceType, OptionalType>(b))
    return op->emitOpError("elements have different types ")
           << a << " and " << b;
  return joinEntryTypes(a, b);
}

Type onnx_aot::onnx::joinEntryTypes(Type a, Type b) {
  if (!isa<TensorType>(a) || !isa<TensorType>(b))
    return isa<TensorType>(a) ? a : b;
  std::optional<Shape> leftShape = getShape(a), rightShape = getShape(b);
  if (!leftShape || !rightShape || leftShape->size() != rightShape->size())
    return getUnrankedType(getElementTypeOrSelf(a));
  for (auto [x, y] : llvm::zip_equal(*leftShape, *rightShape))
    if (x != y || !x.isStatic())
      x = Dim::unknown();
  return getTensorType(*leftShape, getElementTypeOrSelf(a));
}

FailureOr<Type> onnx_aot::onnx::joinCompositeTypes(Type a, Type b) {
  if (auto left = dyn_cast<OptionalType>(a)) {
    auto right = dyn_cast<OptionalType>(b);
    if (!right)
      return failure();
    Type inner = left.getElementType(), other = right.getElementType();
    FailureOr<Type> joined = failure();
    if (isa<SequenceType>(inner))
      joined = joinCompositeTypes(inner, other);
    else if (isa<TensorType>(inner) && isa<TensorType>(other) &&
             getElementTypeOrSelf(inner) == getElementTypeOrSelf(other))
      joined = joinEntryTypes(inner, other);
    if (failed(joined))
      return failure();
    return Type(OptionalType::get(a.getContext(), *joined));
  }
  auto left = dyn_cast<SequenceType>(a), right = dyn_cast<SequenceType>(b);
  if (!left || !right)
    return failure();
  Type inner = left.getElementType(), other = right.getElementType();
  if (isa<SequenceType, OptionalType>(inner) ||
      isa<SequenceType, OptionalType>(other) ||
      getElementTypeOrSelf(inner) != getElementTypeOrSelf(other))
    return a == b ? FailureOr<Type>(a) : FailureOr<Type>(failure());
  return Type(SequenceType::get(a.getContext(), joinEntryTypes(inner, other)));
}

/// The entry that a sequence's type promises; of one that has none, any tensor.
static Type getEntryType(Type element) {
  if (isa<TensorType, SequenceType, OptionalType>(element))
    return element;
  return getUnrankedType(element);
}

LogicalResult
SequenceConstructOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  if (getInputs().empty())
    return emitOpError("needs at least one input");
  Type element = getElementType(getInputs()[0]);
  for (Value input : getInputs()) {
    FailureOr<Type> joined = joinElements(*this, element, input.getType());
    if (failed(joined))
      return failure();
    element = *joined;
  }
  types.push_back(SequenceType::get(getContext(), element));
  return success();
}

LogicalResult SequenceEmptyOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  Type elementType = getElementTypeOf(getContext(), getDtype());
  if (!elementType)
    return emitOpError("dtype ") << getDtype() << " is no data type";
  types.push_back(SequenceType::get(getContext(), elementType));
  return success();
}

LogicalResult SequenceAtOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  FailureOr<Type> element = getSequenceElement(*this, getInputSequence());
  if (failed(element))
    return failure();
  types.push_back(getEntryType(*element));
  return success();
}

LogicalResult SequenceInsertOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  FailureOr<Type> element = getSequenceElement(*this, getInputSequence());
  if (failed(element))
    return failure();
  FailureOr<Type> joined = joinElements(*this, *element, getTensor().getType());
  if (failed(joined))
    return failure();
  types.push_back(SequenceType::get(getContext(), *joined));
  return success();
}

LogicalResult SequenceEraseOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  if (failed(getSequenceElement(*this, getInputSequence())))
    return failure();
  types.push_back(getInputSequence().getType());
  return success();
}

LogicalResult SequenceLengthOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  if (failed(getSequenceElement(*this, getInputSequence())))
    return failure();
  types.push_back(getTensorType({}, IntegerType::get(getContext(), 64)));
  return success();
}

LogicalResult
SplitToSequenceOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  if (failed(checkIntegerList(*this, getSplit(), "split")))
    return failure();
  Type elementType = getElementType(getInput());
  std::optional<Shape> shape = getShape(getInput());
  Type element = getUnrankedType(elementType);
  if (shape) {
    FailureOr<int64_t> axis = checkAxis(*this, getAxis(), shape->size());
    if (failed(axis))
      return failure();
    if (getSplit() || getKeepdims() != 0)
      (*shape)[*axis] =
          getSplit() ? Dim::unknown() : Dim::constant(getContext(), 1);
    else
      shape->erase(shape->begin() + *axis);
    element = getTensorType(*shape, elementType);
  }
  types.push_back(SequenceType::get(getContext(), element));
  return success();
}

LogicalResult
ConcatFromSequenceOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  FailureOr<Type> element = getSequenceElement(*this, getInputSequence());
  if (failed(element))
    return failure();
  auto tensor = dyn_cast<TensorType>(getEntryType(*element));
  if (!tensor)
    return emitOpError("expects a sequence of tensors");
  std::optional<Shape> shape = getShape(tensor);
  if (!shape) {
    types.push_back(getUnrankedType(tensor.getElementType()));
    return success();
  }
  bool isNew = getNewAxis() != 0;
  FailureOr<int64_t> axis = checkAxis(*this, getAxis(), shape->size() + isNew);
  if (failed(axis))
    return failure();
  if (isNew)
    shape->insert(shape->begin() + *axis, Dim::unknown());
  else
    (*shape)[*axis] = Dim::unknown();
  types.push_back(getTensorType(*shape, tensor.getElementType()));
  return success();
}

//===--- Optionals --------------------------------------------------------===//

LogicalResult OptionalOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  if (!getInput() && !getType())
    return emitOpError("needs an input or a type");
  types.push_back(OptionalType::get(
      getContext(), getInput() ? getInput().getType() : *getType()));
  return success();
}

LogicalResult
OptionalHasElementOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  types.push_back(getTensorType({}, IntegerType::get(getContext(), 1)));
  return success();
}

LogicalResult
OptionalGetElementOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  auto optional = dyn_cast<OptionalType>(getInput().getType());
  types.push_back(optional ? optional.getElementType() : getInput().getType());
  return success();
}

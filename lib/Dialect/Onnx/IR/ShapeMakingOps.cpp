//===- ShapeMakingOps.cpp - the rest of the Shape category ----------------===//
//
// Ops that make tensors, and those that keep their input's shape or select from
// it.
//
//===----------------------------------------------------------------------===//

#include "onnx-aot/Dialect/Onnx/IR/Onnx.h"
#include "onnx-aot/Dialect/Onnx/IR/ShapeInference.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace onnx_aot::onnx;

//===--- Making tensors ---------------------------------------------------===//

LogicalResult
ConstantOfShapeOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  if (failed(checkIntegerList(*this, getInput(), "input")))
    return failure();
  Type elementType = Float32Type::get(getContext());
  if (std::optional<ElementsAttr> value = getValue()) {
    elementType = value->getElementType();
    if (value->getNumElements() != 1)
      return emitOpError("value must have one element, found ")
             << value->getNumElements();
  }
  std::optional<SmallVector<Dim>> sizes = getShapeValue(getInput());
  if (!sizes) {
    types.push_back(getUnrankedType(elementType));
    return success();
  }
  for (Dim size : *sizes)
    if (size.isStatic() && size.getStatic() < 0)
      return emitOpError("input has a negative size ") << size.getStatic();
  types.push_back(getTensorType(*sizes, elementType));
  return success();
}

OpFoldResult ConstantOfShapeOp::fold(FoldAdaptor) {
  return foldShapeValue(*this);
}

LogicalResult RangeOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  Type elementType = getElementType(getStart());
  for (Value operand : getOperands()) {
    if (getElementType(operand) != elementType)
      return emitOpError("start, limit and delta have different element types");
    if (std::optional<int64_t> rank = getRank(operand); rank && *rank > 1)
      return emitOpError("start, limit and delta must be scalars");
  }
  Dim length = Dim::unknown();
  auto start = getShapeValue(getStart()), limit = getShapeValue(getLimit());
  auto delta = getShapeValue(getDelta());
  if (start && limit && delta && start->size() == 1 && limit->size() == 1 &&
      delta->size() == 1 && (*delta)[0].isStatic()) {
    int64_t step = (*delta)[0].getStatic();
    if (step == 0)
      return emitOpError("delta is 0");
    Dim distance =
        step > 0 ? (*limit)[0] - (*start)[0] : (*start)[0] - (*limit)[0];
    if (distance.isStatic() && distance.getStatic() < 0)
      distance = Dim::constant(getContext(), 0);
    if (!isNonNegative(distance))
      distance = getMaximum(*this, distance, Dim::constant(getContext(), 0));
    if (step != std::numeric_limits<int64_t>::min())
      length = distance.ceilDiv(std::abs(step));
  }
  types.push_back(getTensorType(length, elementType));
  return success();
}

OpFoldResult RangeOp::fold(FoldAdaptor) { return foldShapeValue(*this); }

LogicalResult EyeLikeOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  Type elementType = getElementType(getInput());
  if (getDtype()) {
    elementType = getElementTypeOf(getContext(), *getDtype());
    if (!elementType)
      return emitOpError("dtype ") << *getDtype() << " is no data type";
  }
  std::optional<Shape> shape = getShape(getInput());
  if (shape && shape->size() != 2)
    return emitOpError("input must have rank 2, found ") << shape->size();
  types.push_back(
      getTensorType(shape.value_or(getUnknownShape(2)), elementType));
  return success();
}

//===--- Keeping the shape ------------------------------------------------===//

LogicalResult TriluOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  if (std::optional<int64_t> rank = getRank(getInput()); rank && *rank < 2)
    return emitOpError("input must have rank 2 or more, found ") << *rank;
  if (failed(checkIntegerList(*this, getK(), "k")))
    return failure();
  types.push_back(getInput().getType());
  return success();
}

LogicalResult
ReverseSequenceOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  if (failed(checkIntegerList(*this, getSequenceLens(), "sequence_lens")))
    return failure();
  int64_t batch = getBatchAxis(), time = getTimeAxis();
  if (!((batch == 0 && time == 1) || (batch == 1 && time == 0)))
    return emitOpError("batch_axis and time_axis must be 0 and 1, found ")
           << batch << " and " << time;
  if (std::optional<Shape> shape = getShape(getInput())) {
    if (shape->size() < 2)
      return emitOpError("input must have rank 2 or more, found ")
             << shape->size();
    std::optional<Shape> lengths = getShape(getSequenceLens());
    Dim entries = (*shape)[batch];
    if (lengths && (lengths->size() != 1 ||
                    ((*lengths)[0].isStatic() && entries.isStatic() &&
                     (*lengths)[0] != entries)))
      return emitOpError("sequence_lens ")
             << getSequenceLens().getType() << " does not fit input "
             << getInput().getType();
  }
  types.push_back(getInput().getType());
  return success();
}

//===--- Selecting --------------------------------------------------------===//

LogicalResult CompressOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  Type elementType = getElementType(getInput());
  if (std::optional<int64_t> rank = getRank(getCondition()); rank && *rank != 1)
    return emitOpError("condition must be 1-D, found ")
           << getCondition().getType();
  if (!getElementType(getCondition()).isInteger(1))
    return emitOpError("condition must be bool, found ")
           << getCondition().getType();
  std::optional<Shape> shape = getShape(getInput());
  if (!getAxis()) {
    types.push_back(getTensorType(Dim::unknown(), elementType));
    return success();
  }
  if (!shape) {
    types.push_back(getUnrankedType(elementType));
    return success();
  }
  FailureOr<int64_t> axis = checkAxis(*this, *getAxis(), shape->size());
  if (failed(axis))
    return failure();
  (*shape)[*axis] = Dim::unknown();
  types.push_back(getTensorType(*shape, elementType));
  return success();
}

LogicalResult UniqueOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  Type elementType = getElementType(getX());
  std::optional<Shape> shape = getShape(getX());
  // All results share one run-time length; inferAndSetResultTypes cannot know,
  // so the lowering casts.
  if (!getAxis()) {
    types.push_back(getTensorType(Dim::unknown(), elementType));
  } else if (!shape) {
    types.push_back(getUnrankedType(elementType));
  } else {
    FailureOr<int64_t> axis = checkAxis(*this, *getAxis(), shape->size());
    if (failed(axis))
      return failure();
    Shape result = *shape;
    result[*axis] = Dim::unknown();
    types.push_back(getTensorType(result, elementType));
  }
  Type indexType = IntegerType::get(getContext(), 64);
  Dim searched = Dim::unknown();
  if (shape)
    searched = getAxis() ? (*shape)[*normalizeAxis(*getAxis(), shape->size())]
                         : getProduct(getContext(), *shape);
  types.push_back(getTensorType(Dim::unknown(), indexType));
  types.push_back(getTensorType(searched, indexType));
  types.push_back(getTensorType(Dim::unknown(), indexType));
  return success();
}

LogicalResult CenterCropPadOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  if (failed(checkIntegerList(*this, getShape(), "shape")))
    return failure();
  Type elementType = getElementType(getInputData());
  std::optional<Shape> result = onnx_aot::onnx::getShape(getInputData());
  if (!result) {
    types.push_back(getUnrankedType(elementType));
    return success();
  }
  SmallVector<int64_t> given =
      getAxes() ? SmallVector<int64_t>(*getAxes())
                : llvm::to_vector(llvm::seq<int64_t>(0, result->size()));
  FailureOr<SmallVector<int64_t>> axes =
      checkAxes(*this, given, result->size());
  if (failed(axes))
    return failure();
  std::optional<SmallVector<Dim>> sizes = getShapeValue(getShape());
  if (!sizes)
    sizes = getUnknownShape(axes->size());
  if (sizes->size() != axes->size())
    return emitOpError("has ")
           << sizes->size() << " sizes for " << axes->size() << " axes";
  for (auto [axis, size] : llvm::zip_equal(*axes, *sizes)) {
    if (size.isStatic() && size.getStatic() < 0)
      return emitOpError("shape has a negative size ") << size.getStatic();
    (*result)[axis] = size;
  }
  types.push_back(getTensorType(*result, elementType));
  return success();
}

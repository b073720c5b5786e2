//===- ReductionOps.cpp - verifiers and shape functions -------------------===//

#include "onnx-aot/Dialect/Onnx/IR/Onnx.h"

using namespace mlir;
using namespace onnx_aot::onnx;

/// The result of reducing the marked dimensions of `data`.
static Type reduceDims(Value data, ArrayRef<bool> reduced, bool keepDims,
                       Type elementType) {
  Shape shape;
  for (auto [dim, gone] : llvm::zip_equal(*getShape(data), reduced)) {
    if (!gone)
      shape.push_back(dim);
    else if (keepDims)
      shape.push_back(Dim::constant(data.getContext(), 1));
  }
  return getTensorType(shape, elementType);
}

/// The result when the axes are known at run time only; their number, the size
/// of `axes`, may be known.
static Type reduceUnknownDims(Value data, Value axes, bool keepDims) {
  Type elementType = getElementType(data);
  Shape shape = *getShape(data);
  if (keepDims) {
    for (Dim &dim : shape)
      if (!dim.isStatic(1))
        dim = Dim::unknown();
    return getTensorType(shape, elementType);
  }
  auto axesType = dyn_cast<RankedTensorType>(axes.getType());
  if (!axesType || !axesType.hasStaticShape())
    return UnrankedTensorType::get(elementType);
  int64_t rank = shape.size() - axesType.getNumElements();
  return getTensorType(Shape(std::max<int64_t>(rank, 0), Dim::unknown()),
                       elementType);
}

static LogicalResult inferReduction(Operation *op, Value data, Value axes,
                                    bool keepDims, bool emptyMeansNone,
                                    SmallVectorImpl<Type> &types) {
  Type elementType = getElementType(data);
  std::optional<int64_t> rank = getRank(data);
  if (!rank) {
    types.push_back(UnrankedTensorType::get(elementType));
    return success();
  }
  std::optional<SmallVector<int64_t>> constant;
  auto axesType =
      axes ? dyn_cast<RankedTensorType>(axes.getType()) : RankedTensorType();
  bool isEmpty =
      axesType && axesType.hasStaticShape() && axesType.getNumElements() == 0;
  if (axes && !isEmpty) {
    constant = getConstantIntegers(axes);
    if (!constant) {
      types.push_back(reduceUnknownDims(data, axes, keepDims));
      return success();
    }
  }
  SmallVector<bool> reduced(*rank, !constant && !emptyMeansNone);
  for (int64_t axis : constant.value_or(SmallVector<int64_t>())) {
    FailureOr<int64_t> index = normalizeAxis(axis, *rank);
    if (failed(index))
      return op->emitOpError("axis ")
             << axis << " is out of range for " << data.getType();
    reduced[*index] = true;
  }
  types.push_back(reduceDims(data, reduced, keepDims, elementType));
  return success();
}

static LogicalResult inferArgReduction(Operation *op, Value data, int64_t axis,
                                       bool keepDims,
                                       SmallVectorImpl<Type> &types) {
  Type elementType = IntegerType::get(op->getContext(), 64);
  std::optional<int64_t> rank = getRank(data);
  if (!rank) {
    types.push_back(UnrankedTensorType::get(elementType));
    return success();
  }
  FailureOr<int64_t> index = normalizeAxis(axis, *rank);
  if (failed(index))
    return op->emitOpError("axis ")
           << axis << " is out of range for " << data.getType();
  SmallVector<bool> reduced(*rank, false);
  reduced[*index] = true;
  types.push_back(reduceDims(data, reduced, keepDims, elementType));
  return success();
}

#define GET_OP_CLASSES
#include "onnx-aot/Dialect/Onnx/IR/ReductionOps.cpp.inc"

void OnnxDialect::registerReductionOps() {
  addOperations<
#define GET_OP_LIST
#include "onnx-aot/Dialect/Onnx/IR/ReductionOps.cpp.inc"
      >();
}

/// A scan's axis is one number that, where it is known, lies in the rank.
static LogicalResult verifyScanAxis(Operation *op, Value x, Value axis) {
  auto axisType = dyn_cast<RankedTensorType>(axis.getType());
  if (axisType && (axisType.getRank() > 1 || (axisType.hasStaticShape() &&
                                              axisType.getNumElements() != 1)))
    return op->emitOpError("axis must be a scalar, not ") << axisType;
  std::optional<int64_t> rank = getRank(x);
  std::optional<SmallVector<int64_t>> value = getConstantIntegers(axis);
  if (rank && value && value->size() == 1 &&
      failed(normalizeAxis(value->front(), *rank)))
    return op->emitOpError("axis ")
           << value->front() << " is out of range for " << x.getType();
  return success();
}

LogicalResult CumSumOp::verify() {
  return verifyScanAxis(*this, getX(), getAxis());
}
LogicalResult CumProdOp::verify() {
  return verifyScanAxis(*this, getX(), getAxis());
}

//===- QuantizationOps.cpp - verifiers and shape functions ----------------===//

#include "onnx-aot/Dialect/Onnx/IR/Onnx.h"
#include "onnx-aot/Dialect/Onnx/IR/Quantization.h"
#include "onnx-aot/Dialect/Onnx/IR/ShapeInference.h"
#include "onnx-aot/Dialect/Onnx/IR/Window.h"

using namespace mlir;
using namespace onnx_aot::onnx;

#define GET_OP_CLASSES
#include "onnx-aot/Dialect/Onnx/IR/QuantizationOps.cpp.inc"

void OnnxDialect::registerQuantizationOps() {
  addOperations<
#define GET_OP_LIST
#include "onnx-aot/Dialect/Onnx/IR/QuantizationOps.cpp.inc"
      >();
}

//===--- Scales -----------------------------------------------------------===//

FailureOr<QuantizationLayout>
onnx_aot::onnx::getQuantizationLayout(Operation *op, Value tensor, Value scale,
                                      int64_t axis, int64_t blockSize) {
  Shape shape = *getShape(tensor), scaleShape = *getShape(scale);
  int64_t rank = shape.size();
  auto mismatch = [&]() -> LogicalResult {
    return op->emitOpError("scale ")
           << scale.getType() << " does not fit " << tensor.getType()
           << " on axis " << axis << " with block_size " << blockSize;
  };
  if (blockSize < 0)
    return mismatch();
  if (blockSize == 0) {
    if (scaleShape.empty() ||
        (scaleShape.size() == 1 && scaleShape[0].isStatic(1)))
      return QuantizationLayout{QuantizationLayout::PerTensor};
    FailureOr<int64_t> normal = checkAxis(op, axis, rank);
    if (failed(normal))
      return failure();
    Dim size = shape[*normal];
    if (scaleShape.size() != 1 ||
        (size.isStatic() && scaleShape[0].isStatic() && size != scaleShape[0]))
      return mismatch();
    return QuantizationLayout{QuantizationLayout::PerAxis, *normal};
  }
  FailureOr<int64_t> normal = checkAxis(op, axis, rank);
  if (failed(normal))
    return failure();
  if (static_cast<int64_t>(scaleShape.size()) != rank)
    return mismatch();
  for (auto [index, dim] : llvm::enumerate(shape)) {
    bool isBlocked = static_cast<int64_t>(index) == *normal;
    Dim expected = isBlocked ? dim.ceilDiv(blockSize) : dim;
    if (expected.isStatic() && scaleShape[index].isStatic() &&
        expected != scaleShape[index])
      return mismatch();
  }
  return QuantizationLayout{QuantizationLayout::Blocked, *normal, blockSize};
}

/// Shape of the result: that of the input, once the scale fits.
static LogicalResult inferQuantized(Operation *op, Value tensor, Value scale,
                                    Value zeroPoint, int64_t axis,
                                    int64_t blockSize, Type elementType,
                                    SmallVectorImpl<Type> &types) {
  std::optional<Shape> shape = getShape(tensor);
  if (!shape || !getShape(scale)) {
    types.push_back(shape ? Type(getTensorType(*shape, elementType))
                          : getUnrankedType(elementType));
    return success();
  }
  if (!isa<FloatType>(getElementType(scale)))
    return op->emitOpError("scale must be of floats, found ")
           << scale.getType();
  if (failed(getQuantizationLayout(op, tensor, scale, axis, blockSize)))
    return failure();
  if (zeroPoint && getShape(zeroPoint)) {
    Shape points = *getShape(zeroPoint), scales = *getShape(scale);
    bool fits = points.size() == scales.size() ||
                getProduct(op->getContext(), points).isStatic(1) ||
                (scales.empty() && points.size() == 1 && !points[0].isStatic());
    for (auto [a, b] : llvm::zip(points, scales))
      fits &= !a.isStatic() || !b.isStatic() || a == b || a.isStatic(1);
    if (!fits)
      return op->emitOpError("zero point ")
             << zeroPoint.getType() << " does not fit scale "
             << scale.getType();
  }
  types.push_back(getTensorType(*shape, elementType));
  return success();
}

LogicalResult QuantizeLinearOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  Type elementType = IntegerType::get(getContext(), 8, IntegerType::Unsigned);
  if (getYZeroPoint())
    elementType = getElementType(getYZeroPoint());
  if (getOutputDtype() != 0) {
    Type wanted = getElementTypeOf(getContext(), getOutputDtype());
    if (!wanted || (getYZeroPoint() && wanted != elementType))
      return emitOpError("output_dtype ")
             << getOutputDtype()
             << " is no data type or not that of y_zero_point";
    elementType = wanted;
  }
  return inferQuantized(*this, getX(), getYScale(), getYZeroPoint(), getAxis(),
                        getBlockSize(), elementType, types);
}

LogicalResult
DequantizeLinearOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  Type elementType = getElementType(getXScale());
  if (getOutputDtype() != 0) {
    elementType = getElementTypeOf(getContext(), getOutputDtype());
    if (!isa_and_nonnull<FloatType>(elementType))
      return emitOpError("output_dtype ")
             << getOutputDtype() << " is not supported (supported: floats)";
  }
  if (getXZeroPoint() &&
      getElementType(getXZeroPoint()) != getElementType(getX()))
    return emitOpError("x and x_zero_point have different element types");
  return inferQuantized(*this, getX(), getXScale(), getXZeroPoint(), getAxis(),
                        getBlockSize(), elementType, types);
}

LogicalResult
DynamicQuantizeLinearOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  Type byte = IntegerType::get(getContext(), 8, IntegerType::Unsigned);
  std::optional<Shape> shape = getShape(getX());
  types.push_back(shape ? Type(getTensorType(*shape, byte))
                        : getUnrankedType(byte));
  types.push_back(getTensorType({}, Float32Type::get(getContext())));
  types.push_back(getTensorType({}, byte));
  return success();
}

//===--- Products ---------------------------------------------------------===//

/// Shape of numpy's matmul.
static LogicalResult inferProduct(Operation *op, Value a, Value b,
                                  Type elementType,
                                  SmallVectorImpl<Type> &types) {
  std::optional<Shape> left = getShape(a), right = getShape(b);
  if (!left || !right) {
    types.push_back(getUnrankedType(elementType));
    return success();
  }
  bool isRow = left->size() == 1, isColumn = right->size() == 1;
  if (left->empty() || right->empty())
    return op->emitOpError("operands must have rank 1 or more");
  if (isRow)
    left->insert(left->begin(), Dim::constant(op->getContext(), 1));
  if (isColumn)
    right->push_back(Dim::constant(op->getContext(), 1));
  Dim inner = left->back(), otherInner = (*right)[right->size() - 2];
  if (inner.isStatic() && otherInner.isStatic() && inner != otherInner)
    return op->emitOpError("cannot multiply ")
           << a.getType() << " and " << b.getType();
  FailureOr<Shape> batch =
      broadcastShapes({Shape(left->begin(), left->end() - 2),
                       Shape(right->begin(), right->end() - 2)});
  if (failed(batch))
    return op->emitOpError("cannot multiply ")
           << a.getType() << " and " << b.getType();
  Shape result = *batch;
  if (!isRow)
    result.push_back((*left)[left->size() - 2]);
  if (!isColumn)
    result.push_back(right->back());
  types.push_back(getTensorType(result, elementType));
  return success();
}

LogicalResult QLinearMatMulOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  return inferProduct(*this, getA(), getB(), getElementType(getYZeroPoint()),
                      types);
}

LogicalResult QLinearConvOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  Type elementType = getElementType(getYZeroPoint());
  std::optional<Shape> x = getShape(getX()), w = getShape(getW());
  if (!x || !w) {
    types.push_back(getUnrankedType(elementType));
    return success();
  }
  FailureOr<Window> window = getConvWindow(*this, getAutoPad());
  if (failed(window))
    return failure();
  if (x->size() != w->size())
    return emitOpError("x and w have different ranks ")
           << x->size() << " and " << w->size();
  FailureOr<Shape> spatial =
      getWindowOutput(*this, *window, ArrayRef<Dim>(*x).drop_front(2));
  if (failed(spatial))
    return failure();
  Shape result{(*x)[0], (*w)[0]};
  llvm::append_range(result, *spatial);
  types.push_back(getTensorType(result, elementType));
  return success();
}

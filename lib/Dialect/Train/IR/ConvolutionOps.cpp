//===- ConvolutionOps.cpp - shape functions -------------------------------===//

#include "onnx-aot/Dialect/Onnx/IR/ShapeInference.h"
#include "onnx-aot/Dialect/Onnx/IR/Window.h"
#include "onnx-aot/Dialect/Train/IR/Train.h"

using namespace mlir;
using namespace onnx_aot::onnx;
using namespace onnx_aot::train;

#define GET_OP_CLASSES
#include "onnx-aot/Dialect/Train/IR/ConvolutionOps.cpp.inc"

void TrainDialect::registerConvolutionOps() {
  addOperations<
#define GET_OP_LIST
#include "onnx-aot/Dialect/Train/IR/ConvolutionOps.cpp.inc"
      >();
}

LogicalResult
ConvBackwardDataOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  Type elementType = getElementType(getDy());
  FailureOr<Window> window = getConvWindow(*this, getAutoPad());
  if (failed(window))
    return failure();
  size_t rank = window->getRank() + 2;
  std::optional<Shape> dy = getShape(getDy());
  std::optional<SmallVector<Dim>> shape = getShapeValue(getXShape());
  if ((dy && dy->size() != rank) || (shape && shape->size() != rank))
    return emitOpError("needs dy and x_shape of ")
           << rank << " dimensions, found " << getDy().getType() << " and "
           << getXShape().getType();
  if (getGroup() < 1)
    return emitOpError("group is ") << getGroup() << " (supported: 1 or more)";
  Shape sizes = shape ? Shape(*shape) : getUnknownShape(rank);
  if (getChannelsLast())
    std::rotate(sizes.begin() + 1, sizes.begin() + 2, sizes.end());
  types.push_back(getTensorType(sizes, elementType));
  return success();
}

LogicalResult
ConvBackwardWeightOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  FailureOr<Window> window =
      getWindow(*this, {getKernelShape(), getStrides(), getDilations(),
                        getPads(), getAutoPad(), false});
  if (failed(window))
    return failure();
  size_t rank = window->getRank() + 2;
  std::optional<Shape> x = getShape(getX()), dy = getShape(getDy());
  if ((x && x->size() != rank) || (dy && dy->size() != rank))
    return emitOpError("needs x and dy of rank ")
           << rank << ", found " << getX().getType() << " and "
           << getDy().getType();
  if (getGroup() < 1)
    return emitOpError("group is ") << getGroup() << " (supported: 1 or more)";
  int64_t channel = ChannelLayout(getChannelsLast(), rank).channel;
  Shape shape{dy ? (*dy)[channel] : Dim::unknown(),
              x ? (*x)[channel].floorDiv(getGroup()) : Dim::unknown()};
  for (int64_t size : window->kernel)
    shape.push_back(Dim::constant(getContext(), size));
  types.push_back(getTensorType(shape, getElementType(getX())));
  return success();
}

LogicalResult
MaxPoolBackwardOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  FailureOr<Window> window = getPoolWindow(*this);
  if (failed(window))
    return failure();
  size_t rank = window->getRank() + 2;
  for (Value image : getOperands()) {
    std::optional<Shape> shape = getShape(image);
    if (shape && shape->size() != rank)
      return emitOpError("needs dy, x and y of rank ")
             << rank << ", found " << image.getType();
  }
  types.push_back(getX().getType());
  return success();
}

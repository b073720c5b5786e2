//===- SignalOps.cpp - shape functions of Fourier transforms --------------===//

#include "onnx-aot/Dialect/Onnx/IR/Onnx.h"
#include "onnx-aot/Dialect/Onnx/IR/ShapeInference.h"

using namespace mlir;
using namespace onnx_aot::onnx;

/// The single integer of an operand as far as it is known.
static Dim getIntegerValue(Value operand) {
  std::optional<SmallVector<Dim>> value =
      operand ? getShapeValue(operand) : std::nullopt;
  return value && value->size() == 1 ? value->front() : Dim::unknown();
}

LogicalResult DFTOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  Type elementType = getElementType(getInput());
  std::optional<Shape> shape = getShape(getInput());
  if (!shape) {
    types.push_back(UnrankedTensorType::get(elementType));
    return success();
  }
  int64_t rank = shape->size();
  if (rank < 2 || (shape->back().isStatic() && !shape->back().isStatic(1) &&
                   !shape->back().isStatic(2)))
    return emitOpError("needs an input whose last size is 1 or 2, found ")
           << getInput().getType();
  int64_t axis = -2;
  if (getAxis()) {
    std::optional<SmallVector<int64_t>> given = getConstantIntegers(getAxis());
    if (!given) {
      for (Dim &dim : llvm::drop_end(*shape))
        dim = Dim::unknown();
      bool toReal = getInverse() && getOnesided();
      shape->back() = Dim::constant(getContext(), toReal ? 1 : 2);
      types.push_back(getTensorType(*shape, elementType));
      return success();
    }
    if (given->size() != 1)
      return emitOpError("axis must be one number, found ") << given->size();
    axis = given->front();
  }
  FailureOr<int64_t> normalized = checkAxis(*this, axis, rank);
  if (failed(normalized))
    return failure();
  if (*normalized == rank - 1)
    return emitOpError("axis is that of the real and imaginary parts");
  Dim length = (*shape)[*normalized];
  bool toReal = getInverse() && getOnesided();
  if (toReal)
    length = (length - 1) * 2;
  if (getDftLength())
    length = getIntegerValue(getDftLength());
  if (length.isStatic() && length.getStatic() < 1)
    return emitOpError("length is ")
           << length.getStatic() << " (supported: 1 or more)";
  bool halves = getOnesided() && !getInverse();
  (*shape)[*normalized] = halves ? length.floorDiv(2) + 1 : length;
  shape->back() = Dim::constant(getContext(), toReal ? 1 : 2);
  types.push_back(getTensorType(*shape, elementType));
  return success();
}

LogicalResult STFTOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  Type elementType = getElementType(getSignal());
  std::optional<Shape> signal = getShape(getSignal());
  if (!signal) {
    types.push_back(UnrankedTensorType::get(elementType));
    return success();
  }
  if (signal->size() != 3 && signal->size() != 2)
    return emitOpError("needs a signal of rank 3, found ")
           << getSignal().getType();
  Dim step = getIntegerValue(getFrameStep());
  if (step.isStatic() && step.getStatic() < 1)
    return emitOpError("frame_step is ")
           << step.getStatic() << " (supported: 1 or more)";
  std::optional<Shape> window =
      getWindow() ? getShape(getWindow()) : std::nullopt;
  if (window && window->size() != 1)
    return emitOpError("window must have rank 1");
  Dim length = (*signal)[1];
  if (getFrameLength())
    length = getIntegerValue(getFrameLength());
  else if (getWindow())
    length = window ? (*window)[0] : Dim::unknown();
  if (length.isStatic() && length.getStatic() < 1)
    return emitOpError("frame_length is ")
           << length.getStatic() << " (supported: 1 or more)";
  if (window && (*window)[0].isStatic() && length.isStatic() &&
      (*window)[0] != length)
    return emitOpError("window has ")
           << (*window)[0].getStatic() << " elements for frames of "
           << length.getStatic();
  Dim frames = step.isStatic()
                   ? ((*signal)[1] - length).floorDiv(step.getStatic()) + 1
                   : Dim::unknown();
  if (frames.isStatic() && frames.getStatic() < 0)
    return emitOpError("signal is shorter than one frame");
  types.push_back(getTensorType(
      {(*signal)[0], frames, getOnesided() ? length.floorDiv(2) + 1 : length,
       Dim::constant(getContext(), 2)},
      elementType));
  return success();
}

/// A 1-D tensor of `size` elements of the type that output_datatype names.
template <typename OpTy>
static LogicalResult inferWindow(OpTy op, SmallVectorImpl<Type> &types) {
  Type elementType = getElementTypeOf(op.getContext(), op.getOutputDatatype());
  if (!elementType || !elementType.isIntOrFloat())
    return op.emitOpError("output_datatype ")
           << static_cast<int64_t>(op.getOutputDatatype())
           << " is not a number type";
  Dim size = getIntegerValue(op.getSize());
  if (size.isStatic() && size.getStatic() < 0)
    return op.emitOpError("size is ") << size.getStatic();
  types.push_back(getTensorType(size, elementType));
  return success();
}

LogicalResult HannWindowOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  return inferWindow(*this, types);
}
LogicalResult HammingWindowOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  return inferWindow(*this, types);
}
LogicalResult BlackmanWindowOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  return inferWindow(*this, types);
}

LogicalResult
MelWeightMatrixOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  Type elementType = getElementTypeOf(getContext(), getOutputDatatype());
  if (!elementType || !elementType.isIntOrFloat())
    return emitOpError("output_datatype ")
           << static_cast<int64_t>(getOutputDatatype())
           << " is not a number type";
  Dim bins = getIntegerValue(getNumMelBins());
  Dim length = getIntegerValue(getDftLength());
  if ((bins.isStatic() && bins.getStatic() < 0) ||
      (length.isStatic() && length.getStatic() < 0))
    return emitOpError("num_mel_bins or dft_length is negative");
  types.push_back(getTensorType({length.floorDiv(2) + 1, bins}, elementType));
  return success();
}

//===- ConvolutionOps.cpp - verifiers and shape functions -----------------===//

#include "onnx-aot/Dialect/Onnx/IR/Onnx.h"
#include "onnx-aot/Dialect/Onnx/IR/ShapeInference.h"
#include "onnx-aot/Dialect/Onnx/IR/Window.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace onnx_aot::onnx;

#define GET_OP_CLASSES
#include "onnx-aot/Dialect/Onnx/IR/ConvolutionOps.cpp.inc"

void OnnxDialect::registerConvolutionOps() {
  addOperations<
#define GET_OP_LIST
#include "onnx-aot/Dialect/Onnx/IR/ConvolutionOps.cpp.inc"
      >();
}

/// Checks channels and groups against each other as far as they are known.
static LogicalResult checkGroups(Operation *op, int64_t group, Dim channels,
                                 Dim filters, Dim channelsPerGroup) {
  if (group < 1)
    return op->emitOpError("group is ") << group << " (supported: 1 or more)";
  if (filters.isStatic() && filters.getStatic() % group != 0)
    return op->emitOpError("has ")
           << filters.getStatic() << " filters, not a multiple of group "
           << group;
  if (!channels.isStatic())
    return success();
  if (channels.getStatic() % group != 0)
    return op->emitOpError("has ")
           << channels.getStatic() << " channels, not a multiple of group "
           << group;
  if (channelsPerGroup.isStatic() &&
      channelsPerGroup.getStatic() != channels.getStatic() / group)
    return op->emitOpError("has ")
           << channels.getStatic() << " channels in " << group
           << " groups, but a weight of " << channelsPerGroup.getStatic()
           << " channels per group";
  return success();
}

/// Result shape of Conv and ConvInteger.
template <typename OpTy>
static LogicalResult inferConv(OpTy op, bool channelsLast, Type elementType,
                               SmallVectorImpl<Type> &types) {
  std::optional<Shape> x = getShape(op.getX()), w = getShape(op.getW());
  if (!x || !w) {
    types.push_back(UnrankedTensorType::get(elementType));
    return success();
  }
  if (x->size() < 3 || x->size() != w->size())
    return op.emitOpError("input of rank ")
           << x->size() << " and weight of rank " << w->size()
           << " (supported: equal ranks of 3 or more)";
  ChannelLayout layout(channelsLast, x->size());
  if (failed(checkGroups(op, op.getGroup(), (*x)[layout.channel], (*w)[0],
                         (*w)[1])))
    return failure();
  FailureOr<Window> window = getConvWindow(op, op.getAutoPad());
  if (failed(window))
    return failure();
  FailureOr<Shape> spatial = getWindowOutput(
      op, *window, ArrayRef(*x).slice(layout.spatial, window->getRank()));
  if (failed(spatial))
    return failure();
  Shape result{(*x)[0]};
  if (!channelsLast)
    result.push_back((*w)[0]);
  result.append(spatial->begin(), spatial->end());
  if (channelsLast)
    result.push_back((*w)[0]);
  types.push_back(getTensorType(result, elementType));
  return success();
}

//===--- Shape functions --------------------------------------------------===//

LogicalResult ConvOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  if (Value bias = getB())
    if (std::optional<Shape> shape = getShape(bias)) {
      std::optional<Shape> weight = getShape(getW());
      if (shape->size() != 1 ||
          (weight && !weight->empty() && shape->front().isStatic() &&
           (*weight)[0].isStatic() && shape->front() != (*weight)[0]))
        return emitOpError("needs a bias of one element per filter, found ")
               << bias.getType();
    }
  return inferConv(*this, getChannelsLast(), getElementType(getX()), types);
}

LogicalResult ConvIntegerOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  // Set by a layout pass as for Conv; no file can say it.
  return inferConv(*this, (*this)->hasAttr("channels_last"),
                   IntegerType::get(getContext(), 32), types);
}

LogicalResult ConvTransposeOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  Type elementType = getElementType(getX());
  std::optional<Shape> x = getShape(getX()), w = getShape(getW());
  if (!x || !w) {
    types.push_back(UnrankedTensorType::get(elementType));
    return success();
  }
  if (x->size() < 3 || x->size() != w->size())
    return emitOpError("input of rank ")
           << x->size() << " and weight of rank " << w->size()
           << " (supported: equal ranks of 3 or more)";
  if (failed(checkGroups(*this, getGroup(), (*x)[1], (*w)[0], Dim::unknown())))
    return failure();
  if ((*x)[1].isStatic() && (*w)[0].isStatic() && (*x)[1] != (*w)[0])
    return emitOpError("has ")
           << (*x)[1].getStatic() << " channels, but a weight of "
           << (*w)[0].getStatic();
  FailureOr<Window> window = getConvWindow(*this, getAutoPad());
  if (failed(window))
    return failure();
  FailureOr<TransposedWindow> transposed =
      getTransposedWindow(*this, *window, getOutputPadding(), getOutputShape());
  if (failed(transposed))
    return failure();
  Dim filters = (*w)[1] * getGroup();
  if (Value bias = getB())
    if (std::optional<Shape> shape = getShape(bias))
      if (shape->size() != 1 ||
          (shape->front().isStatic() && filters.isStatic() &&
           shape->front() != filters))
        return emitOpError("needs a bias of one element per filter, found ")
               << bias.getType();
  Shape result{(*x)[0], filters};
  for (int64_t i = 0; i < window->getRank(); ++i) {
    result.push_back(transposed->getOutputDim(i, (*x)[i + 2]));
    if (result.back().isStatic() && result.back().getStatic() < 0)
      return emitOpError(
                 "pads cut off more than the whole of spatial dimension ")
             << i;
  }
  types.push_back(getTensorType(result, elementType));
  return success();
}

LogicalResult DeformConvOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  Type elementType = getElementType(getX());
  std::optional<Shape> x = getShape(getX()), w = getShape(getW()),
                       offset = getShape(getOffset());
  if (!x || !w || !offset) {
    types.push_back(UnrankedTensorType::get(elementType));
    return success();
  }
  if (x->size() != 4 || w->size() != 4 || offset->size() != 4)
    return emitOpError("input, weight and offset must have rank 4");
  if (failed(checkGroups(*this, getGroup(), (*x)[1], (*w)[0], (*w)[1])))
    return failure();
  FailureOr<Window> window = getConvWindow(*this, "");
  if (failed(window))
    return failure();
  int64_t offsetGroup = getOffsetGroup();
  if (offsetGroup < 1 ||
      ((*x)[1].isStatic() && (*x)[1].getStatic() % offsetGroup != 0))
    return emitOpError("offset_group ")
           << offsetGroup << " does not divide the channels";
  int64_t taps = window->kernel[0] * window->kernel[1] * offsetGroup;
  if ((*offset)[1].isStatic() && (*offset)[1].getStatic() != 2 * taps)
    return emitOpError("offset has ")
           << (*offset)[1].getStatic() << " channels, expected " << 2 * taps;
  if (getMask())
    if (std::optional<Shape> mask = getShape(getMask()))
      if (mask->size() != 4 ||
          ((*mask)[1].isStatic() && (*mask)[1].getStatic() != taps))
        return emitOpError("mask must have ") << taps << " channels";
  FailureOr<Shape> spatial =
      getWindowOutput(*this, *window, ArrayRef(*x).drop_front(2));
  if (failed(spatial))
    return failure();
  types.push_back(getTensorType(
      {(*x)[0], (*w)[0], (*spatial)[0], (*spatial)[1]}, elementType));
  return success();
}

LogicalResult Col2ImOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  Type elementType = getElementType(getInput());
  if (failed(checkIntegerList(*this, getImageShape(), "image_shape")) ||
      failed(checkIntegerList(*this, getBlockShape(), "block_shape")))
    return failure();
  std::optional<Shape> input = getShape(getInput());
  std::optional<SmallVector<Dim>> image = getShapeValue(getImageShape());
  std::optional<SmallVector<int64_t>> block =
      getConstantIntegers(getBlockShape());
  if (!input || !image) {
    types.push_back(UnrankedTensorType::get(elementType));
    return success();
  }
  if (input->size() != 3)
    return emitOpError("needs an input of rank 3, found ")
           << getInput().getType();
  Dim channels = Dim::unknown();
  if (block) {
    if (block->size() != image->size())
      return emitOpError("image_shape and block_shape have different lengths");
    FailureOr<Window> window = getWindow(
        *this, {*block, getStrides(), getDilations(), getPads(), "", false});
    if (failed(window))
      return failure();
    int64_t elements = 1;
    for (int64_t size : window->kernel)
      if (llvm::MulOverflow(elements, size, elements))
        return emitOpError("block_shape is too large");
    Dim columns = (*input)[1];
    if (columns.isStatic() && columns.getStatic() % elements != 0)
      return emitOpError("has ")
             << columns.getStatic() << " rows, not a multiple of " << elements
             << " block elements";
    channels = columns.floorDiv(elements);
  }
  Shape result{(*input)[0], channels};
  for (Dim dim : *image) {
    if (dim.isStatic() && dim.getStatic() < 0)
      return emitOpError("image_shape has a negative size");
    result.push_back(dim);
  }
  types.push_back(getTensorType(result, elementType));
  return success();
}

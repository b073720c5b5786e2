//===- ConvolutionOps.cpp - verifiers and shape functions
//-------------------===//

#include "onnx-aot/Dialect/Onnx/IR/Onnx.h"
#include "onnx-aot/Dialect/Onnx/IR/Window.h"

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
  FailureOr<Window> window = getConvWindow(op);
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
  return inferConv(*this, /*channelsLast=*/false,
                   IntegerType::get(getContext(), 32), types);
}

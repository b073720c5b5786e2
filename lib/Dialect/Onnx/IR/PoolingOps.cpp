//===- PoolingOps.cpp - verifiers and shape functions
//-----------------------===//

#include "onnx-aot/Dialect/Onnx/IR/Onnx.h"
#include "onnx-aot/Dialect/Onnx/IR/Window.h"

using namespace mlir;
using namespace onnx_aot::onnx;

#define GET_OP_CLASSES
#include "onnx-aot/Dialect/Onnx/IR/PoolingOps.cpp.inc"

void OnnxDialect::registerPoolingOps() {
  addOperations<
#define GET_OP_LIST
#include "onnx-aot/Dialect/Onnx/IR/PoolingOps.cpp.inc"
      >();
}

/// The result shape of a pool; nothing when the rank of x is not known.
template <typename OpTy>
static FailureOr<std::optional<Shape>> inferPool(OpTy op) {
  std::optional<Shape> x = getShape(op.getX());
  FailureOr<Window> window = getPoolWindow(op);
  if (failed(window))
    return failure();
  if (!x)
    return std::optional<Shape>();
  int64_t rank = x->size();
  if (rank != window->getRank() + 2)
    return op.emitOpError("input of rank ")
           << rank << " does not fit a kernel of " << window->getRank()
           << " dimensions";
  ChannelLayout layout(op.getChannelsLast(), rank);
  FailureOr<Shape> spatial = getWindowOutput(
      op, *window, ArrayRef(*x).slice(layout.spatial, window->getRank()));
  if (failed(spatial))
    return failure();
  llvm::copy(*spatial, x->begin() + layout.spatial);
  return x;
}

static Type getPoolType(const std::optional<Shape> &shape, Type elementType) {
  if (!shape)
    return UnrankedTensorType::get(elementType);
  return getTensorType(*shape, elementType);
}

/// Spatial dimensions become 1.
template <typename OpTy>
static LogicalResult inferGlobalPool(OpTy op, SmallVectorImpl<Type> &types) {
  std::optional<Shape> x = getShape(op.getX());
  if (x && x->size() < 2)
    return op.emitOpError("needs an input of rank 2 or more, found ")
           << op.getX().getType();
  if (x) {
    ChannelLayout layout(op.getChannelsLast(), x->size());
    for (size_t i = 0; i + 2 < x->size(); ++i)
      (*x)[layout.spatial + i] = Dim::constant(op.getContext(), 1);
  }
  types.push_back(getPoolType(x, getElementType(op.getX())));
  return success();
}

static LogicalResult checkNorm(Operation *op, int64_t p) {
  if (p < 1)
    return op->emitOpError("p is ") << p << " (supported: 1 or more)";
  return success();
}

//===--- Shape functions --------------------------------------------------===//

LogicalResult MaxPoolOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  FailureOr<std::optional<Shape>> shape = inferPool(*this);
  if (failed(shape))
    return failure();
  types.push_back(getPoolType(*shape, getElementType(getX())));
  types.push_back(getPoolType(*shape, IntegerType::get(getContext(), 64)));
  return success();
}

LogicalResult AveragePoolOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  FailureOr<std::optional<Shape>> shape = inferPool(*this);
  if (failed(shape))
    return failure();
  types.push_back(getPoolType(*shape, getElementType(getX())));
  return success();
}

LogicalResult LpPoolOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  FailureOr<std::optional<Shape>> shape = inferPool(*this);
  if (failed(shape) || failed(checkNorm(*this, getP())))
    return failure();
  types.push_back(getPoolType(*shape, getElementType(getX())));
  return success();
}

LogicalResult
GlobalAveragePoolOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  return inferGlobalPool(*this, types);
}

LogicalResult GlobalMaxPoolOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  return inferGlobalPool(*this, types);
}

LogicalResult GlobalLpPoolOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  if (failed(checkNorm(*this, getP())))
    return failure();
  return inferGlobalPool(*this, types);
}

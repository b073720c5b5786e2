//===- PoolingOps.cpp - verifiers and shape functions ---------------------===//

#include "onnx-aot/Dialect/Onnx/IR/Onnx.h"
#include "onnx-aot/Dialect/Onnx/IR/ShapeInference.h"
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

LogicalResult MaxUnpoolOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  Type elementType = getElementType(getX());
  FailureOr<Window> window =
      getWindow(*this, {getKernelShape(), getStrides(), std::nullopt, getPads(),
                        "", false});
  if (failed(window))
    return failure();
  std::optional<Shape> x = getShape(getX()), indices = getShape(getI());
  if (!x) {
    types.push_back(UnrankedTensorType::get(elementType));
    return success();
  }
  int64_t rank = x->size();
  if (rank != window->getRank() + 2 ||
      (indices && static_cast<int64_t>(indices->size()) != rank))
    return emitOpError(
        "ranks of input, indices and kernel do not fit together");
  if (indices)
    for (auto [a, b] : llvm::zip_equal(*x, *indices))
      if (a.isStatic() && b.isStatic() && a != b)
        return emitOpError("input and indices differ in shape");
  Shape result = *x;
  for (int64_t i = 0; i < window->getRank(); ++i)
    result[i + 2] =
        (result[i + 2] - 1) * window->strides[i] +
        (window->kernel[i] - window->padsBegin[i] - window->padsEnd[i]);
  if (Value given = getOutputShape()) {
    if (failed(checkIntegerList(*this, given, "output_shape")))
      return failure();
    std::optional<SmallVector<Dim>> sizes = getShapeValue(given);
    if (sizes && static_cast<int64_t>(sizes->size()) != rank)
      return emitOpError("output_shape must have ") << rank << " elements";
    for (int64_t i = 0; i < rank; ++i)
      result[i] = sizes ? (*sizes)[i] : Dim::unknown();
  }
  for (Dim dim : result)
    if (dim.isStatic() && dim.getStatic() < 0)
      return emitOpError("output size ") << dim.getStatic() << " is negative";
  types.push_back(getTensorType(result, elementType));
  return success();
}

/// Checks rank-4 x and rank-2 regions of `columns` numbers; the shape of the
/// result.
static LogicalResult inferRegions(Operation *op, Value x, Value rois,
                                  int64_t columns, ArrayRef<int64_t> bins,
                                  SmallVectorImpl<Type> &types) {
  Type elementType = getElementType(x);
  std::optional<Shape> image = getShape(x), regions = getShape(rois);
  if (bins.size() != 2 || bins[0] < 1 || bins[1] < 1)
    return op->emitOpError("needs two positive output sizes");
  if (!image || !regions) {
    types.push_back(UnrankedTensorType::get(elementType));
    return success();
  }
  if (image->size() != 4 || regions->size() != 2 ||
      ((*regions)[1].isStatic() && !(*regions)[1].isStatic(columns)))
    return op->emitOpError("needs an input of rank 4 and regions of ")
           << columns << " numbers, found " << x.getType() << " and "
           << rois.getType();
  MLIRContext *context = op->getContext();
  types.push_back(getTensorType({(*regions)[0], (*image)[1],
                                 Dim::constant(context, bins[0]),
                                 Dim::constant(context, bins[1])},
                                elementType));
  return success();
}

LogicalResult RoiAlignOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  if (getMode() != "avg" && getMode() != "max")
    return emitOpError("mode \"")
           << getMode() << "\" is not known (supported: avg, max)";
  StringRef transform = getCoordinateTransformationMode();
  if (transform != "half_pixel" && transform != "output_half_pixel")
    return emitOpError("coordinate_transformation_mode \"")
           << transform
           << "\" is not known (supported: half_pixel, output_half_pixel)";
  if (getSamplingRatio() < 0)
    return emitOpError("sampling_ratio is negative");
  std::optional<Shape> rois = getShape(getRois()),
                       batch = getShape(getBatchIndices());
  if (batch && (batch->size() != 1 ||
                (rois && rois->size() == 2 && (*rois)[0].isStatic() &&
                 (*batch)[0].isStatic() && (*rois)[0] != (*batch)[0])))
    return emitOpError("needs one batch index per region");
  return inferRegions(*this, getX(), getRois(), 4,
                      {static_cast<int64_t>(getOutputHeight()),
                       static_cast<int64_t>(getOutputWidth())},
                      types);
}

LogicalResult MaxRoiPoolOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  return inferRegions(*this, getX(), getRois(), 5, getPooledShape(), types);
}

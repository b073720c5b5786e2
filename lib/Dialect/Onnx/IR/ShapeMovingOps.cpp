//===- ShapeMovingOps.cpp - ops of the Shape category that move elements --===//

#include "onnx-aot/Dialect/Onnx/IR/Onnx.h"
#include "onnx-aot/Dialect/Onnx/IR/ShapeInference.h"

using namespace mlir;
using namespace onnx_aot::onnx;

//===--- Transpose --------------------------------------------------------===//

SmallVector<int64_t> TransposeOp::getPermutation(int64_t rank) {
  if (getPerm())
    return SmallVector<int64_t>(*getPerm());
  SmallVector<int64_t> reversed;
  for (int64_t axis = rank; axis-- > 0;)
    reversed.push_back(axis);
  return reversed;
}

LogicalResult TransposeOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  Type elementType = getElementType(getData());
  std::optional<Shape> shape = getShape(getData());
  if (!shape) {
    types.push_back(getUnrankedType(elementType));
    return success();
  }
  SmallVector<int64_t> perm = getPermutation(shape->size());
  SmallVector<bool> seen(shape->size(), false);
  Shape result;
  for (int64_t axis : perm) {
    if (axis < 0 || axis >= static_cast<int64_t>(shape->size()) || seen[axis] ||
        perm.size() != shape->size())
      return emitOpError("perm [") << perm << "] is not a permutation of "
                                   << shape->size() << " dimensions";
    seen[axis] = true;
    result.push_back((*shape)[axis]);
  }
  if (perm.size() != shape->size())
    return emitOpError("perm [") << perm << "] is not a permutation of "
                                 << shape->size() << " dimensions";
  types.push_back(getTensorType(result, elementType));
  return success();
}

OpFoldResult TransposeOp::fold(FoldAdaptor) {
  // Pattern: Transpose(x) that keeps the order -> x
  std::optional<int64_t> rank = getRank(getData());
  if (rank && llvm::is_sorted(getPermutation(*rank)) &&
      getData().getType() == getType())
    return getData();
  return foldShapeValue(*this);
}

//===--- Expand and Tile --------------------------------------------------===//

/// A list of sizes; its elements must not be negative where known.
static LogicalResult checkSizes(Operation *op, ArrayRef<Dim> sizes,
                                StringRef name) {
  for (Dim size : sizes)
    if (size.isStatic() && size.getStatic() < 0)
      return op->emitOpError()
             << name << " has a negative size " << size.getStatic();
  return success();
}

LogicalResult ExpandOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  if (failed(checkIntegerList(*this, getShape(), "shape")))
    return failure();
  Type elementType = getElementType(getInput());
  std::optional<Shape> input = onnx_aot::onnx::getShape(getInput());
  std::optional<SmallVector<Dim>> sizes = getShapeValue(getShape());
  if (!input || !sizes) {
    types.push_back(getUnrankedType(elementType));
    return success();
  }
  if (failed(checkSizes(*this, *sizes, "shape")))
    return failure();
  FailureOr<Shape> result = broadcastShapes({*input, *sizes});
  if (failed(result))
    return emitOpError("cannot expand ")
           << getInput().getType() << " to the given shape";
  types.push_back(getTensorType(*result, elementType));
  return success();
}

OpFoldResult ExpandOp::fold(FoldAdaptor) {
  // Pattern: Expand(x) to x's own static shape -> x
  auto type = dyn_cast<RankedTensorType>(getType());
  if (type && type == getInput().getType() && type.hasStaticShape())
    return getInput();
  return foldShapeValue(*this);
}

LogicalResult TileOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  if (failed(checkIntegerList(*this, getRepeats(), "repeats")))
    return failure();
  Type elementType = getElementType(getInput());
  std::optional<Shape> shape = getShape(getInput());
  if (!shape) {
    types.push_back(getUnrankedType(elementType));
    return success();
  }
  std::optional<SmallVector<Dim>> repeats = getShapeValue(getRepeats());
  if (!repeats)
    repeats = getUnknownShape(shape->size());
  if (failed(checkSizes(*this, *repeats, "repeats")))
    return failure();
  if (repeats->size() != shape->size())
    return emitOpError("has ")
           << repeats->size() << " repeats for an input of rank "
           << shape->size();
  for (auto [dim, repeat] : llvm::zip_equal(*shape, *repeats))
    dim = dim * repeat;
  types.push_back(getTensorType(*shape, elementType));
  return success();
}

//===--- Concat and Split -------------------------------------------------===//

LogicalResult ConcatOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  if (getInputs().empty())
    return emitOpError("needs at least one input");
  Type elementType = getElementType(getInputs()[0]);
  std::optional<Shape> result;
  std::optional<Dim> total;
  for (Value input : getInputs()) {
    if (getElementType(input) != elementType)
      return emitOpError("inputs have different element types ")
             << elementType << " and " << getElementType(input);
    std::optional<Shape> shape = getShape(input);
    if (!shape) {
      types.push_back(getUnrankedType(elementType));
      return success();
    }
    FailureOr<int64_t> axis = checkAxis(*this, getAxis(), shape->size());
    if (failed(axis))
      return failure();
    if (!result) {
      result = shape;
      total = (*shape)[*axis];
      continue;
    }
    if (shape->size() != result->size())
      return emitOpError("inputs have different ranks ")
             << result->size() << " and " << shape->size();
    total = *total + (*shape)[*axis];
    for (auto [index, dim] : llvm::enumerate(*shape)) {
      Dim &merged = (*result)[index];
      if (static_cast<int64_t>(index) == *axis)
        continue;
      if (dim.isStatic() && merged.isStatic() && dim != merged)
        return emitOpError("inputs differ in dimension ")
               << index << ": " << merged.getStatic() << " and "
               << dim.getStatic();
      if (dim.isStatic() || !merged.isKnown())
        merged = dim;
    }
  }
  (*result)[*checkAxis(*this, getAxis(), result->size())] = *total;
  types.push_back(getTensorType(*result, elementType));
  return success();
}

OpFoldResult ConcatOp::fold(FoldAdaptor) {
  // Pattern: Concat(x) -> x
  if (getInputs().size() == 1 && getInputs()[0].getType() == getType())
    return getInputs()[0];
  return foldShapeValue(*this);
}

/// The sizes of Split's parts along the axis.
static FailureOr<SmallVector<Dim>> getPartSizes(SplitOp op, Dim size) {
  int64_t count = op.getNumResults();
  MLIRContext *context = op.getContext();
  if (!op.getSplit()) {
    if (op.getNumOutputs() &&
        static_cast<int64_t>(*op.getNumOutputs()) != count)
      return op.emitOpError("has ")
             << count << " outputs, but num_outputs is " << *op.getNumOutputs();
    // Equal parts; the last one gets what is left.
    Dim part = size.ceilDiv(count);
    if (size.isKnown() && !size.isStatic() &&
        divideExactly(size, Dim::constant(context, count)) * count == size)
      part = divideExactly(size, Dim::constant(context, count));
    SmallVector<Dim> parts(count, part);
    parts.back() = size - part * (count - 1);
    if (size.isStatic() && parts.back().getStatic() < 0) {
      int64_t rest = size.getStatic();
      for (Dim &dim : parts) {
        dim = Dim::constant(context, std::min(rest, part.getStatic()));
        rest -= dim.getStatic();
      }
    } else if (!isNonNegative(parts.back()) && !size.isStatic()) {
      parts.assign(count, Dim::unknown());
    }
    return parts;
  }
  std::optional<SmallVector<Dim>> parts = getShapeValue(op.getSplit());
  if (!parts)
    return SmallVector<Dim>(count, Dim::unknown());
  if (static_cast<int64_t>(parts->size()) != count)
    return op.emitOpError("has ")
           << count << " outputs, but " << parts->size() << " sizes in split";
  if (failed(checkSizes(op, *parts, "split")))
    return failure();
  Dim sum = Dim::constant(context, 0);
  for (Dim part : *parts)
    sum = sum + part;
  if (sum.isStatic() && size.isStatic() && sum != size)
    return op.emitOpError("split sizes sum to ")
           << sum.getStatic() << ", but the dimension is " << size.getStatic();
  return *parts;
}

LogicalResult SplitOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  if (getNumResults() == 0)
    return emitOpError("has no outputs");
  if (failed(checkIntegerList(*this, getSplit(), "split")))
    return failure();
  Type elementType = getElementType(getInput());
  std::optional<Shape> shape = getShape(getInput());
  if (!shape) {
    types.append(getNumResults(), getUnrankedType(elementType));
    return success();
  }
  FailureOr<int64_t> axis = checkAxis(*this, getAxis(), shape->size());
  if (failed(axis))
    return failure();
  FailureOr<SmallVector<Dim>> parts = getPartSizes(*this, (*shape)[*axis]);
  if (failed(parts))
    return failure();
  for (Dim part : *parts) {
    (*shape)[*axis] = part;
    types.push_back(getTensorType(*shape, elementType));
  }
  return success();
}

//===--- Slice and Pad ----------------------------------------------------===//

std::optional<SmallVector<int64_t>> SliceOp::getSlicedAxes() {
  std::optional<int64_t> rank = getRank(getData());
  if (!rank)
    return std::nullopt;
  SmallVector<int64_t> axes;
  if (getAxes()) {
    std::optional<SmallVector<int64_t>> given = getConstantIntegers(getAxes());
    if (!given)
      return std::nullopt;
    axes = *given;
  } else {
    auto starts = dyn_cast<RankedTensorType>(getStarts().getType());
    if (!starts || !starts.hasStaticShape() || starts.getNumElements() > *rank)
      return std::nullopt;
    llvm::append_range(axes, llvm::seq<int64_t>(0, starts.getNumElements()));
  }
  for (int64_t &axis : axes) {
    FailureOr<int64_t> normal = normalizeAxis(axis, *rank);
    if (failed(normal))
      return std::nullopt;
    axis = *normal;
  }
  return axes;
}

LogicalResult SliceOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  for (auto [value, name] : {std::pair<Value, StringRef>{getStarts(), "starts"},
                             {getEnds(), "ends"},
                             {getAxes(), "axes"},
                             {getSteps(), "steps"}})
    if (failed(checkIntegerList(*this, value, name)))
      return failure();
  Type elementType = getElementType(getData());
  std::optional<Shape> shape = getShape(getData());
  if (!shape) {
    types.push_back(getUnrankedType(elementType));
    return success();
  }
  if (getAxes())
    if (std::optional<SmallVector<int64_t>> given =
            getConstantIntegers(getAxes()))
      if (failed(checkAxes(*this, *given, shape->size())))
        return failure();
  std::optional<SmallVector<int64_t>> axes = getSlicedAxes();
  if (!axes) {
    types.push_back(getTensorType(getUnknownShape(shape->size()), elementType));
    return success();
  }
  auto valuesOf = [&](Value list, int64_t byDefault) -> SmallVector<Dim> {
    if (!list)
      return SmallVector<Dim>(axes->size(),
                              Dim::constant(getContext(), byDefault));
    if (std::optional<SmallVector<Dim>> values = getShapeValue(list))
      return *values;
    return getUnknownShape(axes->size());
  };
  SmallVector<Dim> starts = valuesOf(getStarts(), 0),
                   ends = valuesOf(getEnds(), 0);
  SmallVector<Dim> steps = valuesOf(getSteps(), 1);
  if (starts.size() != axes->size() || ends.size() != axes->size() ||
      steps.size() != axes->size())
    return emitOpError("starts, ends, axes and steps have different lengths");
  for (auto [axis, start, end, step] :
       llvm::zip_equal(*axes, starts, ends, steps)) {
    if (step.isStatic(0))
      return emitOpError("step of axis ") << axis << " is 0";
    Dim &dim = (*shape)[axis];
    dim = getSliceSize(*this, dim, start, end, step);
  }
  types.push_back(getTensorType(*shape, elementType));
  return success();
}

OpFoldResult SliceOp::fold(FoldAdaptor) { return foldShapeValue(*this); }

LogicalResult PadOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  if (failed(checkIntegerList(*this, getPads(), "pads")) ||
      failed(checkIntegerList(*this, getAxes(), "axes")))
    return failure();
  if (!llvm::is_contained({"constant", "edge", "reflect", "wrap"}, getMode()))
    return emitOpError("mode \"")
           << getMode()
           << "\" is not supported (supported: constant, edge, reflect, wrap)";
  Type elementType = getElementType(getData());
  if (getConstantValue() && getElementType(getConstantValue()) != elementType)
    return emitOpError("data and constant_value have different element types");
  std::optional<Shape> shape = getShape(getData());
  if (!shape) {
    types.push_back(getUnrankedType(elementType));
    return success();
  }
  SmallVector<int64_t> axes =
      llvm::to_vector(llvm::seq<int64_t>(0, shape->size()));
  if (getAxes()) {
    std::optional<SmallVector<int64_t>> given = getConstantIntegers(getAxes());
    if (!given) {
      types.push_back(
          getTensorType(getUnknownShape(shape->size()), elementType));
      return success();
    }
    FailureOr<SmallVector<int64_t>> normal =
        checkAxes(*this, *given, shape->size());
    if (failed(normal))
      return failure();
    axes = *normal;
  }
  std::optional<SmallVector<Dim>> pads = getShapeValue(getPads());
  if (!pads)
    pads = getUnknownShape(2 * axes.size());
  if (pads->size() != 2 * axes.size())
    return emitOpError("has ")
           << pads->size() << " pads for " << axes.size() << " axes";
  for (auto [index, axis] : llvm::enumerate(axes)) {
    Dim begin = (*pads)[index], end = (*pads)[index + axes.size()];
    Dim &dim = (*shape)[axis];
    bool nonNegative = isNonNegative(begin) && isNonNegative(end);
    dim = dim + begin + end;
    if (dim.isStatic() && dim.getStatic() < 0)
      return emitOpError("pads of axis ")
             << axis << " remove more than there is";
    if (!dim.isStatic() && !nonNegative && dim.isKnown())
      dim = getMaximum(*this, dim, Dim::constant(getContext(), 0));
  }
  types.push_back(getTensorType(*shape, elementType));
  return success();
}

//===--- Blocks of pixels -------------------------------------------------===//

/// Checks the attributes and the rank; returns the input's shape (N, C, H, W).
template <typename OpTy>
static FailureOr<Shape> getBlockedShape(OpTy op) {
  int64_t block = op.getBlocksize();
  if (block <= 0 || block > (1 << 20))
    return op.emitOpError("blocksize ")
           << block << " is not positive or too large";
  if (op.getMode() != "DCR" && op.getMode() != "CRD")
    return op.emitOpError("mode \"")
           << op.getMode() << "\" is not supported (supported: DCR, CRD)";
  std::optional<Shape> shape = getShape(op.getInput());
  if (!shape)
    return Shape(getUnknownShape(4));
  if (shape->size() != 4)
    return op.emitOpError("input must have rank 4, found ") << shape->size();
  return *shape;
}

LogicalResult DepthToSpaceOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  FailureOr<Shape> shape = getBlockedShape(*this);
  if (failed(shape))
    return failure();
  int64_t block = getBlocksize();
  Dim channels = (*shape)[1];
  if (channels.isStatic() && channels.getStatic() % (block * block) != 0)
    return emitOpError("channels ")
           << channels.getStatic()
           << " are not a multiple of blocksize squared, " << block * block;
  types.push_back(getTensorType(
      {(*shape)[0],
       divideExactly(channels, Dim::constant(getContext(), block * block)),
       (*shape)[2] * block, (*shape)[3] * block},
      getElementType(getInput())));
  return success();
}

LogicalResult SpaceToDepthOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  FailureOr<Shape> shape = getBlockedShape(*this);
  if (failed(shape))
    return failure();
  int64_t block = getBlocksize();
  Dim divisor = Dim::constant(getContext(), block);
  for (Dim dim : ArrayRef<Dim>(*shape).drop_front(2))
    if (dim.isStatic() && dim.getStatic() % block != 0)
      return emitOpError("size ")
             << dim.getStatic() << " is not a multiple of blocksize " << block;
  types.push_back(getTensorType({(*shape)[0], (*shape)[1] * (block * block),
                                 divideExactly((*shape)[2], divisor),
                                 divideExactly((*shape)[3], divisor)},
                                getElementType(getInput())));
  return success();
}

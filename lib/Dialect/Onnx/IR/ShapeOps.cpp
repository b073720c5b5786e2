//===- ShapeOps.cpp - ops that read or change only the shape --------------===//

#include "onnx-aot/Dialect/Onnx/IR/Onnx.h"
#include "onnx-aot/Dialect/Onnx/IR/ShapeInference.h"

using namespace mlir;
using namespace onnx_aot::onnx;

#define GET_OP_CLASSES
#include "onnx-aot/Dialect/Onnx/IR/ShapeOps.cpp.inc"

void OnnxDialect::registerShapeOps() {
  addOperations<
#define GET_OP_LIST
#include "onnx-aot/Dialect/Onnx/IR/ShapeOps.cpp.inc"
      >();
}

//===--- Shape and Size ---------------------------------------------------===//

std::pair<int64_t, int64_t> ShapeOp::getRange(int64_t rank) {
  auto clamp = [&](int64_t index) {
    return std::clamp<int64_t>(index < 0 ? index + rank : index, 0, rank);
  };
  int64_t start = clamp(getStart());
  return {start, std::max(start, clamp(getEnd().value_or(rank)))};
}

LogicalResult ShapeOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  Type elementType = IntegerType::get(getContext(), 64);
  std::optional<int64_t> rank = getRank(getData());
  Dim length = Dim::unknown();
  if (rank) {
    auto [start, end] = getRange(*rank);
    length = Dim::constant(getContext(), end - start);
  }
  types.push_back(getTensorType(length, elementType));
  return success();
}

OpFoldResult ShapeOp::fold(FoldAdaptor) { return foldShapeValue(*this); }

LogicalResult SizeOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  types.push_back(getTensorType({}, IntegerType::get(getContext(), 64)));
  return success();
}

OpFoldResult SizeOp::fold(FoldAdaptor) { return foldShapeValue(*this); }

//===--- Reshape ----------------------------------------------------------===//

/// Puts the input's sizes where `dims` says 0. A 0 beyond the input's rank is
/// an error.
static LogicalResult copyZeroDims(ReshapeOp op,
                                  const std::optional<Shape> &input,
                                  SmallVectorImpl<Dim> &dims) {
  for (auto [index, dim] : llvm::enumerate(dims)) {
    if (!dim.isStatic(0))
      continue;
    if (!input) {
      dim = Dim::unknown();
      continue;
    }
    if (index >= input->size())
      return op.emitOpError("shape copies dimension ")
             << index << " of an input of rank " << input->size();
    dim = (*input)[index];
  }
  return success();
}

/// Solves the one dimension that -1 or an unknown value leaves open.
static LogicalResult solveOpenDim(ReshapeOp op,
                                  const std::optional<Shape> &input,
                                  SmallVectorImpl<Dim> &dims) {
  Dim *open = nullptr;
  unsigned numInferred = 0, numUnknown = 0;
  for (Dim &dim : dims) {
    bool inferred = dim.isStatic(-1);
    numInferred += inferred;
    numUnknown += !dim.isKnown();
    if (inferred || !dim.isKnown())
      open = &dim;
    if (dim.isStatic() && dim.getStatic() < -1)
      return op.emitOpError("shape has a negative size ") << dim.getStatic();
  }
  if (numInferred > 1)
    return op.emitOpError("shape has more than one -1");
  if (numInferred + numUnknown > 1 || !input) {
    for (Dim &dim : dims)
      if (dim.isStatic(-1))
        dim = Dim::unknown();
    return success();
  }
  MLIRContext *context = op.getContext();
  Dim total = getProduct(context, *input);
  Dim given = Dim::constant(context, 1);
  for (Dim &dim : dims)
    if (&dim != open)
      given = given * dim;
  auto mismatch = [&]() -> LogicalResult {
    InFlightDiagnostic diagnostic = op.emitOpError("cannot reshape ");
    diagnostic << op.getData().getType() << " into (";
    llvm::interleaveComma(dims, diagnostic,
                          [&](Dim dim) { diagnostic << toString(dim); });
    return diagnostic << "): the numbers of elements differ";
  };
  if (!open)
    return total.isStatic() && given.isStatic() && total != given ? mismatch()
                                                                  : success();
  bool inferred = open->isStatic(-1);
  if (given.isStatic(0) && inferred)
    return op.emitOpError("shape has -1 beside a size of 0");
  if (total.isStatic() && given.isStatic() && given.getStatic() > 0 &&
      total.getStatic() % given.getStatic() != 0)
    return mismatch();
  *open = given.isStatic(0) ? Dim::unknown() : divideExactly(total, given);
  return success();
}

LogicalResult ReshapeOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  if (failed(checkIntegerList(*this, getShape(), "shape")))
    return failure();
  Type elementType = getElementType(getData());
  std::optional<SmallVector<Dim>> dims = getShapeValue(getShape());
  if (!dims) {
    types.push_back(getUnrankedType(elementType));
    return success();
  }
  std::optional<Shape> input = onnx_aot::onnx::getShape(getData());
  if (getAllowzero() == 0) {
    if (failed(copyZeroDims(*this, input, *dims)))
      return failure();
  } else if (llvm::any_of(*dims, [](Dim dim) { return dim.isStatic(0); }) &&
             llvm::any_of(*dims, [](Dim dim) { return dim.isStatic(-1); })) {
    return emitOpError("shape has -1 beside a size of 0");
  }
  if (failed(solveOpenDim(*this, input, *dims)))
    return failure();
  types.push_back(getTensorType(*dims, elementType));
  return success();
}

/// A value whose static type says all about it.
static bool hasSameStaticType(Value a, Value b) {
  auto type = dyn_cast<RankedTensorType>(a.getType());
  return type && type == b.getType() && type.hasStaticShape();
}

OpFoldResult ReshapeOp::fold(FoldAdaptor) {
  // Pattern: Reshape(x) of x's own shape -> x
  if (hasSameStaticType(getData(), getResult()))
    return getData();
  return foldShapeValue(*this);
}

//===--- Flatten, Squeeze, Unsqueeze --------------------------------------===//

LogicalResult FlattenOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  Type elementType = getElementType(getInput());
  std::optional<Shape> shape = getShape(getInput());
  if (!shape) {
    types.push_back(getTensorType(getUnknownShape(2), elementType));
    return success();
  }
  int64_t rank = shape->size(), axis = getAxis();
  if (axis < -rank || axis > rank)
    return emitOpError("axis ") << axis << " is out of range for rank " << rank;
  if (axis < 0)
    axis += rank;
  ArrayRef<Dim> dims = *shape;
  types.push_back(
      getTensorType({getProduct(getContext(), dims.take_front(axis)),
                     getProduct(getContext(), dims.drop_front(axis))},
                    elementType));
  return success();
}

/// Result when the axes are only known at run time: the rank alone.
static Type getTypeOfRank(std::optional<int64_t> rank, Type elementType) {
  if (!rank || *rank < 0)
    return getUnrankedType(elementType);
  return getTensorType(getUnknownShape(*rank), elementType);
}

/// Number of elements of a 1-D tensor, where known.
static std::optional<int64_t> getLength(Value list) {
  std::optional<Shape> shape = getShape(list);
  if (!shape || shape->size() != 1 || !(*shape)[0].isStatic())
    return std::nullopt;
  return (*shape)[0].getStatic();
}

LogicalResult SqueezeOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  if (failed(checkIntegerList(*this, getAxes(), "axes")))
    return failure();
  Type elementType = getElementType(getData());
  std::optional<Shape> shape = getShape(getData());
  std::optional<SmallVector<int64_t>> axes;
  if (getAxes())
    axes = getConstantIntegers(getAxes());
  if (!shape || (getAxes() && !axes)) {
    std::optional<int64_t> length =
        getAxes() && shape ? getLength(getAxes()) : std::nullopt;
    types.push_back(getTypeOfRank(
        length ? std::optional<int64_t>(shape->size() - *length) : std::nullopt,
        elementType));
    return success();
  }
  Shape result;
  if (!axes) {
    for (Dim dim : *shape)
      if (!dim.isStatic(1))
        result.push_back(dim);
  } else {
    FailureOr<SmallVector<int64_t>> normal =
        checkAxes(*this, *axes, shape->size());
    if (failed(normal))
      return failure();
    for (auto [index, dim] : llvm::enumerate(*shape)) {
      if (!llvm::is_contained(*normal, index))
        result.push_back(dim);
      else if (dim.isStatic() && !dim.isStatic(1))
        return emitOpError("cannot drop dimension ")
               << index << " of size " << dim.getStatic();
    }
  }
  types.push_back(getTensorType(result, elementType));
  return success();
}

OpFoldResult SqueezeOp::fold(FoldAdaptor) { return foldShapeValue(*this); }

LogicalResult UnsqueezeOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  if (failed(checkIntegerList(*this, getAxes(), "axes")))
    return failure();
  Type elementType = getElementType(getData());
  std::optional<Shape> shape = getShape(getData());
  std::optional<SmallVector<int64_t>> axes = getConstantIntegers(getAxes());
  if (!shape || !axes) {
    std::optional<int64_t> length = shape ? getLength(getAxes()) : std::nullopt;
    types.push_back(getTypeOfRank(
        length ? std::optional<int64_t>(shape->size() + *length) : std::nullopt,
        elementType));
    return success();
  }
  int64_t rank = shape->size() + axes->size();
  FailureOr<SmallVector<int64_t>> normal = checkAxes(*this, *axes, rank);
  if (failed(normal))
    return failure();
  Shape result;
  auto *next = shape->begin();
  for (int64_t index = 0; index < rank; ++index)
    result.push_back(llvm::is_contained(*normal, index)
                         ? Dim::constant(getContext(), 1)
                         : *next++);
  types.push_back(getTensorType(result, elementType));
  return success();
}

OpFoldResult UnsqueezeOp::fold(FoldAdaptor) { return foldShapeValue(*this); }

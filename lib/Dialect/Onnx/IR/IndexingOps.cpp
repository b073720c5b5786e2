//===- IndexingOps.cpp - verifiers and shape functions --------------------===//

#include "onnx-aot/Dialect/Onnx/IR/Onnx.h"
#include "onnx-aot/Dialect/Onnx/IR/ShapeInference.h"

using namespace mlir;
using namespace onnx_aot::onnx;

#define GET_OP_CLASSES
#include "onnx-aot/Dialect/Onnx/IR/IndexingOps.cpp.inc"

void OnnxDialect::registerIndexingOps() {
  addOperations<
#define GET_OP_LIST
#include "onnx-aot/Dialect/Onnx/IR/IndexingOps.cpp.inc"
      >();
}

/// Refuses indices that are not integers.
static LogicalResult checkIndices(Operation *op, Value indices) {
  if (isa<IntegerType>(getElementType(indices)))
    return success();
  return op->emitOpError("indices must be integers, found ")
         << indices.getType();
}

/// Refuses constant indices outside [-size, size).
static LogicalResult checkConstantIndices(Operation *op, Value indices,
                                          Dim size) {
  std::optional<SmallVector<int64_t>> values = getConstantIntegers(indices);
  if (!values || !size.isStatic())
    return success();
  for (int64_t value : *values)
    if (value < -size.getStatic() || value >= size.getStatic())
      return op->emitOpError("index ")
             << value << " is out of range for a dimension of "
             << size.getStatic();
  return success();
}

static LogicalResult checkReduction(Operation *op, StringRef reduction) {
  if (llvm::is_contained({"none", "add", "mul", "max", "min"}, reduction))
    return success();
  return op->emitOpError("reduction \"")
         << reduction
         << "\" is not supported (supported: none, add, mul, max, min)";
}

//===--- Gather -----------------------------------------------------------===//

LogicalResult GatherOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  if (failed(checkIndices(*this, getIndices())))
    return failure();
  Type elementType = getElementType(getData());
  std::optional<Shape> data = getShape(getData()),
                       indices = getShape(getIndices());
  if (!data || !indices) {
    types.push_back(getUnrankedType(elementType));
    return success();
  }
  FailureOr<int64_t> axis = checkAxis(*this, getAxis(), data->size());
  if (failed(axis) ||
      failed(checkConstantIndices(*this, getIndices(), (*data)[*axis])))
    return failure();
  Shape result(data->begin(), data->begin() + *axis);
  result.append(*indices);
  result.append(data->begin() + *axis + 1, data->end());
  types.push_back(getTensorType(result, elementType));
  return success();
}

OpFoldResult GatherOp::fold(FoldAdaptor) { return foldShapeValue(*this); }

LogicalResult GatherElementsOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  if (failed(checkIndices(*this, getIndices())))
    return failure();
  Type elementType = getElementType(getData());
  std::optional<Shape> data = getShape(getData()),
                       indices = getShape(getIndices());
  if (data && indices) {
    if (data->size() != indices->size())
      return emitOpError("data and indices have different ranks ")
             << data->size() << " and " << indices->size();
    FailureOr<int64_t> axis = checkAxis(*this, getAxis(), data->size());
    if (failed(axis) ||
        failed(checkConstantIndices(*this, getIndices(), (*data)[*axis])))
      return failure();
    for (auto [index, pair] :
         llvm::enumerate(llvm::zip_equal(*data, *indices))) {
      auto [size, count] = pair;
      if (static_cast<int64_t>(index) != *axis && size.isStatic() &&
          count.isStatic() && count.getStatic() > size.getStatic())
        return emitOpError("indices have size ")
               << count.getStatic() << " in dimension " << index
               << ", data only " << size.getStatic();
    }
  }
  types.push_back(indices ? Type(getTensorType(*indices, elementType))
                          : getUnrankedType(elementType));
  return success();
}

LogicalResult GatherNDOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  if (failed(checkIndices(*this, getIndices())))
    return failure();
  Type elementType = getElementType(getData());
  std::optional<Shape> data = getShape(getData()),
                       indices = getShape(getIndices());
  if (!data || !indices || (!indices->empty() && !indices->back().isStatic())) {
    types.push_back(getUnrankedType(elementType));
    return success();
  }
  int64_t batch = getBatchDims(), rank = data->size();
  if (batch < 0 || batch >= std::min<int64_t>(rank, indices->size()))
    return emitOpError("batch_dims ") << batch << " is out of range for ranks "
                                      << rank << " and " << indices->size();
  int64_t depth = indices->back().getStatic();
  if (depth < 1 || depth > rank - batch)
    return emitOpError("indices address ")
           << depth << " dimensions of " << rank - batch;
  Shape result(indices->begin(), indices->end() - 1);
  for (int64_t i = 0; i < batch; ++i) {
    std::optional<Dim> merged = broadcastDims((*data)[i], (*indices)[i]);
    if (!merged || ((*data)[i].isStatic() && (*indices)[i].isStatic() &&
                    (*data)[i] != (*indices)[i]))
      return emitOpError("batch dimension ")
             << i << " of data and indices differ";
  }
  result.append(data->begin() + batch + depth, data->end());
  types.push_back(getTensorType(result, elementType));
  return success();
}

//===--- Scatter ----------------------------------------------------------===//

LogicalResult
ScatterElementsOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  if (failed(checkIndices(*this, getIndices())) ||
      failed(checkReduction(*this, getReduction())))
    return failure();
  if (getElementType(getData()) != getElementType(getUpdates()))
    return emitOpError("data and updates have different element types");
  std::optional<Shape> data = getShape(getData()),
                       indices = getShape(getIndices());
  std::optional<Shape> updates = getShape(getUpdates());
  if (data && indices && updates) {
    if (data->size() != indices->size() || data->size() != updates->size())
      return emitOpError("data, indices and updates have different ranks ")
             << data->size() << ", " << indices->size() << " and "
             << updates->size();
    FailureOr<int64_t> axis = checkAxis(*this, getAxis(), data->size());
    if (failed(axis) ||
        failed(checkConstantIndices(*this, getIndices(), (*data)[*axis])))
      return failure();
    for (auto [i, size] : llvm::enumerate(*data)) {
      Dim count = (*indices)[i], update = (*updates)[i];
      if (count.isStatic() && update.isStatic() && count != update)
        return emitOpError("indices and updates differ in dimension ") << i;
      if (static_cast<int64_t>(i) != *axis && size.isStatic() &&
          count.isStatic() && count.getStatic() > size.getStatic())
        return emitOpError("indices have size ")
               << count.getStatic() << " in dimension " << i << ", data only "
               << size.getStatic();
    }
  }
  types.push_back(getData().getType());
  return success();
}

LogicalResult ScatterNDOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  if (failed(checkIndices(*this, getIndices())) ||
      failed(checkReduction(*this, getReduction())))
    return failure();
  if (getElementType(getData()) != getElementType(getUpdates()))
    return emitOpError("data and updates have different element types");
  std::optional<Shape> data = getShape(getData()),
                       indices = getShape(getIndices());
  std::optional<Shape> updates = getShape(getUpdates());
  if (data && indices && updates) {
    if (indices->empty())
      return emitOpError("indices must have rank 1 or more");
    // Where its size is not known, the ranks tell it.
    int64_t rank = data->size();
    int64_t depth = indices->back().isStatic()
                        ? indices->back().getStatic()
                        : static_cast<int64_t>(indices->size()) - 1 + rank -
                              static_cast<int64_t>(updates->size());
    if (depth < 1 || depth > rank)
      return emitOpError("indices address ")
             << depth << " dimensions of " << rank;
    Shape expected(indices->begin(), indices->end() - 1);
    expected.append(data->begin() + depth, data->end());
    bool fits = expected.size() == updates->size();
    for (auto [want, got] : llvm::zip(expected, *updates))
      fits &= !want.isStatic() || !got.isStatic() || want == got;
    if (!fits)
      return emitOpError("updates ")
             << getUpdates().getType() << " do not fit data "
             << getData().getType() << " and indices "
             << getIndices().getType();
  }
  types.push_back(getData().getType());
  return success();
}

LogicalResult TensorScatterOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  if (getMode() != "linear" && getMode() != "circular")
    return emitOpError("mode \"")
           << getMode() << "\" is not supported (supported: linear, circular)";
  if (failed(checkIntegerList(*this, getWriteIndices(), "write_indices")))
    return failure();
  if (getElementType(getPastCache()) != getElementType(getUpdate()))
    return emitOpError("past_cache and update have different element types");
  std::optional<Shape> cache = getShape(getPastCache());
  std::optional<Shape> update = getShape(getUpdate());
  if (cache && update) {
    if (cache->size() != update->size())
      return emitOpError("past_cache and update have different ranks ")
             << cache->size() << " and " << update->size();
    FailureOr<int64_t> axis = checkAxis(*this, getAxis(), cache->size());
    if (failed(axis))
      return failure();
    if (*axis == 0)
      return emitOpError("axis must not be the batch dimension");
    for (auto [i, size] : llvm::enumerate(*cache)) {
      Dim written = (*update)[i];
      if (!size.isStatic() || !written.isStatic())
        continue;
      bool fits = static_cast<int64_t>(i) == *axis
                      ? written.getStatic() <= size.getStatic()
                      : written == size;
      if (!fits)
        return emitOpError("update ")
               << getUpdate().getType() << " does not fit past_cache "
               << getPastCache().getType();
    }
  }
  types.push_back(getPastCache().getType());
  return success();
}

//===--- Search -----------------------------------------------------------===//

LogicalResult OneHotOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  Type elementType = getElementType(getValues());
  for (Value value : {getIndices(), getDepth()})
    if (!getElementType(value).isIntOrFloat())
      return emitOpError("indices and depth must be numbers");
  std::optional<Shape> values = getShape(getValues());
  if (values && (values->size() != 1 ||
                 ((*values)[0].isStatic() && !(*values)[0].isStatic(2))))
    return emitOpError("values must have two elements, found ")
           << getValues().getType();
  if (std::optional<int64_t> rank = getRank(getDepth()); rank && *rank > 1)
    return emitOpError("depth must be a scalar, found ")
           << getDepth().getType();
  std::optional<Shape> shape = getShape(getIndices());
  if (!shape) {
    types.push_back(getUnrankedType(elementType));
    return success();
  }
  FailureOr<int64_t> axis = checkAxis(*this, getAxis(), shape->size() + 1);
  if (failed(axis))
    return failure();
  Dim depth = Dim::unknown();
  if (auto value = getShapeValue(getDepth()); value && value->size() == 1)
    depth = (*value)[0];
  if (depth.isStatic() && depth.getStatic() < 0)
    return emitOpError("depth ") << depth.getStatic() << " is negative";
  shape->insert(shape->begin() + *axis, depth);
  types.push_back(getTensorType(*shape, elementType));
  return success();
}

LogicalResult NonZeroOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  Dim rank = Dim::unknown();
  if (std::optional<int64_t> known = getRank(getX()))
    rank = Dim::constant(getContext(), *known);
  types.push_back(getTensorType({rank, Dim::unknown()},
                                IntegerType::get(getContext(), 64)));
  return success();
}

LogicalResult TopKOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  if (failed(checkIntegerList(*this, getK(), "k")))
    return failure();
  Type elementType = getElementType(getX());
  Type indexType = IntegerType::get(getContext(), 64);
  std::optional<Shape> shape = getShape(getX());
  if (!shape) {
    types.assign({getUnrankedType(elementType), getUnrankedType(indexType)});
    return success();
  }
  FailureOr<int64_t> axis = checkAxis(*this, getAxis(), shape->size());
  if (failed(axis))
    return failure();
  Dim count = Dim::unknown();
  if (auto value = getShapeValue(getK()); value && value->size() == 1)
    count = (*value)[0];
  Dim &size = (*shape)[*axis];
  if (count.isStatic() &&
      (count.getStatic() < 0 ||
       (size.isStatic() && count.getStatic() > size.getStatic())))
    return emitOpError("k = ")
           << count.getStatic() << " is out of range for " << getX().getType();
  size = count;
  types.assign(
      {getTensorType(*shape, elementType), getTensorType(*shape, indexType)});
  return success();
}

LogicalResult
NonMaxSuppressionOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  if (getCenterPointBox() != 0 && getCenterPointBox() != 1)
    return emitOpError("center_point_box must be 0 or 1, found ")
           << getCenterPointBox();
  std::optional<Shape> boxes = getShape(getBoxes()),
                       scores = getShape(getScores());
  if ((boxes && (boxes->size() != 3 ||
                 ((*boxes)[2].isStatic() && !(*boxes)[2].isStatic(4)))) ||
      (scores && scores->size() != 3))
    return emitOpError("boxes must be (batches, boxes, 4) and scores "
                       "(batches, classes, boxes), found ")
           << getBoxes().getType() << " and " << getScores().getType();
  if (boxes && scores)
    for (auto [a, b] : {std::pair<unsigned, unsigned>{0, 0}, {1, 2}})
      if ((*boxes)[a].isStatic() && (*scores)[b].isStatic() &&
          (*boxes)[a] != (*scores)[b])
        return emitOpError("boxes ")
               << getBoxes().getType() << " do not fit scores "
               << getScores().getType();
  types.push_back(
      getTensorType({Dim::unknown(), Dim::constant(getContext(), 3)},
                    IntegerType::get(getContext(), 64)));
  return success();
}

LogicalResult
ArrayFeatureExtractorOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  if (failed(checkIndices(*this, getY())))
    return failure();
  Type elementType = getElementType(getX());
  std::optional<Shape> data = getShape(getX()), indices = getShape(getY());
  if (!data || !indices) {
    types.push_back(getUnrankedType(elementType));
    return success();
  }
  if (data->empty())
    return emitOpError("x must have rank 1 or more");
  if (failed(checkConstantIndices(*this, getY(), data->back())))
    return failure();
  Dim count = getProduct(getContext(), *indices);
  Shape result(data->begin(), data->end() - 1);
  if (result.empty())
    result.push_back(Dim::constant(getContext(), 1));
  result.push_back(count);
  types.push_back(getTensorType(result, elementType));
  return success();
}

//===- EvaluateDataMovement.cpp - moving elements of constants ------------===//

#include "ConstantEvaluators.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace onnx_aot;
using namespace onnx_aot::onnx;

//===--- Walking over elements --------------------------------------------===//

SmallVector<int64_t> onnx_aot::getStrides(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (int64_t axis = static_cast<int64_t>(shape.size()) - 2; axis >= 0; --axis)
    strides[axis] = strides[axis + 1] * shape[axis + 1];
  return strides;
}

SmallVector<int64_t> onnx_aot::getBroadcastStrides(ArrayRef<int64_t> operand,
                                                   ArrayRef<int64_t> shape) {
  SmallVector<int64_t> own = getStrides(operand);
  SmallVector<int64_t> strides(shape.size(), 0);
  size_t offset = shape.size() - operand.size();
  for (size_t axis = 0; axis < operand.size(); ++axis)
    if (operand[axis] != 1)
      strides[offset + axis] = own[axis];
  return strides;
}

void onnx_aot::forEachElement(
    ArrayRef<int64_t> shape, ArrayRef<SmallVector<int64_t>> strides,
    ArrayRef<int64_t> starts,
    function_ref<void(int64_t, ArrayRef<int64_t>)> body) {
  int64_t size = 1;
  for (int64_t length : shape)
    size *= length;
  SmallVector<int64_t> position(shape.size(), 0);
  SmallVector<int64_t> offsets(starts);
  for (int64_t index = 0; index < size; ++index) {
    body(index, offsets);
    // Count up the position, the last axis first.
    for (int64_t axis = shape.size(); axis-- > 0;) {
      bool carries = ++position[axis] == shape[axis];
      for (auto [offset, stride] : llvm::zip_equal(offsets, strides))
        offset += carries ? -stride[axis] * (shape[axis] - 1) : stride[axis];
      if (!carries)
        break;
      position[axis] = 0;
    }
  }
}

//===--- Evaluators -------------------------------------------------------===//

static RankedTensorType getResultType(Operation *op, unsigned index = 0) {
  return cast<RankedTensorType>(op->getResult(index).getType());
}

/// The elements of `source` from `start` on, `strides` apart, in `type`'s
/// shape.
static ElementsAttr pick(const ConstantData &source, RankedTensorType type,
                         SmallVector<int64_t> strides, int64_t start = 0) {
  if (source.isSplat() && type.getNumElements() > 0)
    return makeSplat(type, source[0]);
  ConstantBuilder result(type);
  forEachElement(type.getShape(), {std::move(strides)}, {start},
                 [&](int64_t index, ArrayRef<int64_t> offset) {
                   result.set(index, source[offset[0]]);
                 });
  return result.finish();
}

/// Identity, Reshape, Flatten, Squeeze and Unsqueeze.
static ElementsAttr evaluateReshape(Operation *op) {
  auto constant = op->getOperand(0).getDefiningOp<ConstantOp>();
  RankedTensorType type = getResultType(op);
  if (!constant ||
      constant.getValue().getNumElements() != type.getNumElements())
    return {};
  return reshapeConstant(constant.getValue(), type.getShape());
}

static ElementsAttr evaluateTranspose(TransposeOp op) {
  std::optional<ConstantData> data = ConstantData::get(op.getData());
  if (!data)
    return {};
  SmallVector<int64_t> permutation =
      op.getPermutation(data->getType().getRank());
  SmallVector<int64_t> own = getStrides(data->getShape()), strides;
  for (int64_t axis : permutation)
    strides.push_back(own[axis]);
  return pick(*data, getResultType(op), strides);
}

static ElementsAttr evaluateExpand(ExpandOp op) {
  std::optional<ConstantData> data = ConstantData::get(op.getInput());
  RankedTensorType type = getResultType(op);
  if (!data)
    return {};
  return pick(*data, type,
              getBroadcastStrides(data->getShape(), type.getShape()));
}

static ElementsAttr evaluateSlice(SliceOp op) {
  std::optional<ConstantData> data = ConstantData::get(op.getData());
  std::optional<SmallVector<int64_t>> starts =
      getConstantIntegers(op.getStarts());
  std::optional<SmallVector<int64_t>> axes = op.getSlicedAxes();
  if (!data || !starts || !axes || axes->size() != starts->size())
    return {};
  SmallVector<int64_t> steps(starts->size(), 1);
  if (op.getSteps()) {
    std::optional<SmallVector<int64_t>> given =
        getConstantIntegers(op.getSteps());
    if (!given || given->size() != starts->size())
      return {};
    steps = *given;
  }
  RankedTensorType type = getResultType(op);
  SmallVector<int64_t> strides = getStrides(data->getShape());
  int64_t offset = 0;
  for (auto [start, axis, step] : llvm::zip_equal(*starts, *axes, steps)) {
    int64_t length = data->getShape()[axis];
    // An empty axis has no first element; a wild step must not overflow.
    if (length == 0 || type.getDimSize(axis) == 0)
      continue;
    int64_t first = start < 0 ? start + length : start;
    first = std::clamp<int64_t>(first, 0, length - 1);
    offset += first * strides[axis];
    strides[axis] = type.getDimSize(axis) == 1 ? 0 : strides[axis] * step;
  }
  return pick(*data, type, strides, offset);
}

static ElementsAttr evaluateConcat(ConcatOp op) {
  RankedTensorType type = getResultType(op);
  FailureOr<int64_t> axis = normalizeAxis(op.getAxis(), type.getRank());
  if (failed(axis))
    return {};
  ConstantBuilder result(type);
  SmallVector<int64_t> strides = getStrides(type.getShape());
  int64_t start = 0;
  for (Value input : op.getInputs()) {
    std::optional<ConstantData> data = ConstantData::get(input);
    if (!data || data->getType().getRank() != type.getRank())
      return {};
    if (start + data->getShape()[*axis] > type.getDimSize(*axis))
      return {};
    forEachElement(data->getShape(), {strides}, {start * strides[*axis]},
                   [&](int64_t index, ArrayRef<int64_t> offset) {
                     result.set(offset[0], (*data)[index]);
                   });
    start += data->getShape()[*axis];
  }
  if (start != type.getDimSize(*axis))
    return {};
  return result.finish();
}

static LogicalResult evaluateSplit(SplitOp op,
                                   SmallVectorImpl<ElementsAttr> &results) {
  std::optional<ConstantData> data = ConstantData::get(op.getInput());
  if (!data)
    return failure();
  FailureOr<int64_t> axis =
      normalizeAxis(op.getAxis(), data->getType().getRank());
  if (failed(axis))
    return failure();
  SmallVector<int64_t> strides = getStrides(data->getShape());
  int64_t start = 0;
  for (unsigned index = 0; index < op->getNumResults(); ++index) {
    RankedTensorType type = getResultType(op, index);
    if (start + type.getDimSize(*axis) > data->getShape()[*axis])
      return failure();
    results.push_back(pick(*data, type, strides, start * strides[*axis]));
    start += type.getDimSize(*axis);
  }
  return success();
}

static ElementsAttr evaluateGather(GatherOp op) {
  std::optional<ConstantData> data = ConstantData::get(op.getData());
  std::optional<ConstantData> indices = ConstantData::get(op.getIndices());
  if (!data || !indices)
    return {};
  FailureOr<int64_t> axis =
      normalizeAxis(op.getAxis(), data->getType().getRank());
  if (failed(axis))
    return {};
  ArrayRef<int64_t> shape = data->getShape();
  int64_t inner = 1, outer = 1, length = shape[*axis];
  for (int64_t size : shape.take_front(*axis))
    outer *= size;
  for (int64_t size : shape.drop_front(*axis + 1))
    inner *= size;
  ConstantBuilder result(getResultType(op));
  if (result.size() != outer * inner * indices->size())
    return {};
  int64_t position = 0;
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < indices->size(); ++i) {
      int64_t index = indices->getInteger(i);
      index += index < 0 ? length : 0;
      // Out of range is an error the program has to report.
      if (index < 0 || index >= length)
        return {};
      for (int64_t n = 0; n < inner; ++n)
        result.set(position++, (*data)[(o * length + index) * inner + n]);
    }
  return result.finish();
}

static ElementsAttr evaluateTile(TileOp op) {
  std::optional<ConstantData> data = ConstantData::get(op.getInput());
  RankedTensorType type = getResultType(op);
  if (!data || data->getType().getRank() != type.getRank())
    return {};
  SmallVector<int64_t> strides = getStrides(data->getShape());
  ConstantBuilder result(type);
  for (int64_t index = 0, size = result.size(); index < size; ++index) {
    int64_t offset = 0, rest = index;
    for (int64_t axis = type.getRank(); axis-- > 0;) {
      offset +=
          rest % type.getDimSize(axis) % data->getShape()[axis] * strides[axis];
      rest /= type.getDimSize(axis);
    }
    result.set(index, (*data)[offset]);
  }
  return result.finish();
}

static ElementsAttr evaluateConstantOfShape(ConstantOfShapeOp op) {
  RankedTensorType type = getResultType(op);
  if (!op.getValue()) {
    const char zero[8] = {};
    return makeSplat(type, zero);
  }
  std::optional<ConstantData> value = ConstantData::get(*op.getValue());
  if (!value || value->size() != 1)
    return {};
  return makeSplat(type, (*value)[0]);
}

static ElementsAttr evaluateWhere(WhereOp op) {
  std::optional<ConstantData> condition = ConstantData::get(op.getCondition());
  std::optional<ConstantData> x = ConstantData::get(op.getX());
  std::optional<ConstantData> y = ConstantData::get(op.getY());
  if (!condition || !x || !y)
    return {};
  RankedTensorType type = getResultType(op);
  ConstantBuilder result(type);
  forEachElement(type.getShape(),
                 {getBroadcastStrides(condition->getShape(), type.getShape()),
                  getBroadcastStrides(x->getShape(), type.getShape()),
                  getBroadcastStrides(y->getShape(), type.getShape())},
                 {0, 0, 0}, [&](int64_t index, ArrayRef<int64_t> offset) {
                   result.set(index, *(*condition)[offset[0]]
                                         ? (*x)[offset[1]]
                                         : (*y)[offset[2]]);
                 });
  return result.finish();
}

//===--- Dispatch ---------------------------------------------------------===//

bool onnx_aot::isDataMovement(Operation *op) {
  return isa<IdentityOp, ReshapeOp, FlattenOp, SqueezeOp, UnsqueezeOp,
             TransposeOp, ExpandOp, SliceOp, ConcatOp, SplitOp, GatherOp,
             TileOp, ConstantOfShapeOp, WhereOp>(op);
}

LogicalResult
onnx_aot::evaluateDataMovement(Operation *op,
                               SmallVectorImpl<ElementsAttr> &results) {
  if (auto split = dyn_cast<SplitOp>(op))
    return evaluateSplit(split, results);
  auto result =
      TypeSwitch<Operation *, ElementsAttr>(op)
          .Case<IdentityOp, ReshapeOp, FlattenOp, SqueezeOp, UnsqueezeOp>(
              [](Operation *reshape) { return evaluateReshape(reshape); })
          .Case([](TransposeOp typed) { return evaluateTranspose(typed); })
          .Case([](ExpandOp typed) { return evaluateExpand(typed); })
          .Case([](SliceOp typed) { return evaluateSlice(typed); })
          .Case([](ConcatOp typed) { return evaluateConcat(typed); })
          .Case([](GatherOp typed) { return evaluateGather(typed); })
          .Case([](TileOp typed) { return evaluateTile(typed); })
          .Case([](ConstantOfShapeOp typed) {
            return evaluateConstantOfShape(typed);
          })
          .Case([](WhereOp typed) { return evaluateWhere(typed); })
          .Default([](Operation *) { return ElementsAttr(); });
  if (!result)
    return failure();
  results.push_back(result);
  return success();
}

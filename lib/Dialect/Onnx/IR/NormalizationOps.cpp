//===- NormalizationOps.cpp - verifiers and shape functions ---------------===//

#include "onnx-aot/Dialect/Onnx/IR/Onnx.h"

using namespace mlir;
using namespace onnx_aot::onnx;

#define GET_OP_CLASSES
#include "onnx-aot/Dialect/Onnx/IR/NormalizationOps.cpp.inc"

void OnnxDialect::registerNormalizationOps() {
  addOperations<
#define GET_OP_LIST
#include "onnx-aot/Dialect/Onnx/IR/NormalizationOps.cpp.inc"
      >();
}

//===--- Checks shared by the ops -----------------------------------------===//

/// A scalar has one axis here: numpy and ONNX's runners let axis 0 and -1 pass.
static LogicalResult verifyAxis(Operation *op, Value x, int64_t axis) {
  std::optional<int64_t> rank = getRank(x);
  if (rank && failed(normalizeAxis(axis, std::max<int64_t>(*rank, 1))))
    return op->emitOpError("axis ")
           << axis << " is out of range for " << x.getType();
  return success();
}

static LogicalResult verifyMinRank(Operation *op, Value x, int64_t least) {
  std::optional<int64_t> rank = getRank(x);
  if (rank && *rank < least)
    return op->emitOpError("input must have at least ")
           << least << " dimensions, not " << x.getType();
  return success();
}

/// Each parameter must be a vector with one element per channel of x.
static LogicalResult verifyPerChannel(Operation *op, Value x,
                                      ValueRange parameters) {
  if (failed(verifyMinRank(op, x, 2)))
    return failure();
  std::optional<Shape> shape = getShape(x);
  for (Value parameter : parameters) {
    std::optional<Shape> own = getShape(parameter);
    if (!own || (own->size() == 1 &&
                 (!shape || !(*own)[0].isStatic() || !(*shape)[1].isStatic() ||
                  (*own)[0] == (*shape)[1])))
      continue;
    return op->emitOpError("per-channel parameter has type ")
           << parameter.getType() << ", which does not fit " << x.getType();
  }
  return success();
}

static LogicalResult verifyStashType(Operation *op, int64_t stashType) {
  Type type = getElementTypeOf(op->getContext(), stashType);
  if (!isa_and_nonnull<Float16Type, BFloat16Type, Float32Type, Float64Type>(
          type))
    return op->emitOpError("stash_type ") << stashType << " is no float type";
  return success();
}

/// A parameter of layer normalization must broadcast to x without growing it.
static LogicalResult verifyBroadcastsTo(Operation *op, Value x,
                                        Value parameter) {
  std::optional<Shape> shape = getShape(x);
  std::optional<Shape> own = parameter ? getShape(parameter) : std::nullopt;
  if (!shape || !own)
    return success();
  FailureOr<Shape> both = broadcastShapes({*shape, *own});
  bool fits = succeeded(both) && both->size() == shape->size();
  for (size_t i = 0; fits && i < shape->size(); ++i)
    fits = !(*both)[i].isStatic() || !(*shape)[i].isStatic() ||
           (*both)[i] == (*shape)[i];
  if (fits)
    return success();
  return op->emitOpError("parameter of type ")
         << parameter.getType() << " cannot be broadcast to " << x.getType();
}

//===--- Along axes -------------------------------------------------------===//

LogicalResult SoftmaxOp::verify() {
  return verifyAxis(*this, getX(), getAxis());
}
LogicalResult LogSoftmaxOp::verify() {
  return verifyAxis(*this, getX(), getAxis());
}
LogicalResult HardmaxOp::verify() {
  return verifyAxis(*this, getX(), getAxis());
}
LogicalResult LpNormalizationOp::verify() {
  return verifyAxis(*this, getX(), getAxis());
}
LogicalResult MeanVarianceNormalizationOp::verify() {
  for (int64_t axis : getAxes())
    if (failed(verifyAxis(*this, getX(), axis)))
      return failure();
  return success();
}
LogicalResult LRNOp::verify() { return verifyMinRank(*this, getX(), 2); }

//===--- Over channels ----------------------------------------------------===//

LogicalResult BatchNormalizationOp::verify() {
  // Without a second dimension there is one channel.
  if (getRank(getX()) == 1)
    return success();
  return verifyPerChannel(*this, getX(),
                          {getScale(), getB(), getInputMean(), getInputVar()});
}

LogicalResult
BatchNormalizationOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  types.assign(
      {getX().getType(), getInputMean().getType(), getInputVar().getType()});
  return success();
}

LogicalResult InstanceNormalizationOp::verify() {
  return verifyPerChannel(*this, getInput(), {getScale(), getB()});
}

LogicalResult
InstanceNormalizationOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  types.push_back(getInput().getType());
  return success();
}

LogicalResult GroupNormalizationOp::verify() {
  int64_t groups = getNumGroups();
  auto divides = [&](Value operand, size_t dim) {
    std::optional<Shape> shape = getShape(operand);
    return !shape || shape->size() <= dim || !(*shape)[dim].isStatic() ||
           (*shape)[dim].getStatic() % groups == 0;
  };
  for (auto [operand, dim] : std::initializer_list<std::pair<Value, size_t>>{
           {getX(), 1}, {getScale(), 0}, {getBias(), 0}})
    if (!divides(operand, dim))
      return emitOpError("num_groups ")
             << groups << " does not divide the channels of "
             << operand.getType();
  return failure(
      failed(verifyStashType(*this, getStashType())) ||
      failed(verifyPerChannel(*this, getX(), {getScale(), getBias()})));
}

LogicalResult
GroupNormalizationOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  types.push_back(getX().getType());
  return success();
}

//===--- Over trailing dimensions -----------------------------------------===//

LogicalResult LayerNormalizationOp::verify() {
  return failure(failed(verifyAxis(*this, getX(), getAxis())) ||
                 failed(verifyStashType(*this, getStashType())) ||
                 failed(verifyBroadcastsTo(*this, getX(), getScale())) ||
                 failed(verifyBroadcastsTo(*this, getX(), getB())));
}

LogicalResult
LayerNormalizationOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  types.push_back(getX().getType());
  Type stashType = getElementTypeOf(getContext(), getStashType());
  if (!stashType)
    return verifyStashType(*this, getStashType());
  Type statistics = UnrankedTensorType::get(stashType);
  if (std::optional<Shape> shape = getShape(getX())) {
    FailureOr<int64_t> axis = normalizeAxis(getAxis(), shape->size());
    for (size_t i = axis.value_or(0); i < shape->size(); ++i)
      (*shape)[i] = Dim::constant(getContext(), 1);
    statistics = getTensorType(*shape, stashType);
  }
  types.append(2, statistics);
  return success();
}

LogicalResult RMSNormalizationOp::verify() {
  return failure(failed(verifyAxis(*this, getX(), getAxis())) ||
                 failed(verifyStashType(*this, getStashType())) ||
                 failed(verifyBroadcastsTo(*this, getX(), getScale())));
}

LogicalResult
RMSNormalizationOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  types.push_back(
      cast<TensorType>(getX().getType()).clone(getElementType(getScale())));
  return success();
}

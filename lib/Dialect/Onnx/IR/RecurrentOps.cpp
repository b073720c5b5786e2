//===- RecurrentOps.cpp - verifiers and shape functions -------------------===//

#include "onnx-aot/Dialect/Onnx/IR/Onnx.h"

using namespace mlir;
using namespace onnx_aot::onnx;

#define GET_OP_CLASSES
#include "onnx-aot/Dialect/Onnx/IR/RecurrentOps.cpp.inc"

void OnnxDialect::registerRecurrentOps() {
  addOperations<
#define GET_OP_LIST
#include "onnx-aot/Dialect/Onnx/IR/RecurrentOps.cpp.inc"
      >();
}

/// Refuses an operand whose known sizes are not those wanted.
static LogicalResult checkOperand(Operation *op, Value operand, StringRef name,
                                  ArrayRef<Dim> wanted) {
  std::optional<Shape> shape = operand ? getShape(operand) : std::nullopt;
  if (!shape)
    return success();
  bool fits = shape->size() == wanted.size();
  if (fits)
    for (auto [own, dim] : llvm::zip_equal(*shape, wanted))
      fits &= !own.isStatic() || !dim.isStatic() || own == dim;
  if (fits)
    return success();
  InFlightDiagnostic diagnostic = op->emitOpError()
                                  << name << " of type " << operand.getType()
                                  << " does not fit, expected (";
  llvm::interleaveComma(wanted, diagnostic, [&](Dim dim) {
    if (dim.isStatic())
      diagnostic << dim.getStatic();
    else
      diagnostic << "?";
  });
  return diagnostic << ")";
}

/// Checks x, w, r, b and the states of a layer with `gates` gates, and gives
/// the shapes of y and of one state.
template <typename OpTy>
static LogicalResult inferRecurrent(OpTy op, int64_t gates,
                                    ArrayRef<Value> states,
                                    SmallVectorImpl<Type> &types) {
  MLIRContext *context = op.getContext();
  Type elementType = getElementType(op.getX());
  StringRef direction = op.getDirection();
  if (direction != "forward" && direction != "reverse" &&
      direction != "bidirectional")
    return op.emitOpError("direction \"")
           << direction
           << "\" is not known (supported: forward, reverse, bidirectional)";
  if (op.getLayout() != 0 && op.getLayout() != 1)
    return op.emitOpError("layout is ")
           << op.getLayout() << " (supported: 0, 1)";
  std::optional<Shape> x = getShape(op.getX()), r = getShape(op.getR());
  if (!x || !r) {
    types.append(1 + states.size(), UnrankedTensorType::get(elementType));
    return success();
  }
  if (x->size() != 3 || r->size() != 3)
    return op.emitOpError("x and r must have rank 3, found ")
           << op.getX().getType() << " and " << op.getR().getType();
  Dim directions = Dim::constant(context, direction == "bidirectional" ? 2 : 1);
  Dim hidden = (*r)[2];
  if (std::optional<uint64_t> given = op.getHiddenSize()) {
    if (hidden.isStatic() && hidden.getStatic() != static_cast<int64_t>(*given))
      return op.emitOpError("hidden_size is ")
             << static_cast<int64_t>(*given) << ", but r has "
             << hidden.getStatic();
    if (!hidden.isStatic())
      hidden = Dim::constant(context, *given);
  }
  bool batchFirst = op.getLayout() == 1;
  Dim sequence = (*x)[batchFirst ? 1 : 0], batch = (*x)[batchFirst ? 0 : 1];
  if (failed(checkOperand(op, op.getW(), "w",
                          {directions, hidden * gates, (*x)[2]})) ||
      failed(checkOperand(op, op.getR(), "r",
                          {directions, hidden * gates, hidden})) ||
      failed(checkOperand(op, op.getB(), "b",
                          {directions, hidden * (2 * gates)})) ||
      failed(checkOperand(op, op.getSequenceLens(), "sequence_lens", {batch})))
    return failure();
  Shape state = batchFirst ? Shape{batch, directions, hidden}
                           : Shape{directions, batch, hidden};
  for (Value initial : states)
    if (failed(checkOperand(op, initial, "initial state", state)))
      return failure();
  Shape y = batchFirst ? Shape{batch, sequence, directions, hidden}
                       : Shape{sequence, directions, batch, hidden};
  types.push_back(getTensorType(y, elementType));
  types.append(states.size(), getTensorType(state, elementType));
  return success();
}

LogicalResult RNNOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  return inferRecurrent(*this, 1, {getInitialH()}, types);
}

LogicalResult GRUOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  return inferRecurrent(*this, 3, {getInitialH()}, types);
}

LogicalResult LSTMOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  if (getP())
    if (std::optional<Shape> r = getShape(getR()); r && r->size() == 3)
      if (failed(checkOperand(*this, getP(), "p", {(*r)[0], (*r)[2] * 3})))
        return failure();
  return inferRecurrent(*this, 4, {getInitialH(), getInitialC()}, types);
}

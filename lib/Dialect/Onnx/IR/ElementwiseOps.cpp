//===- ElementwiseOps.cpp - verifiers, shape functions, folders -----------===//

#include "onnx-aot/Dialect/Onnx/IR/Onnx.h"

using namespace mlir;
using namespace onnx_aot::onnx;

#define GET_OP_CLASSES
#include "onnx-aot/Dialect/Onnx/IR/ElementwiseOps.cpp.inc"

void OnnxDialect::registerElementwiseOps() {
  addOperations<
#define GET_OP_LIST
#include "onnx-aot/Dialect/Onnx/IR/ElementwiseOps.cpp.inc"
      >();
}

/// Whether a value is certainly no scalar. ONNX allows one element for one.
static bool isNoScalar(Value value) {
  auto type =
      dyn_cast_if_present<RankedTensorType>(value ? value.getType() : Type());
  return type && (type.getRank() > 1 ||
                  (type.hasStaticShape() && type.getNumElements() != 1));
}

//===--- Clip -------------------------------------------------------------===//

LogicalResult ClipOp::verify() {
  for (Value bound : {getMin(), getMax()})
    if (isNoScalar(bound))
      return emitOpError("bounds must be scalars, not ") << bound.getType();
  return success();
}

//===--- Neg --------------------------------------------------------------===//

OpFoldResult NegOp::fold(FoldAdaptor) {
  auto inner = getX().getDefiningOp<NegOp>();
  return inner && inner.getX().getType() == getType() ? inner.getX() : Value();
}

//===--- PRelu ------------------------------------------------------------===//

LogicalResult PReluOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  std::optional<Shape> x = getShape(getX()), slope = getShape(getSlope());
  types.push_back(getX().getType());
  if (!x || !slope)
    return success();
  FailureOr<Shape> both = broadcastShapes({*x, *slope});
  if (failed(both) || both->size() != x->size() ||
      llvm::any_of(llvm::zip_equal(*both, *x), [](auto pair) {
        auto [merged, own] = pair;
        return merged.isStatic() && own.isStatic() && merged != own;
      }))
    return emitOpError("slope of type ")
           << getSlope().getType() << " cannot be broadcast to "
           << getX().getType();
  return success();
}

//===--- Casts ------------------------------------------------------------===//

/// The type of `input` with another element type.
static Type withElementType(Value input, Type elementType) {
  return cast<TensorType>(input.getType()).clone(elementType);
}

static OpFoldResult foldCast(Value input, Type resultType) {
  return input.getType() == resultType ? input : Value();
}

LogicalResult CastOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  Type elementType = getElementTypeOf(getContext(), getTo());
  if (!elementType)
    return emitOpError("attribute 'to' is ")
           << static_cast<int64_t>(getTo()) << ", which is no element type";
  types.push_back(withElementType(getInput(), elementType));
  return success();
}

OpFoldResult CastOp::fold(FoldAdaptor) {
  return foldCast(getInput(), getType());
}

LogicalResult CastLikeOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  types.push_back(withElementType(getInput(), getElementType(getTargetType())));
  return success();
}

OpFoldResult CastLikeOp::fold(FoldAdaptor) {
  return foldCast(getInput(), getType());
}

LogicalResult BitCastOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  Type from = getElementType(getInput());
  Type elementType = getElementTypeOf(getContext(), getTo());
  auto width = [](Type type) -> unsigned {
    if (auto complex = dyn_cast<ComplexType>(type))
      return 2 * complex.getElementType().getIntOrFloatBitWidth();
    if (!type.isIntOrFloat())
      return 0;
    // A bool is a byte in memory.
    return type.isInteger(1) ? 8 : type.getIntOrFloatBitWidth();
  };
  if (!elementType || !width(from) || width(from) != width(elementType))
    return emitOpError("cannot reinterpret ")
           << from << " as data type " << static_cast<int64_t>(getTo())
           << " (supported: types of the same width)";
  types.push_back(withElementType(getInput(), elementType));
  return success();
}

OpFoldResult BitCastOp::fold(FoldAdaptor) {
  return foldCast(getInput(), getType());
}

//===--- Identity ---------------------------------------------------------===//

LogicalResult IdentityOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  types.push_back(getInput().getType());
  return success();
}

OpFoldResult IdentityOp::fold(FoldAdaptor) {
  return foldCast(getInput(), getType());
}

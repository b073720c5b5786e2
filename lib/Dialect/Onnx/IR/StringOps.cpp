//===- StringOps.cpp - shape functions of ops on strings ------------------===//

#include "onnx-aot/Dialect/Onnx/IR/ShapeInference.h"
#include "onnx-aot/Dialect/Onnx/IR/Strings.h"

using namespace mlir;

namespace onnx_aot::onnx {

bool holdsStrings(Type type) {
  if (auto sequence = dyn_cast<SequenceType>(type))
    return holdsStrings(sequence.getElementType());
  if (auto optional = dyn_cast<OptionalType>(type))
    return holdsStrings(optional.getElementType());
  return isa<StringType>(getElementTypeOrSelf(type));
}

Value createStrings(OpBuilder &builder, Location loc,
                    ArrayRef<StringRef> values, ArrayRef<int64_t> shape) {
  SmallVector<int64_t> offsets{0};
  SmallVector<int8_t> bytes;
  for (StringRef value : values) {
    bytes.append(value.begin(), value.end());
    offsets.push_back(bytes.size());
  }
  auto type = RankedTensorType::get(static_cast<int64_t>(bytes.size()),
                                    builder.getI8Type());
  Value all = createConstant(
      builder, loc,
      bytes.empty() ? DenseElementsAttr::get(type, ArrayRef<Attribute>())
                    : DenseElementsAttr::get(type, ArrayRef<int8_t>(bytes)));
  return createInferred<StringsConstantOp>(
      builder, loc, all, createIntegers(builder, loc, offsets),
      builder.getDenseI64ArrayAttr(shape));
}

LogicalResult
StringsConstantOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  int64_t count = 1;
  for (int64_t size : getShape())
    if (size < 0 || llvm::MulOverflow(count, size, count))
      return emitOpError("has a shape that cannot be");
  std::optional<Shape> offsets = onnx::getShape(getOffsets());
  if (!offsets || offsets->size() != 1 || !(*offsets)[0].isStatic(count + 1))
    return emitOpError("needs an offset for each of its ")
           << count << " strings, and one more";
  types.push_back(
      RankedTensorType::get(getShape(), StringType::get(getContext())));
  return success();
}

LogicalResult StringSplitOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  Type i64 = IntegerType::get(getContext(), 64);
  std::optional<Shape> shape = getShape(getX());
  if (!shape) {
    types.append({getX().getType(), getUnrankedType(i64)});
    return success();
  }
  Type counts = getTensorType(*shape, i64);
  shape->push_back(Dim::unknown());
  types.append({getTensorType(*shape, getElementType(getX())), counts});
  return success();
}

LogicalResult
StringNormalizerOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  std::optional<Shape> shape = getShape(getX());
  if (!shape) {
    types.push_back(getX().getType());
    return success();
  }
  bool isRow = shape->size() == 2 &&
               (!(*shape)[0].isStatic() || (*shape)[0].isStatic(1));
  if (shape->size() != 1 && !isRow)
    return emitOpError("x must be a list or a matrix of one row, found ")
           << getX().getType();
  if (getStopwords() && !getStopwords()->empty())
    shape->back() = Dim::unknown();
  if (isRow)
    shape->front() = Dim::constant(getContext(), 1);
  types.push_back(getTensorType(*shape, getElementType(getX())));
  return success();
}

} // namespace onnx_aot::onnx

//===- ShapeScalars.cpp - small integer tensors as scalars ----------------===//

#include "ShapeScalars.h"

using namespace mlir;

namespace onnx_aot {

static constexpr int64_t kMaxScalars = 16;

bool isSmallIntegers(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !isa<IntegerType>(tensor.getElementType()) ||
      !tensor.hasStaticShape())
    return false;
  // Sizes first: their product may overflow.
  return llvm::all_of(tensor.getShape(),
                      [](int64_t size) { return size <= kMaxScalars; }) &&
         tensor.getRank() <= 8 && tensor.getNumElements() <= kMaxScalars;
}

bool isShapeArithmetic(Operation *op) {
  return llvm::all_of(op->getOperandTypes(), isSmallIntegers) &&
         llvm::all_of(op->getResultTypes(), isSmallIntegers);
}

SmallVector<Value> getElements(OpBuilder &builder, Location loc, Value tensor) {
  if (auto made = tensor.getDefiningOp<tensor::FromElementsOp>())
    return SmallVector<Value>(made.getElements());
  auto type = cast<RankedTensorType>(tensor.getType());
  SmallVector<Value> elements;
  for (int64_t offset = 0, count = type.getNumElements(); offset < count;
       ++offset) {
    SmallVector<Value> index(type.getRank());
    int64_t rest = offset;
    for (int64_t axis = type.getRank(); axis-- > 0;) {
      index[axis] = arith::ConstantIndexOp::create(
          builder, loc, rest % type.getDimSize(axis));
      rest /= type.getDimSize(axis);
    }
    elements.push_back(
        builder.createOrFold<tensor::ExtractOp>(loc, tensor, index));
  }
  return elements;
}

SmallVector<Value> getIndexElements(OpBuilder &builder, Location loc,
                                    Value tensor) {
  SmallVector<Value> elements = getElements(builder, loc, tensor);
  IndexBuilder b(builder, loc);
  for (Value &element : elements)
    element = b.fromInteger(element);
  return elements;
}

Value getOnlyElement(OpBuilder &builder, Location loc, Value tensor) {
  if (auto made = tensor.getDefiningOp<tensor::FromElementsOp>();
      made && made.getElements().size() == 1)
    return made.getElements()[0];
  auto type = cast<RankedTensorType>(tensor.getType());
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  for (int64_t axis = 0; axis < type.getRank(); ++axis)
    if (type.isDynamicDim(axis))
      createCheck(builder, loc,
                  builder.createOrFold<arith::CmpIOp>(
                      loc, arith::CmpIPredicate::eq,
                      builder.createOrFold<tensor::DimOp>(loc, tensor, axis),
                      one),
                  "an input that is one number has another count of elements");
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  SmallVector<Value> index(type.getRank(), zero);
  return builder.createOrFold<tensor::ExtractOp>(loc, tensor, index);
}

Value createFromElements(OpBuilder &builder, Location loc, Type tensorType,
                         ArrayRef<Value> elements) {
  auto type = cast<RankedTensorType>(tensorType);
  if (elements.empty())
    return tensor::EmptyOp::create(builder, loc, type.getShape(),
                                   type.getElementType());
  return tensor::FromElementsOp::create(builder, loc, type, elements);
}

LogicalResult lowerToScalars(ConversionPatternRewriter &rewriter, Operation *op,
                             ValueRange operands, ValueRange convertedOperands,
                             ScalarBody body) {
  Location loc = op->getLoc();
  auto type =
      cast<RankedTensorType>(convertOnnxType(op->getResult(0).getType()));
  SmallVector<SmallVector<Value>> inputs;
  SmallVector<ArrayRef<int64_t>> shapes;
  for (auto [before, converted] :
       llvm::zip_equal(operands, convertedOperands)) {
    SmallVector<Value> elements = getElements(rewriter, loc, converted);
    if (onnx::getElementType(before).isInteger(1))
      for (Value &element : elements)
        element = arith::CmpIOp::create(
            rewriter, loc, arith::CmpIPredicate::ne, element,
            createScalarConstant(rewriter, loc, 0, element.getType()));
    inputs.push_back(std::move(elements));
    shapes.push_back(cast<RankedTensorType>(converted.getType()).getShape());
  }
  SmallVector<Value> results;
  for (int64_t offset = 0, count = type.getNumElements(); offset < count;
       ++offset) {
    SmallVector<Value> arguments;
    for (auto [elements, shape] : llvm::zip_equal(inputs, shapes)) {
      // The operand's element under this one of the result, from the last axis.
      int64_t rest = offset, source = 0, stride = 1;
      for (int64_t i = 1; i <= static_cast<int64_t>(shape.size()); ++i) {
        int64_t size = type.getDimSize(type.getRank() - i);
        int64_t own = shape[shape.size() - i];
        source += own == 1 ? 0 : rest % size * stride;
        stride *= own;
        rest /= size;
      }
      arguments.push_back(elements[source]);
    }
    Value result = body(rewriter, loc, arguments);
    if (result.getType().isInteger(1))
      result =
          arith::ExtUIOp::create(rewriter, loc, rewriter.getI8Type(), result);
    results.push_back(result);
  }
  rewriter.replaceOp(op, createFromElements(rewriter, loc, type, results));
  return success();
}

//===--- IndexBuilder -----------------------------------------------------===//

Value IndexBuilder::constant(int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}

Value IndexBuilder::get(OpFoldResult size) {
  return getValueOrCreateConstantIndexOp(builder, loc, size);
}

Value IndexBuilder::add(Value a, Value b) {
  return builder.createOrFold<arith::AddIOp>(loc, a, b);
}

Value IndexBuilder::sub(Value a, Value b) {
  return builder.createOrFold<arith::SubIOp>(loc, a, b);
}

Value IndexBuilder::mul(Value a, Value b) {
  return builder.createOrFold<arith::MulIOp>(loc, a, b);
}

Value IndexBuilder::div(Value a, Value b) {
  return builder.createOrFold<arith::DivSIOp>(loc, a, b);
}

Value IndexBuilder::ceilDiv(Value a, Value b) {
  return builder.createOrFold<arith::CeilDivSIOp>(loc, a, b);
}

Value IndexBuilder::rem(Value a, Value b) {
  return builder.createOrFold<arith::RemSIOp>(loc, a, b);
}

Value IndexBuilder::min(Value a, Value b) {
  return builder.createOrFold<arith::MinSIOp>(loc, a, b);
}

Value IndexBuilder::max(Value a, Value b) {
  return builder.createOrFold<arith::MaxSIOp>(loc, a, b);
}

Value IndexBuilder::clamp(Value x, Value low, Value high) {
  return min(max(x, low), high);
}

Value IndexBuilder::select(Value condition, Value a, Value b) {
  return builder.createOrFold<arith::SelectOp>(loc, condition, a, b);
}

Value IndexBuilder::compare(arith::CmpIPredicate predicate, Value a, Value b) {
  return builder.createOrFold<arith::CmpIOp>(loc, predicate, a, b);
}

Value IndexBuilder::isNegative(Value x) {
  return compare(arith::CmpIPredicate::slt, x, constant(0));
}

Value IndexBuilder::product(ArrayRef<Value> factors) {
  Value result = constant(1);
  for (Value factor : factors)
    result = mul(result, factor);
  return result;
}

Value IndexBuilder::wrapIndex(Value position, Value size) {
  Value wrapped = select(isNegative(position), add(position, size), position);
  Value last = sub(size, constant(1));
  return max(min(wrapped, last), constant(0));
}

Value IndexBuilder::fromInteger(Value value, bool isUnsigned) {
  Type indexType = builder.getIndexType();
  if (value.getType() == indexType)
    return value;
  if (isUnsigned)
    return builder.createOrFold<arith::IndexCastUIOp>(loc, indexType, value);
  return builder.createOrFold<arith::IndexCastOp>(loc, indexType, value);
}

} // namespace onnx_aot

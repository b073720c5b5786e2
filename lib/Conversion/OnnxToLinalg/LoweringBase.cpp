//===- LoweringBase.cpp - what every lowering pattern uses ----------------===//

#include "LoweringBase.h"
#include "ShapeScalars.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"

using namespace mlir;

namespace onnx_aot {

static Type convertElementType(Type type) {
  if (auto integer = dyn_cast<IntegerType>(type)) {
    unsigned width = std::max(integer.getWidth(), 8u);
    return IntegerType::get(type.getContext(), width);
  }
  // Floats that only conversions understand are codes, one a byte.
  if (auto floatType = dyn_cast<FloatType>(type))
    if (floatType.getWidth() <= 8)
      return IntegerType::get(type.getContext(), 8);
  // OnnxAotString: the address in the low half, the size in the high one.
  if (isa<onnx::StringType>(type))
    return IntegerType::get(type.getContext(), 128);
  if (isa<FloatType, IndexType>(type))
    return type;
  return {};
}

Type convertOnnxType(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return isa<TensorType>(type) ? Type() : convertElementType(type);
  Type elementType = convertElementType(tensor.getElementType());
  return elementType ? RankedTensorType::get(tensor.getShape(), elementType)
                     : RankedTensorType();
}

/// The converted value that introduced a symbol, if it can be read at the
/// rewriter's place.
static Value lookupSource(ConversionPatternRewriter &rewriter, Value source,
                          Value original) {
  // A symbol that this very op introduces has no value yet.
  if (original.getDefiningOp() &&
      source.getDefiningOp() == original.getDefiningOp())
    return {};
  Value converted = rewriter.getRemappedValue(source);
  // Nor has one of a branch that is not around this place.
  if (!converted || !converted.getParentRegion()->isAncestor(
                        rewriter.getInsertionBlock()->getParent()))
    return {};
  return converted;
}

FailureOr<OpFoldResult> getSize(ConversionPatternRewriter &rewriter,
                                Location loc, const LoweringContext &lowering,
                                onnx::Dim dim, Value original) {
  if (!dim.isKnown())
    return failure();
  if (dim.isStatic())
    return OpFoldResult(rewriter.getIndexAttr(dim.getStatic()));
  // Replace the symbols by the dimensions that introduced them.
  SmallVector<OpFoldResult> operands;
  DenseMap<AffineExpr, AffineExpr> positions;
  bool resolved = true;
  dim.getExpr().walk([&](AffineExpr expr) {
    auto symbol = dyn_cast<AffineSymbolExpr>(expr);
    if (!symbol || positions.count(expr) || !resolved)
      return;
    auto source = lowering.symbols.find(symbol.getPosition());
    Value converted;
    if (source != lowering.symbols.end())
      converted = lookupSource(rewriter, source->second.first, original);
    if (!converted) {
      resolved = false;
      return;
    }
    positions[expr] =
        getAffineSymbolExpr(operands.size(), rewriter.getContext());
    operands.push_back(rewriter.createOrFold<tensor::DimOp>(
        loc, converted, source->second.second));
  });
  if (!resolved)
    return failure();
  AffineExpr expr = dim.getExpr().replace(positions);
  return affine::makeComposedFoldedAffineApply(
      rewriter, loc, AffineMap::get(0, operands.size(), expr), operands);
}

FailureOr<SmallVector<OpFoldResult>>
getSizes(ConversionPatternRewriter &rewriter, Location loc,
         const LoweringContext &lowering, Value original) {
  std::optional<onnx::Shape> shape = onnx::getShape(original);
  if (!shape)
    return failure();
  SmallVector<OpFoldResult> sizes;
  for (onnx::Dim dim : *shape) {
    FailureOr<OpFoldResult> size =
        getSize(rewriter, loc, lowering, dim, original);
    if (failed(size))
      return failure();
    sizes.push_back(*size);
  }
  return sizes;
}

SmallVector<OpFoldResult> getRuntimeSizes(OpBuilder &builder, Location loc,
                                          Value tensor) {
  return tensor::getMixedSizes(builder, loc, tensor);
}

SmallVector<OpFoldResult> getBroadcastSizes(OpBuilder &builder, Location loc,
                                            ValueRange convertedOperands) {
  SmallVector<OpFoldResult> result;
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  for (Value operand : convertedOperands) {
    SmallVector<OpFoldResult> sizes = getRuntimeSizes(builder, loc, operand);
    while (result.size() < sizes.size())
      result.insert(result.begin(), sizes[sizes.size() - result.size() - 1]);
    size_t offset = result.size() - sizes.size();
    for (auto [index, size] : llvm::enumerate(sizes)) {
      OpFoldResult &merged = result[offset + index];
      if (isConstantIntValue(size, 1) || merged == size)
        continue;
      if (getConstantIntValue(size) || isConstantIntValue(merged, 1)) {
        merged = size;
        continue;
      }
      if (getConstantIntValue(merged))
        continue;
      Value mergedValue = getValueOrCreateConstantIndexOp(builder, loc, merged);
      Value sizeValue = getValueOrCreateConstantIndexOp(builder, loc, size);
      Value isOne = arith::CmpIOp::create(
          builder, loc, arith::CmpIPredicate::eq, mergedValue, one);
      merged =
          arith::SelectOp::create(builder, loc, isOne, sizeValue, mergedValue)
              .getResult();
    }
  }
  return result;
}

Value createEmpty(OpBuilder &builder, Location loc,
                  ArrayRef<OpFoldResult> sizes, Type elementType) {
  return tensor::EmptyOp::create(builder, loc, sizes, elementType);
}

Value createFilled(OpBuilder &builder, Location loc,
                   ArrayRef<OpFoldResult> sizes, Value scalar) {
  Value empty = createEmpty(builder, loc, sizes, scalar.getType());
  return linalg::FillOp::create(builder, loc, scalar, empty).getResult(0);
}

Value overwrite(OpBuilder &builder, Location loc, Value value, Value target) {
  SmallVector<OpFoldResult> sizes = getRuntimeSizes(builder, loc, target);
  SmallVector<OpFoldResult> offsets(sizes.size(), builder.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(sizes.size(), builder.getIndexAttr(1));
  return tensor::InsertSliceOp::create(builder, loc, value, target, offsets,
                                       sizes, strides);
}

/// An explicitly broadcast copy: dimension i is read at 0 where its size is 1.
static Value expandAtRuntime(OpBuilder &builder, Location loc, Value tensor,
                             ArrayRef<OpFoldResult> resultSizes) {
  auto type = cast<RankedTensorType>(tensor.getType());
  int64_t rank = resultSizes.size(), offset = rank - type.getRank();
  SmallVector<Value> sizes;
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  for (auto [i, size] :
       llvm::enumerate(getRuntimeSizes(builder, loc, tensor))) {
    sizes.push_back(getValueOrCreateConstantIndexOp(builder, loc, size));
    Value wanted =
        getValueOrCreateConstantIndexOp(builder, loc, resultSizes[offset + i]);
    auto equals = [&](Value other) {
      return builder.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::eq,
                                                 sizes.back(), other);
    };
    createCheck(
        builder, loc,
        builder.createOrFold<arith::OrIOp>(loc, equals(one), equals(wanted)),
        "sizes of its inputs do not broadcast");
  }
  Value empty = createEmpty(builder, loc, resultSizes, type.getElementType());
  SmallVector<AffineMap> maps{builder.getMultiDimIdentityMap(rank)};
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  auto generic = linalg::GenericOp::create(
      builder, loc, empty.getType(), ValueRange{}, empty, maps, iterators,
      [&](OpBuilder &b, Location l, ValueRange) {
        Value zero = arith::ConstantIndexOp::create(b, l, 0);
        Value one = arith::ConstantIndexOp::create(b, l, 1);
        SmallVector<Value> indices;
        for (auto [i, size] : llvm::enumerate(sizes)) {
          Value index = linalg::IndexOp::create(b, l, offset + i);
          Value isOne =
              arith::CmpIOp::create(b, l, arith::CmpIPredicate::eq, size, one);
          indices.push_back(arith::SelectOp::create(b, l, isOne, zero, index));
        }
        Value element = tensor::ExtractOp::create(b, l, tensor, indices);
        linalg::YieldOp::create(b, l, element);
      });
  return generic.getResult(0);
}

BroadcastOperand broadcastOperand(OpBuilder &builder, Location loc,
                                  Value converted, ArrayRef<onnx::Dim> shape,
                                  ArrayRef<onnx::Dim> resultShape,
                                  ArrayRef<OpFoldResult> resultSizes) {
  int64_t rank = resultShape.size(), offset = rank - shape.size();
  SmallVector<AffineExpr> exprs;
  for (auto [i, dim] : llvm::enumerate(shape)) {
    onnx::Dim result = resultShape[offset + i];
    if (dim == result)
      exprs.push_back(builder.getAffineDimExpr(offset + i));
    else if (dim.isStatic(1))
      exprs.push_back(builder.getAffineConstantExpr(0));
    else
      return {expandAtRuntime(builder, loc, converted, resultSizes),
              builder.getMultiDimIdentityMap(rank)};
  }
  return {converted, AffineMap::get(rank, 0, exprs, builder.getContext())};
}

LogicalResult lowerPointwise(ConversionPatternRewriter &rewriter,
                             const LoweringContext &lowering, Operation *op,
                             ValueRange operands, ValueRange convertedOperands,
                             ScalarBody body) {
  Location loc = op->getLoc();
  Value original = op->getResult(0);
  auto resultType =
      dyn_cast_or_null<RankedTensorType>(convertOnnxType(original.getType()));
  if (!resultType)
    return op->emitOpError("result type ")
           << original.getType() << " has no memory form";
  if (isSmallIntegers(original.getType()) &&
      llvm::all_of(operands.getTypes(), isSmallIntegers))
    return lowerToScalars(rewriter, op, operands, convertedOperands, body);
  FailureOr<SmallVector<OpFoldResult>> sizes =
      getSizes(rewriter, loc, lowering, original);
  if (failed(sizes))
    sizes = getBroadcastSizes(rewriter, loc, convertedOperands);
  onnx::Shape resultShape = *onnx::getShape(original);
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  SmallVector<bool> isBool;
  for (auto [before, converted] :
       llvm::zip_equal(operands, convertedOperands)) {
    std::optional<onnx::Shape> shape = onnx::getShape(before);
    if (!shape)
      return op->emitOpError("operand of unknown rank");
    BroadcastOperand operand =
        broadcastOperand(rewriter, loc, converted, *shape, resultShape, *sizes);
    inputs.push_back(operand.tensor);
    maps.push_back(operand.map);
    isBool.push_back(onnx::getElementType(before).isInteger(1));
  }
  int64_t rank = resultType.getRank();
  maps.push_back(rewriter.getMultiDimIdentityMap(rank));
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  Value empty = createEmpty(rewriter, loc, *sizes, resultType.getElementType());
  auto generic = linalg::GenericOp::create(
      rewriter, loc, empty.getType(), inputs, empty, maps, iterators,
      [&](OpBuilder &b, Location l, ValueRange args) {
        SmallVector<Value> scalars(args.drop_back());
        for (auto [scalar, truth] : llvm::zip_equal(scalars, isBool)) {
          if (!truth)
            continue;
          Value zero = createScalarConstant(b, l, 0, scalar.getType());
          scalar = arith::CmpIOp::create(b, l, arith::CmpIPredicate::ne, scalar,
                                         zero);
        }
        Value result = body(b, l, scalars);
        if (result.getType().isInteger(1))
          result = arith::ExtUIOp::create(b, l, b.getI8Type(), result);
        linalg::YieldOp::create(b, l, result);
      });
  Value result = generic.getResult(0);
  if (result.getType() != resultType)
    result = tensor::CastOp::create(rewriter, loc, resultType, result);
  rewriter.replaceOp(op, result);
  return success();
}

Value createScalarConstant(OpBuilder &builder, Location loc, double value,
                           Type type) {
  if (auto floatType = dyn_cast<FloatType>(type))
    return arith::ConstantOp::create(builder, loc,
                                     builder.getFloatAttr(floatType, value));
  return arith::ConstantOp::create(
      builder, loc, builder.getIntegerAttr(type, static_cast<int64_t>(value)));
}

void createCheck(OpBuilder &builder, Location loc, Value condition,
                 const Twine &message) {
  if (isConstantIntValue(condition, 1))
    return;
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (auto name = dyn_cast<NameLoc>(loc))
    stream << "node " << name.getName().getValue() << ": ";
  stream << message;
  cf::AssertOp::create(builder, loc, condition, text);
}

void createCheck(OpBuilder &builder, Operation *op, Value condition,
                 const Twine &message) {
  createCheck(builder, op->getLoc(), condition,
              op->getName().getStringRef() + ": " + message);
}

void checkSize(OpBuilder &builder, Operation *op, Value tensor, int64_t axis,
               OpFoldResult size, const Twine &what) {
  Location loc = op->getLoc();
  OpFoldResult own = tensor::getMixedSize(builder, loc, tensor, axis);
  if (isEqualConstantIntOrValue(own, size))
    return;
  createCheck(builder, op,
              builder.createOrFold<arith::CmpIOp>(
                  loc, arith::CmpIPredicate::eq,
                  getValueOrCreateConstantIndexOp(builder, loc, own),
                  getValueOrCreateConstantIndexOp(builder, loc, size)),
              "sizes of its inputs do not fit together: " + what);
}

} // namespace onnx_aot

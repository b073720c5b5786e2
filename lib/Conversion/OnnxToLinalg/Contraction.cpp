//===- Contraction.cpp - sums of products as linalg.generic ---------------===//

#include "Contraction.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"

using namespace mlir;

namespace onnx_aot {

bool isUnsignedTensor(Value original) {
  Type type = onnx::getElementType(original);
  return type.isUnsignedInteger() || type.isInteger(1);
}

Type getAccumulatorType(Type memoryType) {
  auto floatType = dyn_cast<FloatType>(memoryType);
  if (floatType && floatType.getWidth() < 32)
    return Float32Type::get(memoryType.getContext());
  return memoryType;
}

Value createAdd(OpBuilder &builder, Location loc, Value a, Value b) {
  if (isa<FloatType>(a.getType()))
    return arith::AddFOp::create(builder, loc, a, b);
  return arith::AddIOp::create(builder, loc, a, b);
}

Value createMul(OpBuilder &builder, Location loc, Value a, Value b) {
  if (isa<FloatType>(a.getType()))
    return arith::MulFOp::create(builder, loc, a, b);
  return arith::MulIOp::create(builder, loc, a, b);
}

Value convertScalar(OpBuilder &builder, Location loc, Value scalar, Type type,
                    bool isUnsigned) {
  Type from = scalar.getType();
  if (from == type)
    return scalar;
  if (isa<FloatType>(from)) {
    auto narrow = cast<FloatType>(from), wide = cast<FloatType>(type);
    if (narrow.getWidth() < wide.getWidth())
      return arith::ExtFOp::create(builder, loc, type, scalar);
    if (narrow.getWidth() > wide.getWidth())
      return arith::TruncFOp::create(builder, loc, type, scalar);
    // f16 and bf16 have no direct conversion.
    Value f32 =
        arith::ExtFOp::create(builder, loc, builder.getF32Type(), scalar);
    return arith::TruncFOp::create(builder, loc, type, f32);
  }
  if (isUnsigned)
    return arith::ExtUIOp::create(builder, loc, type, scalar);
  return arith::ExtSIOp::create(builder, loc, type, scalar);
}

Value createContraction(OpBuilder &builder, Location loc,
                        ArrayRef<IndexedOperand> operands, AffineMap resultMap,
                        ArrayRef<utils::IteratorType> iterators,
                        ArrayRef<OpFoldResult> sizes, Type accumulator) {
  Value zero = createScalarConstant(builder, loc, 0, accumulator);
  Value init = createFilled(builder, loc, sizes, zero);
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  for (const IndexedOperand &operand : operands) {
    inputs.push_back(operand.tensor);
    maps.push_back(operand.map);
  }
  maps.push_back(resultMap);
  return linalg::GenericOp::create(
             builder, loc, init.getType(), inputs, init, maps, iterators,
             [&](OpBuilder &b, Location l, ValueRange args) {
               Value product;
               for (auto [arg, operand] : llvm::zip(args, operands)) {
                 Value factor =
                     convertScalar(b, l, arg, accumulator, operand.isUnsigned);
                 product = product ? createMul(b, l, product, factor) : factor;
               }
               linalg::YieldOp::create(b, l,
                                       createAdd(b, l, args.back(), product));
             })
      .getResult(0);
}

Value createPointwise(OpBuilder &builder, Location loc,
                      ArrayRef<IndexedOperand> operands,
                      ArrayRef<OpFoldResult> sizes, Type elementType,
                      ScalarBody body) {
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  for (const IndexedOperand &operand : operands) {
    inputs.push_back(operand.tensor);
    maps.push_back(operand.map);
  }
  maps.push_back(builder.getMultiDimIdentityMap(sizes.size()));
  SmallVector<utils::IteratorType> iterators(sizes.size(),
                                             utils::IteratorType::parallel);
  Value empty = createEmpty(builder, loc, sizes, elementType);
  return linalg::GenericOp::create(
             builder, loc, empty.getType(), inputs, empty, maps, iterators,
             [&](OpBuilder &b, Location l, ValueRange args) {
               linalg::YieldOp::create(b, l, body(b, l, args.drop_back()));
             })
      .getResult(0);
}

Value createMapped(OpBuilder &builder, Location loc, Value tensor,
                   Type elementType, ScalarBody body) {
  SmallVector<OpFoldResult> sizes = getRuntimeSizes(builder, loc, tensor);
  IndexedOperand operand{tensor, builder.getMultiDimIdentityMap(sizes.size())};
  return createPointwise(builder, loc, operand, sizes, elementType, body);
}

Value convertFloats(OpBuilder &builder, Location loc, Value tensor,
                    Type elementType) {
  if (getElementTypeOrSelf(tensor.getType()) == elementType)
    return tensor;
  return createMapped(builder, loc, tensor, elementType,
                      [&](OpBuilder &b, Location l, ValueRange args) {
                        return convertScalar(b, l, args[0], elementType);
                      });
}

Value castTensor(OpBuilder &builder, Location loc, Value tensor, Type type) {
  if (tensor.getType() == type)
    return tensor;
  return tensor::CastOp::create(builder, loc, type, tensor);
}

OpFoldResult foldSizes(OpBuilder &builder, Location loc, AffineExpr expr,
                       ArrayRef<OpFoldResult> sizes) {
  return affine::makeComposedFoldedAffineApply(
      builder, loc, AffineMap::get(sizes.size(), 0, expr), sizes);
}

OpFoldResult foldMaxOfSizes(OpBuilder &builder, Location loc, AffineExpr a,
                            AffineExpr b, ArrayRef<OpFoldResult> sizes) {
  AffineMap map = AffineMap::get(sizes.size(), 0, {a, b}, builder.getContext());
  return affine::makeComposedFoldedAffineMax(builder, loc, map, sizes);
}

OpFoldResult broadcastSizes(OpBuilder &builder, Location loc, OpFoldResult a,
                            OpFoldResult b) {
  std::optional<int64_t> aConstant = getConstantIntValue(a),
                         bConstant = getConstantIntValue(b);
  if (a == b || bConstant == 1 || (aConstant && aConstant != 1))
    return a;
  if (aConstant == 1 || bConstant)
    return b;
  Value aValue = getValueOrCreateConstantIndexOp(builder, loc, a);
  Value bValue = getValueOrCreateConstantIndexOp(builder, loc, b);
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  Value isOne = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                      aValue, one);
  return arith::SelectOp::create(builder, loc, isOne, bValue, aValue)
      .getResult();
}

} // namespace onnx_aot
